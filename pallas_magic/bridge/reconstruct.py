"""A call rebuilt from the exception that its lowering raised, no recorder being open.

JAX's frames still hold the equation. Its kernel function is looked for among
the functions alive, its specs are made of what JAX had made of them; a proof
trusts the result only if it gives the same program again.
"""

from __future__ import annotations

import dataclasses
import functools
import gc
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FrameType, FunctionType
from typing import Any

import jax
from jax._src.pallas import core as pallas_core
from jax._src.pallas import mpmd, pallas_call

from pallas_magic.bridge.capture import Built, Call
from pallas_magic.bridge.frames import (
    exception_frames,
    exception_steps,
    is_user_frame,
    place_of,
    traceback_places,
)
from pallas_magic.bridge.objects import BuiltObject, ObjectRecorder
from pallas_magic.bridge.quiet import quietly
from pallas_magic.bridge.retrace import call_text, parts_of, retrace
from pallas_magic.failure import Site
from pallas_magic.source.document import Place

_MLIR = "jax._src.interpreters.mlir"
_MOST_KERNELS = 8


@dataclasses.dataclass(frozen=True, eq=False)
class Reconstructed:
    """A call with what is known of the objects it was made of."""

    call: Call
    objects: ObjectRecorder


def reconstruct_call(error: BaseException) -> Reconstructed | None:
    """The Pallas call whose lowering raised ``error``, ``None`` if it is not known.

    The call has no ``built`` where its kernel function cannot be told for sure;
    then it can be diagnosed, and its fixes cannot be proved.
    """
    equation = _failing_equation(error)
    return reconstruct_equation(equation, error) if equation is not None else None


def reconstruct_equation(equation: Any, error: BaseException) -> Reconstructed:
    """The Pallas call that ``equation`` is, ``error`` having passed the code that made it."""
    places = traceback_places(equation.source_info.traceback)
    applied = places[-1] if places else _last_user_place(error)
    avals = tuple(variable.aval for variable in equation.invars)
    mesh = equation.ctx.cur_abstract_mesh
    call = Call(equation.primitive, equation.params, avals, mesh, applied, None)
    build = _build_frame(equation.source_info.traceback, error, applied)
    objects = ObjectRecorder()
    built = _rebuilt_gpu(call, error, build, objects) or _rebuilt(call, build, objects)
    if built is None:
        return Reconstructed(call, objects)
    return Reconstructed(dataclasses.replace(call, built=built), objects)


def _last_user_place(error: BaseException) -> Place | None:
    """Where the user's code was when ``error`` came: JAX may keep no place of the call itself."""
    user = [step for step in exception_steps(error) if is_user_frame(step.tb_frame)]
    return place_of(user[-1].tb_frame.f_code, user[-1].tb_lasti) if user else None


def _failing_equation(error: BaseException) -> Any:
    found = None
    for frame in exception_frames(error):
        if frame.f_globals.get("__name__") != _MLIR or frame.f_code.co_name != "jaxpr_subcomp":
            continue
        equation = frame.f_locals.get("eqn")
        primitive = getattr(equation, "primitive", None)
        if primitive in (pallas_call.pallas_call_p, mpmd.mpmd_map_p):
            found = equation
    return found


def _rebuilt(call: Call, build: BuiltObject | None, objects: ObjectRecorder) -> Built | None:
    """What the inner function of the call must have held, if that gives the call again."""
    mapping = call.params.get("grid_mapping")
    if mapping is not None and mapping.vmapped_dims:
        return None
    inner = _pallas_call_locals(call) if call.is_pallas_call else _kernel_locals(call)
    if inner is None or len(call.jaxprs) != 1:
        return None
    site = _note_build(build, inner, objects)
    namespace = build.global_names if build is not None else None
    kernels = list(_living_kernels(str(call.jaxprs[0].debug_info.func_src_info)))
    own = [kernel for kernel in kernels if _innermost(kernel).__globals__ is namespace]
    for among in (own, kernels):
        made = (_with_kernel(inner, kernel, site) for kernel in among[:_MOST_KERNELS])
        proper = [built for built in made if _gives(built, call)]
        if proper:
            return proper[0] if len(proper) == 1 else None
    return None


