"""Run one recorded call on given operands in JAX's interpret modes, on the CPU."""

from __future__ import annotations

import functools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from pallas_magic.bridge.capture import Call, has_ref_operands
from pallas_magic.bridge.gpu_values import interprets_warp_regions
from pallas_magic.bridge.kernels import in_warp_region
from pallas_magic.bridge.lowering import call_family, is_triton, scratch_function

MOST_ELEMENTS = 2**22
MOST_GRID_STEPS = 512
MOST_EQUATIONS = 3000
_TICK_SECONDS = 0.05
_MOST_EXTENSION = 4
TOO_SLOW = "running it in interpret mode takes too long"
_NO_PROGRAM_ID = "MLIR translation rule for primitive 'program_id' not found"
_PROGRAM_ID = "it has no `pl.program_id` inside a loop or a branch; ask for it before"
_RANDOM = ("prng", "random_", "threefry", "stochastic")
_REMOTE = ("remote",)
_PRINTS = ("debug_print", "debug_callback", "pure_callback", "io_callback")


class NotInterpretable(Exception):
    """The call cannot be run here, or its values would mean nothing; says why."""


def check_interpretable(call: Call) -> None:
    """Raise :class:`NotInterpretable` for a call that must not or cannot be run."""
    if has_ref_operands(call):
        raise NotInterpretable("it works on refs of the function around it")
    if _elements(call) > MOST_ELEMENTS or _grid_steps(call) > MOST_GRID_STEPS:
        raise NotInterpretable("too large to run in interpret mode here")
    count = 0
    for equation in _equations(call.jaxprs):
        count += 1
        _check_equation(equation)
    if count > MOST_EQUATIONS:
        raise NotInterpretable("too large to run in interpret mode here")
    if not _writes_whole_aliases(call):
        raise NotInterpretable("it writes only part of an output that is also an input")


class Patience:
    """How long to wait for a run: ``seconds``, more while the machine is busy with others.

    A run that makes no progress, because it waits for ever, gets no more.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._started = time.monotonic(), time.process_time()

    def is_over(self) -> bool:
        waited = time.monotonic() - self._started[0]
        worked = time.process_time() - self._started[1]
        if waited < self._seconds:
            return False
        starved = 0.05 * waited < worked < 0.5 * self._seconds
        return not starved or waited > _MOST_EXTENSION * self._seconds


class InterpretedCall:
    """One call made ready to run on operands, more than once; it is compiled once."""

    def __init__(self, call: Call) -> None:
        check_interpretable(call)
        self.call = call
        function = scratch_function(call, **_interpret_params(call))
        self._function = jax.jit(function, compiler_options=_compiler_options())

    def run(self, operands: Sequence[np.ndarray[Any, Any]], patience: Patience) -> list[Any]:
        """The outputs on ``operands``; raises :class:`NotInterpretable`.

        What takes longer than ``patience`` is left to finish on its own, its
        result unseen.
        """
        try:
            return _within(lambda: self._run(operands), patience)
        except NotInterpretable:
            self._reset()
            raise
        except Exception as error:
            self._reset()
            raise NotInterpretable(f"interpret mode cannot run it: {in_a_line(error)}") from error
        except BaseException:
            self._reset()
            raise

    def _run(self, operands: Sequence[np.ndarray[Any, Any]]) -> list[Any]:
        with jax.sharding.use_abstract_mesh(self.call.mesh), jax.default_device(_cpu()):
            return [np.asarray(output) for output in self._function(*operands)]

    def _reset(self) -> None:
        """Drop what JAX's GPU interpreter keeps of a run that did not end well."""
        if call_family(self.call) == "gpu":
            from jax._src.pallas.mosaic_gpu.interpret import interpret_pallas_call

            reset = interpret_pallas_call.reset_gpu_interpret_mode_state
            reset()  # type: ignore[no-untyped-call]


def in_a_line(error: BaseException) -> str:
    """What interpret mode says, in one line and with what to do about it where that is known."""
    first_line = (str(error).strip() or type(error).__name__).split("\n")[0]
    return _PROGRAM_ID if _NO_PROGRAM_ID in first_line else first_line


def inputs_are_read(call: Call) -> bool:
    """Whether the kernel touches any of its operands at all."""
    count = len(call.avals)
    for jaxpr in call.jaxprs:
        inputs = {id(variable) for variable in jaxpr.invars[:count]}
        if any(id(v) in inputs for equation in jaxpr.eqns for v in equation.invars):
            return True
    return False


@functools.cache
def _compiler_options() -> dict[str, int] | None:
    """Compile fast rather than for speed: a kernel of many stores takes seconds otherwise."""
    options = {"xla_backend_optimization_level": 0}
    try:
        with jax.default_device(_cpu()):
            jax.jit(lambda: 0, compiler_options=options).lower().compile()
    except Exception:  # a JAX that does not know the option
        return None
    return options


