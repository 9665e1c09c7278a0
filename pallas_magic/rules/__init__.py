"""The rules, found by walking this package: one module a rule, its docstring its page."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterable
from typing import Protocol, cast

from pallas_magic.failure import Candidate, Failure
from pallas_magic.report import Diagnostic
from pallas_magic.source.document import Library

FALLBACK_CODE = "PM999"


class Rule(Protocol):
    """What a module of this package offers.

    ``match`` says whether the failure is this rule's; ``diagnose`` tells it in
    the user's own names, without fixes; ``fixes`` proposes candidates, the best
    one first, for the prover to accept or drop.
    """

    code: str
    name: str

    def match(self, failure: Failure) -> bool: ...

    def diagnose(self, failure: Failure, sources: Library) -> Diagnostic: ...

    def fixes(self, failure: Failure, sources: Library) -> Iterable[Candidate]: ...


@functools.cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule by its code, the fallback last."""
    names = [info.name for info in pkgutil.iter_modules(__path__) if not info.name.startswith("_")]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    return tuple(sorted((cast(Rule, module) for module in modules), key=lambda rule: rule.code))


def rule_for(failure: Failure) -> Rule:
    """The first rule that claims ``failure``; the fallback claims everything."""
    return next(rule for rule in all_rules() if rule.match(failure))


def fallback() -> Rule:
    """The rule that claims everything."""
    return all_rules()[-1]


@functools.cache
def pages() -> dict[str, str]:
    """The page of each code, in Markdown."""
    return {rule.code: inspect.getdoc(rule) or "" for rule in all_rules()}
