"""What the rules' modules say they recognise: the texts and functions of JAX that they name."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pallas_magic.rules
from pallas_magic.rules import all_rules
from tests.raise_sites.sites import Site

_SHORTEST_TEXT = 12
_FORMS = ("a [b]: (1)", "f(a)", "a = b + c.", "2 with the a, b - c")
_FALLBACK = "unrecognised"


@dataclasses.dataclass(frozen=True)
class Known:
    """The constants of one module by which it tells errors apart."""

    module: str
    functions: frozenset[str]
    texts: tuple[re.Pattern[str], ...]

    def claims(self, site: Site) -> bool:
        """Whether the module names this site: by its text, or by its function if it has no text."""
        if self.functions and site.raised_in not in self.functions and not self.texts:
            return False
        if any(site.fits(text) for text in self.texts):
            return True
        return not self.texts and site.raised_in in self.functions


def all_known() -> tuple[Known, ...]:
    """Of every module under ``rules`` but the fallback and its own."""
    return tuple(known for module in _modules() if (known := _known(module)) is not None)


def _modules() -> Iterator[ModuleType]:
    all_rules()
    prefix = pallas_magic.rules.__name__ + "."
    for info in pkgutil.walk_packages(pallas_magic.rules.__path__, prefix):
        if _FALLBACK not in info.name:
            yield importlib.import_module(info.name)


def _known(module: ModuleType) -> Known | None:
    constants = [
        value
        for name, value in vars(module).items()
        if name.lstrip("_").isupper() and _is_own(module, name)
    ]
    functions = {one for one in _texts(constants) if _is_function(one)}
    texts = [
        re.compile(re.escape(one.strip()))
        for one in _texts(constants)
        if len(one.strip()) >= _SHORTEST_TEXT and " " in one.strip() and not _is_function(one)
    ]
    patterns = [one for one in _flat(constants) if isinstance(one, re.Pattern)]
    found = (*texts, *(one for one in patterns if not _is_general(one)))
    if not functions and not found:
        return None
    return Known(module.__name__, frozenset(functions), found)


def _is_own(module: ModuleType, name: str) -> bool:
    """Whether the constant is made in the module, not imported into it."""
    return re.search(rf"^{name}\b.*=", inspect.getsource(module), re.MULTILINE) is not None


def _is_general(pattern: re.Pattern[str]) -> bool:
    """Whether it is about the form of a text rather than about an error."""
    return len(pattern.pattern) < _SHORTEST_TEXT or any(map(pattern.search, _FORMS))


def _is_function(text: str) -> bool:
    return re.fullmatch(r"jax\.[\w.]+", text) is not None


def _texts(values: Iterable[Any]) -> Iterator[str]:
    yield from (one for one in _flat(values) if isinstance(one, str))


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (Mapping, tuple, list, set, frozenset)):
            yield from _flat(value)
        else:
            yield value