def _cpu() -> Any:
    return jax.local_devices(backend="cpu")[0]


def _within(work: Callable[[], list[Any]], patience: Patience) -> list[Any]:
    """What ``work`` gives, if it does so in time.

    It runs in a thread of its own: a kernel that waits for ever blocks there,
    and this thread still hears Ctrl-C.
    """
    results: list[list[Any] | BaseException] = []

    def target() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)

    if patience.is_over():
        raise NotInterpretable(TOO_SLOW)
    thread = threading.Thread(target=target, name="pallas_magic interpret", daemon=True)
    thread.start()
    while thread.is_alive() and not patience.is_over():
        thread.join(_TICK_SECONDS)
    if not results:
        raise NotInterpretable(TOO_SLOW)
    if isinstance(results[0], BaseException):
        raise results[0]
    return results[0]


def _interpret_params(call: Call) -> dict[str, Any]:
    if call_family(call) != "gpu" or is_triton(call):
        return {"interpret": True}
    from jax._src.pallas.mosaic_gpu.interpret.params import InterpretGPUParams

    params = InterpretGPUParams()
    if not call.is_pallas_call:
        return {"interpret": params}
    mapping = call.params["grid_mapping"]
    if any(block.transforms for block in mapping.block_mappings):
        raise NotInterpretable("its block specs have transforms")
    transforms = ((),) * len(call.jaxprs[0].invars)
    return {"interpret": params, "kernel_arg_transforms": transforms}


def _elements(call: Call) -> int:
    return sum(math.prod(aval.shape) for aval in (*call.avals, *call.params["out_avals"]))


def _grid_steps(call: Call) -> int:
    mapping = call.params.get("grid_mapping")
    if mapping is not None:
        return math.prod(size if isinstance(size, int) else 1 for size in mapping.grid)
    meshes = call.params.get("meshes", ())
    return math.prod(math.prod(mesh.shape.values()) for mesh in meshes)


def _equations(jaxprs: Sequence[Any]) -> Iterator[Any]:
    for jaxpr in jaxprs:
        for equation in jaxpr.eqns:
            yield equation
            for value in equation.params.values():
                for item in value if isinstance(value, tuple | list) else (value,):
                    inner = getattr(item, "jaxpr", item)
                    if hasattr(inner, "eqns"):
                        yield from _equations((inner,))


def _check_equation(equation: Any) -> None:
    name = equation.primitive.name
    if any(word in name for word in _RANDOM):
        raise NotInterpretable("it draws random numbers")
    if any(word in name for word in _PRINTS):
        raise NotInterpretable("it calls back to Python while it runs")
    if _is_remote(equation):
        raise NotInterpretable("it copies to another device")
    if in_warp_region(equation) and not interprets_warp_regions():
        raise NotInterpretable(f"JAX {jax.__version__} cannot interpret a warp-level region")
    if name == "core_map" and not in_warp_region(equation):
        raise NotInterpretable(f"JAX {jax.__version__} cannot interpret a `core_map`")


def _is_remote(equation: Any) -> bool:
    name = equation.primitive.name
    if any(word in name for word in _REMOTE):
        return True
    if name == "dma_start":
        from jax._src.pallas.mosaic import primitives

        arguments = primitives._dma_unflatten(  # type: ignore[no-untyped-call]
            equation.params["tree"], equation.invars
        )
        return arguments[-1] is not None
    if name == "semaphore_signal":
        tree = equation.params["args_tree"]
        return jax.tree_util.tree_unflatten(tree, equation.invars)[3] is not None
    return False


def _writes_whole_aliases(call: Call) -> bool:
    """Whether each output that shares memory with an input is stored as a whole.

    What a kernel leaves unwritten there is the input in HLO interpret mode and
    undefined on a chip.
    """
    aliases = call.params.get("input_output_aliases") or ()
    pairs = aliases.items() if hasattr(aliases, "items") else aliases
    outputs = [output for _, output in pairs]
    jaxpr = call.jaxprs[0]
    mapping = call.params.get("grid_mapping")
    first = mapping.num_index_operands + mapping.num_inputs if mapping else len(call.avals)
    return all(_stores_whole(jaxpr, jaxpr.invars[first + output]) for output in outputs)


def _stores_whole(jaxpr: Any, ref: Any) -> bool:
    shape = tuple(ref.aval.shape)
    return any(
        equation.primitive.name == "swap"
        and equation.invars[0] is ref
        and tuple(equation.invars[1].aval.shape) == shape
        for equation in jaxpr.eqns
    )
