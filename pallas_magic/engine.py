"""``check()`` and the way through the house: capture, lower, rules, prove, Report.

The public entry is :func:`check`. Hosts that run the user's code themselves
open a :class:`Watch` around it; a host that only has an exception asks
:func:`explain`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pallas_magic.compile_stage import install_note, why_not_compiled
from pallas_magic.report import Report
from pallas_magic.source.document import Library
from pallas_magic.stopping import StopCell
from pallas_magic.targets import FAMILIES, Family, Target, parse_targets
from pallas_magic.watch import Watch

__all__ = ["CompilerMissing", "StopCell", "Watch", "check", "explain"]


class CompilerMissing(RuntimeError):
    """The compile stage was asked for and there is no compiler to run."""


def check(
    fn: Callable[..., Any],
    *args: Any,
    target: str = "auto",
    compile: str | bool = "auto",  # noqa: A002 (the name is the contract's)
    verify: bool = True,
) -> Report:
    """Check every Pallas call that ``fn(*args)`` makes, without executing any.

    ``args`` are arrays or ``jax.ShapeDtypeStruct``s. ``target`` names one chip
    or several with commas; ``auto`` is this machine's accelerator, else v5e or
    h100 by the kernel's own back end. ``verify`` proves the fixes; without it
    they are ideas to read. Raises :class:`~pallas_magic.targets.UnknownTarget`
    for a target that is not known and :class:`CompilerMissing` for
    ``compile=True``; an error of ``fn``'s that no kernel is to blame for is
    raised as it is.
    """
    import jax

    from pallas_magic.bridge.lowering import whole_tracebacks

    watches = []
    wanted = None if target == "auto" else parse_targets(target)
    if compile is True:
        _require_compilers(wanted)
    for one in wanted or (None,):
        watch = Watch("auto" if one is None else one.name, compile=compile, execute=False)
        watches.append(watch)
        error: Exception | None = None
        with watch, whole_tracebacks():
            try:
                jax.eval_shape(fn, *args)
            except Exception as raised:
                error = raised
        if error is not None and not watch.blame(error):
            raise error
    return _joined(watches, verify)


def _joined(watches: list[Watch], verify: bool) -> Report:
    first = watches[0]
    for other in watches[1:]:
        first.adopt(other)
    first.report()
    return first.prove() if verify else dataclasses.replace(first.compile(), proving=False)


def explain(error: BaseException, library: Library) -> Watch | None:
    """A closed watch on the kernel that ``error`` came from, ``None`` if it came from none."""
    watch = Watch(library=library)
    return watch if watch.blame(error) else None


def _require_compilers(wanted: tuple[Target, ...] | None) -> None:
    """Raise where a compiler of ``wanted`` is missing; any one will do where none is wanted."""
    families: list[Family] = list(dict.fromkeys(one.family for one in wanted or ()))
    missing = [family for family in families or FAMILIES if why_not_compiled(family)]
    if missing and (families or len(missing) == len(FAMILIES)):
        raise CompilerMissing("; ".join(install_note(family) for family in missing))