def _rebuilt_gpu(
    call: Call, error: BaseException, build: BuiltObject | None, objects: ObjectRecorder
) -> Built | None:
    """The same for ``plgpu.kernel``, whose batching rule holds what it was given."""
    for rule in map(_batching_rule, exception_frames(error)):
        if rule is None or call.is_pallas_call:
            continue
        names = dict(zip(rule.__code__.co_freevars, map(_cell, rule.__closure__), strict=True))
        gpu = {**names, "mesh": call.params["meshes"][0]}
        inner = {"in_tree": jax.tree_util.tree_structure((0,) * len(call.avals))}
        built = Built({**inner, "flat_avals": call.avals}, gpu, _note_build(build, gpu, objects))
        if _gives(built, call):
            return built
    return None


def _batching_rule(frame: FrameType) -> Any:
    """The batching rule of a ``plgpu.kernel`` that ``frame`` lowers or calls."""
    equation, caller = frame.f_locals.get("eqn"), frame.f_locals.get("self")
    closed = getattr(equation, "params", {}).get("rule")
    rule = getattr(closed, "rule", None) or getattr(caller, "vmap_rule", None)
    if rule is None or rule.__module__ != "jax._src.pallas.mosaic_gpu.core":
        return None
    return rule if "body" in rule.__code__.co_freevars else None


def _gives(built: Built, call: Call) -> bool:
    candidate = dataclasses.replace(call, built=built)
    try:
        with quietly():
            again = retrace(candidate, parts_of(candidate))
        return call_text(again) == call_text(call)
    except Exception:  # what does not trace is not the kernel that did
        return False


def _with_kernel(inner: dict[str, Any], kernel: Any, site: Site | None) -> Built:
    if "meshes" in inner:
        return Built({**inner, "meshes_and_fns": [(inner["meshes"][0], kernel)]}, None, site)
    return Built({**inner, "kernel": kernel}, None, site)


def _living_kernels(info: str) -> Iterator[Callable[..., Any]]:
    """The functions that JAX describes by ``info``, and partials of them."""
    living = gc.get_objects()
    functions = [one for one in living if type(one) is FunctionType and _describes(info, one)]
    distinct = {_likeness(function): function for function in functions}
    roots = {id(function) for function in distinct.values()}
    for one in living:
        if isinstance(one, functools.partial) and id(_innermost(one)) in roots:
            yield one
    yield from distinct.values()


def _describes(info: str, function: FunctionType) -> bool:
    code = function.__code__
    return info == f"{function.__name__} at {code.co_filename}:{code.co_firstlineno}"


def _likeness(function: FunctionType) -> tuple[Any, ...]:
    """Equal for functions that cannot be told apart by calling them."""
    cells = tuple(id(_cell(cell)) for cell in function.__closure__ or ())
    return id(function.__globals__), function.__code__, cells, id(function.__defaults__)


