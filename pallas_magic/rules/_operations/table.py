"""Which rewrites there are for an operation that a back end lacks, the likeliest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from pallas_magic.failure import Candidate, Failure
from pallas_magic.rules._operations.called import Called, called
from pallas_magic.rules._operations.elementwise import elementwise_fixes
from pallas_magic.rules._operations.hoisting import hoisted
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
    "sort": (hoisted,),
    "cholesky": (hoisted,),
}
_ON_TPU: Mapping[str, tuple[Rewrite, ...]] = {
    "scatter": (update_fixes,),
    "scatter-add": (update_fixes,),
    "scatter_add": (update_fixes,),
    "scatter-mul": (update_fixes,),
    "scatter_mul": (update_fixes,),
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
    table = _EVERYWHERE if failure.target.family == "gpu" else {**_EVERYWHERE, **_ON_TPU}
    for rewrite in table.get(failure.primitive, ()) if one is not None else ():
        assert one is not None
        yield from rewrite(one)
