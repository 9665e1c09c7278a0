"""What a line of code asked of Pallas that this release of JAX does not have.

Told from the exception alone: a name of a module, a member of a class, an
import, a parameter of a function. Nothing is evaluated, and what is not about
Pallas's own modules is nobody's business here.
"""

from __future__ import annotations

import ast
import dataclasses
import difflib
import enum
import functools
import importlib
import inspect
import linecache
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import FrameType, ModuleType, TracebackType
from typing import Any, Literal

from pallas_magic.source.document import Place

PALLAS = "jax.experimental.pallas"
_MODULES = (PALLAS, f"{PALLAS}.tpu", f"{PALLAS}.mosaic_gpu", f"{PALLAS}.triton")
_KEYWORD = re.compile(r"([\w.<>]+)\(\) got an unexpected keyword argument '(\w+)'")
_POSITIONAL = re.compile(r"([\w.<>]+)\(\) takes (?:from \d+ to )?(\d+) positional argument")
_MISSING = re.compile(r"([\w.<>]+)\(\) missing \d+ required [\w-]+ arguments?: (.+)")
_NOT_IMPORTED = re.compile(r"cannot import name '(\w+)' from '([\w.]+)'")
# What `plgpu.kernel` does not take goes to the mesh that it makes.
_PASSED_ON = {"kernel": "Mesh"}
# The functions between the line that asks and the refusal: JAX's, Python's, and ours
# that note where an object is built.
_ANSWERS = {
    *("getattr", "__getattr__"),
    *("kernel", "pallas_call", "__init__"),
    *("reraise_with_filtered_traceback", "init", "build"),
}

# How alike a name has to be to be what was meant.
_ALIKE = 0.8

TextOf = Callable[[str], str]


@dataclasses.dataclass(frozen=True)
class Absent:
    """Something that Pallas does not have, and the place that asked for it.

    ``owner`` is the dotted public name of the module, class or function; ``name``
    what it lacks, for a ``position`` how many arguments it takes by position, for
    an ``argument`` the names of those that it needs and was not given. ``place``
    covers the expression that failed: the name with what it is looked up on, the
    import statement, or the call.
    """

    kind: Literal["name", "import", "module", "parameter", "position", "argument"]
    owner: str
    name: str
    place: Place

    @property
    def dotted(self) -> str:
        return f"{self.owner}.{self.name}"


def text_of_file(filename: str) -> str:
    """The text compiled under ``filename``, as Python's tracebacks would find it."""
    return "".join(linecache.getlines(filename))


def absent_from(error: BaseException, text_of: TextOf = text_of_file) -> Absent | None:
    """What ``error`` says that Pallas lacks; ``None`` for any other error."""
    if isinstance(error, ImportError):
        return _not_imported(error)
    if isinstance(error, AttributeError):
        return _no_attribute(error)
    return _no_parameter(error, text_of) if isinstance(error, TypeError) else None


