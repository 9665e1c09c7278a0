"""What a call gives to Triton's compiler."""

from __future__ import annotations

import ast

from pallas_magic.failure import Failure
from pallas_magic.source.calls import keyword
from pallas_magic.source.document import Library
from pallas_magic.source.resolve import Expression, resolve
from pallas_magic.source.specs import spec_call


def triton_parameter(failure: Failure, sources: Library, name: str) -> Expression | None:
    """What ``name`` is given in the ``CompilerParams`` of the failing kernel's call."""
    call = spec_call(sources, failure.call)
    given = keyword(call.build, "compiler_params") if call is not None else None
    if call is None or given is None:
        return None
    params = resolve(sources, Expression(call.build_syntax, given.value))
    value = keyword(params.node, name) if isinstance(params.node, ast.Call) else None
    return Expression(params.syntax, value.value) if value is not None else None
