"""Whether a file's text on disk is the one whose code Python has loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType


def loaded_codes(filename: str) -> tuple[CodeType, ...]:
    """The code of the functions at the top of the modules loaded from ``filename``."""
    modules: list[object] = list(sys.modules.values())
    found = []
    for module in modules:
        # A module of another kind may be loaded by a look at it.
        if type(module) is ModuleType and vars(module).get("__file__") == filename:
            for value in list(vars(module).values()):
                function = getattr(value, "__wrapped__", value) if callable(value) else None
                if isinstance(function, FunctionType):
                    found.append(function.__code__)
    return tuple(code for code in found if code.co_filename == filename)


def is_loaded(codes: Iterable[CodeType], text: str) -> bool:
    """Whether all of ``codes``, which were loaded from one file, are compiled from ``text``."""
    codes = list(codes)
    filename = codes[0].co_filename if codes else "<text>"
    try:
        module = compile(text, filename, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    known = set(_inner_codes(module))
    return all(code in known for code in codes)


def _inner_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _inner_codes(constant)
