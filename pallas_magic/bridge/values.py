"""What a Pallas call gives the user's code while it is being checked.

The value comes from the device where the kernel runs there, else from interpret
mode. Never from a guess: where neither can be done, the user's code stops.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
from jax._src.interpreters import mlir
from jax._src.pallas import mpmd, pallas_call

from pallas_magic.bridge.gpu_values import is_ours, why_not_interpretable
from pallas_magic.bridge.interpret import in_a_line
from pallas_magic.bridge.patches import replaced_item
from pallas_magic.stopping import StopCell


@contextmanager
def interpreted_where_needed(on_interpret: Callable[[], None]) -> Iterator[None]:
    """Fall back on interpret mode in lowerings for this machine's own backend.

    A lowering for another platform, as in ``.lower(lowering_platforms=...)``,
    stays JAX's own. ``on_interpret`` is called for each fallback.
    """
    with ExitStack() as stack:
        for primitive in (pallas_call.pallas_call_p, mpmd.mpmd_map_p):
            entry = mlir._lowerings[primitive]
            rule = _with_fallback(entry.rule, on_interpret)
            stack.enter_context(
                replaced_item(mlir._lowerings, primitive, dataclasses.replace(entry, rule=rule))
            )
        yield


def _with_fallback(original: Callable[..., Any], on_interpret: Callable[[], None]) -> Any:
    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        here = jax.default_backend()
        at_home = tuple(context.module_context.platforms) == (_platform_name(here),)
        ours = is_ours(params.get("interpret"))
        if ours and not at_home:
            context.set_tokens_out(context.tokens_in)
            return original(context, *operands, **{**params, "interpret": False})
        if not at_home or (params.get("interpret") and not ours):
            return original(context, *operands, **params)
        if here != "cpu":
            try:
                return original(context, *operands, **params)
            except Exception:
                return interpreted(context, operands, params)
        return interpreted(context, operands, params)

    def interpreted(context: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> Any:
        values = _interpreted(original, context, operands, params)
        on_interpret()
        return values

    return rule


def _platform_name(backend: str) -> str:
    return "cuda" if backend == "gpu" else backend


def _interpreted(
    original: Callable[..., Any], context: Any, operands: tuple[Any, ...], params: dict[str, Any]
) -> Any:
    is_core_map = "meshes" in params and params.get("input_output_aliases")
    if is_core_map and _interprets_core_map_to_zeros():
        raise StopCell(f"JAX {jax.__version__} interprets `core_map` to zeros: there is no value")
    if is_ours(params.get("interpret")) and (why := why_not_interpretable(params)):
        raise StopCell(f"interpret mode cannot run this kernel: {why}")
    try:
        interpret = params.get("interpret") or True
        return original(context, *operands, **{**params, "interpret": interpret})
    except Exception as error:
        raise StopCell(f"interpret mode cannot run this kernel: {in_a_line(error)}") from error


def _interprets_core_map_to_zeros() -> bool:
    """Measured: 0.10.2 does, also without us; 0.11.2 and 0.12.0.1 do not."""
    return bool(jax.__version_info__ < (0, 11))