def _cell(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _innermost(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _pallas_call_locals(call: Call) -> dict[str, Any]:
    params, mapping = call.params, call.params["grid_mapping"]
    bounds = mapping.num_dynamic_grid_bounds
    operands = call.avals[bounds:]
    scratch = [_scratch(aval) for aval in mapping.scratch_avals]
    return {
        "grid_spec": _grid_spec(mapping, scratch),
        "scratch_tree": jax.tree_util.tree_structure(tuple(scratch)),
        "in_tree": jax.tree_util.tree_structure((0,) * len(operands)),
        "flat_in_avals": operands,
        "dynamic_grid_bounds": call.avals[:bounds],
        "out_tree": _out_tree(mapping),
        "flat_out_shapes": params["out_avals"],
        "input_output_aliases": dict(params["input_output_aliases"]),
        **{name: params.get(name) for name in ("compiler_params", "debug", "cost_estimate")},
        **{name: params.get(name) for name in ("metadata", "name", "mesh")},
    }


def _kernel_locals(call: Call) -> dict[str, Any] | None:
    params = call.params
    if "mosaic_gpu" in type(params["meshes"][0]).__module__:
        return None
    count = len(call.avals) + len(params["out_avals"])
    scratch = [_scratch(variable.aval) for variable in call.jaxprs[0].invars[count:]]
    return {
        "meshes": params["meshes"],
        "in_tree": jax.tree_util.tree_structure((0,) * len(call.avals)),
        "flat_avals": call.avals,
        "out_tree": jax.tree_util.tree_structure((0,) * len(params["out_avals"])),
        "flat_out_avals": params["out_avals"],
        "scratch_types": scratch,
        "input_output_aliases": dict(params["input_output_aliases"]),
        **{name: params.get(name) for name in ("compiler_params", "debug", "cost_estimate")},
        **{name: params.get(name) for name in ("metadata", "name")},
    }


def _scratch(aval: Any) -> Any:
    return pallas_core.MemoryRef(aval.inner_aval, aval.memory_space)


def _out_tree(mapping: Any) -> Any:
    outputs = mapping.block_mappings[mapping.num_inputs :]
    if len(outputs) == 1 and outputs[0].origin == "outputs":
        return jax.tree_util.tree_structure(0)
    return jax.tree_util.tree_structure((0,) * len(outputs))


def _grid_spec(mapping: Any, scratch: list[Any]) -> Any:
    specs = [_block_spec(block) for block in mapping.block_mappings]
    inputs, outputs = tuple(specs[: mapping.num_inputs]), tuple(specs[mapping.num_inputs :])
    if _out_tree(mapping) == jax.tree_util.tree_structure(0):
        outputs = outputs[0]
    options = {"in_specs": inputs, "out_specs": outputs, "scratch_shapes": tuple(scratch)}
    if mapping.num_index_operands:
        from jax._src.pallas.mosaic import core as tpu_core

        prefetching: Any = tpu_core.PrefetchScalarGridSpec(mapping.num_index_operands, **options)
        return _on_grid(prefetching, mapping)
    return _on_grid(pallas_core.GridSpec(**options), mapping)


def _on_grid(spec: Any, mapping: Any) -> Any:
    spec.grid = tuple(size if isinstance(size, int) else None for size in mapping.grid)
    spec.grid_names = mapping.grid_names
    return spec


def _block_spec(block: Any) -> Any:
    closed, tree = block.index_map_jaxpr, block.index_map_out_tree
    jaxpr, constants = getattr(closed, "jaxpr", closed), getattr(closed, "consts", ())

    def index_map(*indices: Any) -> Any:
        flat = jax.tree_util.tree_leaves(indices)
        return jax.tree_util.tree_unflatten(tree, jax.core.eval_jaxpr(jaxpr, constants, *flat))

    space = block.transformed_block_aval.memory_space
    mode = block.pipeline_mode
    return pallas_core.BlockSpec(
        block.block_shape, index_map, memory_space=space, pipeline_mode=mode
    )


def _build_frame(traceback: Any, error: BaseException, applied: Place | None) -> BuiltObject | None:
    """The code that made the call, with its names as far as they are still alive."""
    recorded = zip(*traceback.raw_frames(), strict=True) if traceback is not None else ()
    passed = [(step.tb_frame.f_code, step.tb_lasti) for step in exception_steps(error)]
    for code, last in (*recorded, *passed):
        if applied is None or place_of(code, last) != applied:
            continue
        build = _callee(code, applied)
        names = _names(code, error)
        if build is None or names is None:
            return None
        return BuiltObject(None, code, build, *names)
    return None


def _callee(code: CodeType, applied: Place) -> int | None:
    """The instruction of ``pl.pallas_call(...)`` within ``pl.pallas_call(...)(...)``."""
    best: tuple[Place, int] | None = None
    for index in range(len(code.co_code) // 2):
        place = place_of(code, index * 2)
        if place is None or (place.line, place.col) != (applied.line, applied.col):
            continue
        inside = (place.end_line, place.end_col) < (applied.end_line, applied.end_col)
        if inside and (best is None or best[0] < place):
            best = place, index * 2
    return best[1] if best is not None else None


def _names(code: CodeType, error: BaseException) -> tuple[dict[str, Any], dict[str, Any]] | None:
    for frame in exception_frames(error):
        if frame.f_code is code:
            return frame.f_globals, dict(frame.f_locals)
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__ is code:
            return one.__globals__, {}
    return None


def _note_build(
    build: BuiltObject | None, inner: dict[str, Any], objects: ObjectRecorder
) -> Site | None:
    place = place_of(build.code, build.last_instruction) if build is not None else None
    if build is None or place is None:
        return None
    value = inner.get("grid_spec", inner.get("mesh"))
    if value is not None:
        objects.add(dataclasses.replace(build, value=value))
    return Site(place, "pallas_call" if "grid_spec" in inner else "mpmd_map")
