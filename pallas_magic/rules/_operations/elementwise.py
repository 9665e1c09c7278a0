"""Functions of one number, written with those that a back end has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from pallas_magic.failure import Candidate
from pallas_magic.rules._operations.called import Called
from pallas_magic.rules._operations.lines import (
    Edits,
    before,
    free_name,
    named,
    statement_of,
)

_SERIES = {
    "expm1": "x * (1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6)))))",
    "sinh": "x * (1 + x * x / 6 * (1 + x * x / 20 * (1 + x * x / 42)))",
}
_FORMULAS = {
    "expm1": "where(abs(x) < 0.25, series, exp(x) - 1)",
    "sinh": "where(abs(x) < 0.5, series, (exp(x) - exp(-x)) / 2)",
    "cosh": "(exp(x) + exp(-x)) / 2",
    "arctan": "arctan2(x, 1.0)",
    "arcsin": "arctan2(x, sqrt((1 - x) * (1 + x)))",
    "arccos": "arctan2(sqrt((1 - x) * (1 + x)), x)",
    "arcsinh": "sign(x) * log1p(abs(x) + x * x / (1 + sqrt(x * x + 1)))",
    "arccosh": "log1p((x - 1) + sqrt((x - 1) * (x + 1)))",
    "arctanh": "(log1p(x) - log1p(-x)) / 2",
    "cbrt": "sign(x) * exp(log(abs(x)) / 3)",
    "erfc": "1 - erf(x)",
    "elu": "where(x > 0, x, where(x > -0.25, series, exp(x) - 1))",
    "celu": "where(x > 0, x, where(x > -0.25, series, exp(x) - 1))",
    "selu": (
        "1.0507009873554805"
        " * where(x > 0, x, 1.6732632423543772 * where(x > -0.25, series, exp(x) - 1))"
    ),
}
_SAME = {
    "asin": "arcsin",
    "acos": "arccos",
    "atan": "arctan",
    "asinh": "arcsinh",
    "acosh": "arccosh",
    "atanh": "arctanh",
}
_SERIES |= dict.fromkeys(("elu", "celu", "selu"), _SERIES["expm1"])
_INACCURATE = {"erfc": "its digits are lost where it is near 0"}
_FUNCTION = re.compile(r"\b[a-z]\w+(?=\()")
_LAX_ONLY = ("erf",)


def elementwise_fixes(one: Called) -> Iterator[Candidate]:
    """The formula of the function, its argument given a name where it has none."""
    function = _SAME.get(one.name, one.name)
    formula, operand = _FORMULAS.get(function), one.operand()
    if formula is None or operand is None or not one.has_only(1) or not one.is_float:
        return
    known = {name: _spelled(one, name) for name in _FUNCTION.findall(formula)}
    if None in known.values():
        return
    series = _SERIES.get(function, "")
    if edits := _edits(one, operand, _FUNCTION.sub(lambda f: str(known[f[0]]), formula), series):
        why = _INACCURATE.get(function, "")
        title = f"write `{function}` with functions that there are"
        if why:
            yield Candidate(title, edits, "unsafe", exact=False, why=why)
        else:
            yield Candidate(f"{title}; accurate to a few roundings", edits, exact=False)


def _edits(one: Called, operand: ast.expr, formula: str, series: str) -> Edits:
    wanted = ("x", "value", "argument")
    if not series:
        return named(one, operand, lambda x: _whole(_of(formula, x)), *wanted)
    statement = statement_of(one)
    if statement is None:
        return ()
    is_name = isinstance(operand, ast.Name)
    x = one.text(operand) if is_name else free_name(one, *wanted)
    near_zero = free_name(one, "near_zero", "series")
    lines = [] if is_name else [f"{x} = {one.text(operand)}"]
    lines.append(f"{near_zero} = {_of(series, x)}")
    return before(one, statement, lines, _whole(_of(formula.replace("series", near_zero), x)))


def _of(formula: str, name: str) -> str:
    """The formula of the argument ``name``."""
    return re.sub(r"(?<![\w.])x(?![\w(])", name, formula)


def _whole(formula: str) -> str:
    return formula if _is_one_call(formula) else f"({formula})"


def _spelled(one: Called, name: str) -> str | None:
    return one.lax(name) if name in _LAX_ONLY else one.numpy(name)


def _is_one_call(formula: str) -> bool:
    """Whether its outermost part is a call, which needs no parentheses anywhere."""
    return isinstance(ast.parse(formula, mode="eval").body, ast.Call)
