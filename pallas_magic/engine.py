"""``check()`` and the way through the house: capture, lower, rules, prove, Report.

The public entry is :func:`check`. Hosts that run the user's code themselves
open a :class:`Watch` around it; a host that only has an exception asks
:func:`explain`.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Collection
from typing import Any

from pallas_magic.compile_stage import install_note, why_not_compiled
from pallas_magic.releases import say_once
from pallas_magic.report import Report
from pallas_magic.source.document import Library
from pallas_magic.source.host import current_library
from pallas_magic.stopping import StopCell
from pallas_magic.targets import FAMILIES, Family, parse_targets
from pallas_magic.watch import Watch

__all__ = ["CompilerMissing", "StopCell", "Watch", "check", "explain", "require_compilers"]


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
    from pallas_magic.bridge.partitioning import devices_of

    watches = []
    wanted = None if target == "auto" else parse_targets(target)
    if compile is True:
        require_compilers(target)
    if untested := say_once():
        warnings.warn(untested, stacklevel=2)
    for one in wanted or (None,):
        name = "auto" if one is None else one.name
        watch = Watch(
            name,
            compile=compile,
            library=current_library(),
            execute=False,
            devices=devices_of(args),
        )
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


def explain(
    error: BaseException,
    library: Library,
    *,
    target: str = "auto",
    compile: str | bool = "auto",  # noqa: A002 (as in :func:`check`)
    ignored: Collection[str] = (),
) -> Watch | None:
    """A closed watch on the kernel that ``error`` came from, ``None`` if it came from none.

    The other arguments are those of :class:`Watch`; a ``target`` of another kind
    than the kernel's does not count.
    """
    watch = Watch(target, compile=compile, library=library, ignored=ignored)
    return watch if watch.blame(error) else None


def require_compilers(target: str) -> None:
    """Raise :class:`CompilerMissing` where there is none; any one will do for ``auto``."""
    wanted = None if target == "auto" else parse_targets(target)
    families: list[Family] = list(dict.fromkeys(one.family for one in wanted or ()))
    missing = [family for family in families or FAMILIES if why_not_compiled(family)]
    if missing and (families or len(missing) == len(FAMILIES)):
        raise CompilerMissing("; ".join(install_note(family) for family in missing))
