"""The end of a cell: what was found is shown, and the cell ends as it should."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pallas_magic.ipython.errors import PallasCheckError, stops_cell
from pallas_magic.ipython.fixing import NoFix, fixed_cell
from pallas_magic.ipython.interrupts import interruptible
from pallas_magic.report import Report

if TYPE_CHECKING:
    from pallas_magic.ipython.check import Check
    from pallas_magic.ipython.host import Host
    from pallas_magic.ipython.session import Frame

_LEAVING = (KeyboardInterrupt, SystemExit, GeneratorExit, asyncio.CancelledError)


def end_checked_cell(host: Host, frame: Frame, check: Check, result: Any) -> None:
    """Report on a cell that ran under ``check``."""
    error = error_of(frame, result)
    if isinstance(error, _LEAVING):
        host.show_deferred(frame)
        return
    here = host.session.library.key_of(frame.ran)
    card = host.display.card(here)
    try:
        with interruptible():
            report = check.report(error)
            if not says_nothing(report, check, error):
                report = host.show_in_stages(report, check, card)
    except KeyboardInterrupt:
        host.show_deferred(frame)
        host.end_failed(result, KeyboardInterrupt("the check was interrupted"))
        return
    except Exception as fault:
        host.faults.tell("checking this cell", fault)
        host.show_deferred(frame)
        if stops_cell(error):
            host.end_quietly(result)
        return
    _settle(host, frame, check, result, report, error, here)


def end_explained_cell(host: Host, frame: Frame, result: Any) -> None:
    """Show the card of a plain cell whose error the hook found to be Pallas's."""
    watch = frame.explained
    if watch is None:
        return
    card = host.display.card(host.session.library.key_of(frame.ran))
    try:
        with interruptible():
            host.show_in_stages(watch.report(), watch, card)
    except KeyboardInterrupt:
        host.end_failed(result, KeyboardInterrupt("the check was interrupted"))
    except Exception as fault:
        host.faults.tell("explaining this error", fault)


def failure(report: Report, in_terminal: bool, also: str = "") -> PallasCheckError:
    """The short error that a cell with errors ends with."""
    from pallas_magic.render.words import title

    where = "the report" if in_terminal else "the card"
    return PallasCheckError(f"{title(report)}: see {where} above{also}")


def _settle(
    host: Host,
    frame: Frame,
    check: Check,
    result: Any,
    report: Report,
    error: BaseException | None,
    here: str,
) -> None:
    unexplained = isinstance(error, Exception) and not check.explained
    also = ""
    if check.options.fix is not None and (report.fixes() or not report.ok):
        also = "; no fix was inserted, for the cell ended with an error of its own"
        if not unexplained:
            also = _insert(host, frame, report, check.options.fix, here)
        if not also:
            host.end_quietly(result)
            return
    if unexplained or (isinstance(error, Exception) and frame.deferred is None):
        host.show_deferred(frame)
        if also:
            print(also.removeprefix("; ").capitalize() + ".")
    elif not also and (report.ok or (check.options.goes_on and error is None)):
        if stops_cell(error):
            host.end_quietly(result)
    else:
        original = error if isinstance(error, Exception) else None
        host.end_failed(result, failure(report, host.display.in_terminal, also), original)


def says_nothing(report: Report, check: Check, error: BaseException | None) -> bool:
    """Whether the cell ended with an error of its own before it came to a kernel."""
    own = isinstance(error, Exception) and not check.explained
    return own and not report.kernels and not report.diagnostics


def _insert(host: Host, frame: Frame, report: Report, wanted: int | str, here: str) -> str:
    """Put the wanted fix into the running cell; why not, if it cannot be."""
    try:
        if not host.session.is_sent(frame.ran):
            raise NoFix("this code is not the cell that was run")
        fixed = fixed_cell(report, wanted, here)
    except NoFix as no:
        return f"; no fix was inserted: {no}"
    host.shell.set_next_input(fixed.text, replace=True)
    print(fixed.said)
    return ""


def error_of(frame: Frame, result: Any) -> BaseException | None:
    """What the user's code ended with, also where `%%time` showed and swallowed it."""
    if frame.deferred is not None:
        return frame.deferred.error
    if result is None:
        return frame.error
    return result.error_before_exec or result.error_in_exec or frame.error
