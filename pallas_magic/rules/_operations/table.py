"""Which rewrites there are for an operation that a back end lacks, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pallas_magic.failure import Candidate, Failure
from pallas_magic.rules._gpu.layouts import static_index_fixes
from pallas_magic.rules._gpu.products import product_fixes as wgmma_fixes
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._operations.checkpoints import checkpoint_fixes
from pallas_magic.rules._operations.elementwise import elementwise_fixes
from pallas_magic.rules._operations.hoisting import hoisted
from pallas_magic.rules._operations.joined_parts import joined_fixes
from pallas_magic.rules._operations.masked_updates import update_fixes, update_slice_fixes
from pallas_magic.rules._operations.products import product_fixes
from pallas_magic.rules._operations.reversed_axes import flip_fixes
from pallas_magic.rules._operations.running import running_fixes
from pallas_magic.rules._operations.sliced_refs import index_fixes
from pallas_magic.source.document import Library

Rewrite = Callable[[Called], Iterator[Candidate]]

_ELEMENTWISE = (
    "expm1",
    "sinh",
    "cosh",
    "atan",
    "asin",
    "acos",
    "asinh",
    "acosh",
    "atanh",
    "cbrt",
    "erfc",
)
_EVERYWHERE: Mapping[str, tuple[Rewrite, ...]] = {
    "dynamic_slice": (index_fixes,),
    "gather": (index_fixes,),
    **dict.fromkeys(_ELEMENTWISE, (elementwise_fixes,)),
    "remat2": (checkpoint_fixes,),
    "checkpoint": (checkpoint_fixes,),
    "sort": (hoisted,),
    "cholesky": (hoisted,),
}
_UPDATES = ("set", "add", "mul", "min", "max")
_ON_GPU: Mapping[str, tuple[Rewrite, ...]] = {
    "scatter": (update_fixes,),
    **{f"scatter{sign}{kind}": (update_fixes,) for sign in "-_" for kind in _UPDATES},
    "dynamic_update_slice": (update_slice_fixes,),
    "slice": (static_index_fixes,),
    "dot_general": (wgmma_fixes,),
}
_ON_TPU: Mapping[str, tuple[Rewrite, ...]] = {
    "scatter": (update_fixes, joined_fixes),
    "scatter-add": (update_fixes, joined_fixes),
    "scatter_add": (update_fixes, joined_fixes),
    "scatter-mul": (update_fixes, joined_fixes),
    "scatter_mul": (update_fixes, joined_fixes),
    "scatter-min": (update_fixes,),
    "scatter_min": (update_fixes,),
    "scatter-max": (update_fixes,),
    "scatter_max": (update_fixes,),
    "dynamic_update_slice": (update_slice_fixes,),
    "rev": (flip_fixes,),
    "cumsum": (running_fixes,),
    "cumprod": (running_fixes,),
    "cummax": (running_fixes,),
    "cummin": (running_fixes,),
    "reduce_prod": (product_fixes,),
}


def rewrites(failure: Failure, sources: Library) -> Iterator[Candidate]:
    """Candidates for the failing expression."""
    one = called(failure, sources)
    more = _ON_GPU if failure.target.family == "gpu" else _ON_TPU
    table = {**_EVERYWHERE, **more}
    for rewrite in table.get(failure.primitive, ()) if one is not None else ():
        assert one is not None
        yield from rewrite(one)