def is_present(dotted: str) -> bool:
    """Whether this JAX has what ``dotted`` names: a module, a name of one, or a member of that.

    It imports the module of Pallas that the name is in.
    """
    modules = sorted(("jax", *_MODULES), key=len, reverse=True)
    name = next((one for one in modules if f"{dotted}.".startswith(f"{one}.")), "")
    value: Any = _module(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in filter(None, dotted.removeprefix(name).split(".")):
            value = getattr(value, part, None)
    return value is not None


def _module(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except (ImportError, ValueError):
        return None


def _not_imported(error: ImportError) -> Absent | None:
    module = error.name or ""
    place = _place(error)
    if not _is_of_pallas(module) or place is None:
        return None
    if isinstance(error, ModuleNotFoundError):
        owner, _, name = module.rpartition(".")
        return Absent("module", owner, name, place) if _is_of_pallas(owner) else None
    found = _NOT_IMPORTED.match(str(error))
    return Absent("import", found[2], found[1], place) if found is not None else None


def _no_attribute(error: AttributeError) -> Absent | None:
    owner = error.obj
    dotted = owner.__name__ if isinstance(owner, ModuleType) else _public_name(owner)
    place = _place(error)
    if not dotted or not _is_of_pallas(dotted) or place is None or not error.name:
        return None
    return Absent("name", dotted, error.name, place)


def _no_parameter(error: TypeError, text_of: TextOf) -> Absent | None:
    keyword, positional = _KEYWORD.match(str(error)), _POSITIONAL.match(str(error))
    missing = _MISSING.match(str(error))
    found = keyword or positional or missing
    step = _asking(error)
    if found is None or step is None:
        return None
    place = _place_of(step)
    call = _call_at(place, text_of)
    function = _named(call.func, step.tb_frame) if call is not None else None
    dotted = _public_name(function)
    if call is None or place is None or not dotted:
        return None
    if not _raised_for(found[1], dotted, type(function).__name__):
        return None
    if missing is not None:
        return Absent("argument", dotted, ", ".join(re.findall(r"'(\w+)'", missing[2])), place)
    if positional is not None:
        return Absent("position", dotted, positional[2], place)
    if all(given.arg != found[2] for given in call.keywords):
        return None
    return Absent("parameter", dotted, found[2], place)


def _raised_for(raiser: str, dotted: str, kind: str) -> bool:
    """Whether the function that refused its arguments is the one that was called.

    An object that is called, a memory space, refuses in the name of its class, ``kind``.
    """
    name = dotted.rpartition(".")[2]
    is_object = raiser == f"{kind}.__call__"
    return is_object or bool({name, _PASSED_ON.get(name)} & set(raiser.split(".")))


def _is_of_pallas(dotted: str) -> bool:
    return dotted == PALLAS or dotted.startswith(f"{PALLAS}.")


def _public_name(value: Any) -> str:
    """Under which dotted name Pallas offers a class or function, "" if it does not."""
    if not callable(value):
        return ""
    # What is imported while a check is open may be JAX's own, wrapped by us.
    inner = vars(value).get("__wrapped__", value) if hasattr(value, "__dict__") else value
    for module in (one for one in reversed(_MODULES) if one in sys.modules):
        for name, offered in vars(sys.modules[module]).items():
            if (offered is value or offered is inner) and not name.startswith("_"):
                return f"{module}.{name}"
    return ""


def _place(error: BaseException) -> Place | None:
    step = _asking(error)
    return _place_of(step) if step is not None else None


def _asking(error: BaseException) -> TracebackType | None:
    """The last step that is not in JAX, Python's own library or this package.

    ``None`` where JAX went on from there with work of its own, and failed in that.
    """
    steps, own = list(_steps(error)), _folders()
    asking = [at for at, step in enumerate(steps) if not _file(step).startswith(own)]
    if not asking:
        return None
    behind = {step.tb_frame.f_code.co_name for step in steps[asking[-1] + 1 :]}
    return steps[asking[-1]] if behind <= _ANSWERS else None


def _file(step: TracebackType) -> str:
    return step.tb_frame.f_code.co_filename


def _steps(error: BaseException) -> Iterator[TracebackType]:
    step = error.__traceback__
    while step is not None:
        yield step
        step = step.tb_next


def _folders() -> tuple[str, ...]:
    # Not kept: an error may come before JAX is imported.
    jax = getattr(sys.modules.get("jax"), "__file__", None) or __file__
    names = (jax, Path(__file__).parent)
    folders = [f"{Path(name).parent}{os.sep}" for name in names]
    return (*folders, enum.__file__, functools.__file__, "<frozen importlib")


def _place_of(step: TracebackType) -> Place | None:
    code = step.tb_frame.f_code
    positions = list(code.co_positions())
    at = step.tb_lasti // 2
    if not 0 <= at < len(positions):
        return None
    line, end_line, col, end_col = positions[at]
    if line is None or end_line is None or col is None or end_col is None:
        return None
    return Place(code.co_filename, line, col, end_line, end_col, code.co_qualname)


def _call_at(place: Place | None, text_of: TextOf) -> ast.Call | None:
    text = text_of(place.filename) if place is not None else ""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and place is not None:
            extent = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
            if extent == (place.line, place.col, place.end_line, place.end_col):
                return node
    return None


def _named(node: ast.expr, frame: FrameType) -> Any:
    """What a dotted name stood for in ``frame``, ``None`` for any other expression."""
    if isinstance(node, ast.Name):
        scopes: tuple[Mapping[str, Any], ...] = (frame.f_locals, frame.f_globals)
        return next((scope[node.id] for scope in scopes if node.id in scope), None)
    if isinstance(node, ast.Attribute):
        owner = _named(node.value, frame)
        return vars(owner).get(node.attr) if isinstance(owner, ModuleType) else None
    return None


def homes(name: str) -> tuple[str, ...]:
    """The modules of Pallas, of those that are imported, that have ``name``."""
    loaded = [module for module in _MODULES if module in sys.modules]
    return tuple(module for module in loaded if is_present(f"{module}.{name}"))


def near_names(owner: str, name: str) -> tuple[str, ...]:
    """The public names of a module or class of Pallas that are written much like ``name``."""
    known = [one for one in dir(_offered(owner)) if not one.startswith("_")]
    return tuple(difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE))


def near_parameters(owner: str, name: str) -> tuple[str, ...]:
    """The parameters of a function or class of Pallas that are written much like ``name``."""
    try:
        known = list(inspect.signature(_offered(owner)).parameters)
    except (TypeError, ValueError):
        return ()
    return tuple(difflib.get_close_matches(name, known, n=1, cutoff=_ALIKE))


def _offered(dotted: str) -> Any:
    """What Pallas offers under ``dotted``, ``None`` if nothing."""
    module = next((one for one in reversed(_MODULES) if dotted.startswith(f"{one}.")), "")
    if dotted in _MODULES:
        return sys.modules.get(dotted)
    return vars(sys.modules[module]).get(dotted.removeprefix(f"{module}.")) if module else None
