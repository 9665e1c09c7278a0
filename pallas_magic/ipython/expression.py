"""``%pallas_check expression``: one expression checked, its value returned."""

from __future__ import annotations

import itertools
import linecache
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError

from pallas_magic.ipython.check import Check, start_check
from pallas_magic.ipython.ending import failure, says_nothing
from pallas_magic.ipython.errors import stops_cell
from pallas_magic.ipython.interrupts import interruptible
from pallas_magic.ipython.options import CheckOptions, split_options
from pallas_magic.report import Source
from pallas_magic.source.document import Document, LineOrigin, plain_document

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host
    from pallas_magic.ipython.session import Frame

_numbers = itertools.count(1)
_MAGIC = "%pallas_check"


def check_expression(
    host: Host, options: CheckOptions, expression: str, local_ns: dict[str, Any] | None
) -> Any:
    """The value of ``expression``, its Pallas calls checked; raises where they have errors."""
    if options.fix is not None:
        raise UsageError("--fix changes a cell: use it with `%%pallas_check` on its first line")
    if not expression:
        raise UsageError(f"{_MAGIC} needs an expression, as in `{_MAGIC} f(x)`")
    filename = f"<pallas_check {next(_numbers)}>"
    code = compile(expression, filename, "eval", dont_inherit=True)
    linecache.cache[filename] = (len(expression), None, [expression + "\n"], filename)
    namespace = host.shell.user_ns
    if host.session.checked_frame() is not None:
        return eval(code, namespace, local_ns)
    host.session.library.add(_document(host, filename, expression))
    check = start_check(options, host.session.library, host.faults)
    if check is None:
        return eval(code, namespace, local_ns)
    error: BaseException | None = None
    value = None
    try:
        value = eval(code, namespace, local_ns)
    except BaseException as raised:
        error = raised
    finally:
        check.close(error)
    _conclude(host, check, error)
    return value


def _conclude(host: Host, check: Check, error: BaseException | None) -> None:
    """Show what was found; raise what the expression raised, or that it has errors."""
    if error is not None and not isinstance(error, Exception) and not stops_cell(error):
        raise error
    frame = host.session.frame
    here = host.session.library.key_of(frame.ran) if frame is not None else None
    report = None
    with host.faults.kept("checking this expression"), interruptible():
        found = check.report(error)
        if not says_nothing(found, check, error):
            found = host.show_in_stages(found, check, host.display.card(here))
        report = found
    if isinstance(error, Exception) and (report is None or not check.explained):
        raise error
    goes_on = check.options.goes_on and error is None
    if report is not None and not report.ok and not goes_on:
        raise failure(report, host.display.in_terminal) from None


def _document(host: Host, filename: str, expression: str) -> Document:
    frame = host.session.frame
    found = _in_cell(host, frame, filename, expression) if frame is not None else None
    if found is not None:
        return found
    return plain_document(filename, expression, Source("cell", _MAGIC, expression), filename)


def _in_cell(host: Host, frame: Frame, filename: str, expression: str) -> Document | None:
    """The document of an expression that stands once in the running cell."""
    lines = frame.ran.text.split("\n")
    holding = [n for n, line in enumerate(lines) if _expression_of(line) == expression]
    if len(holding) != 1:
        return None
    number = holding[0]
    shift = lines[number].rindex(expression)

    def execute(edited: str) -> str:
        return _expression_of(edited.split("\n")[number])

    text = host.session.library.text_of(frame.ran)
    origins = (LineOrigin(number + 1, shift),)
    return Document(text.key, text.source, filename, expression, origins, execute)


def _expression_of(line: str) -> str:
    _, magic, rest = line.partition(_MAGIC)
    return split_options(rest)[1] if magic else ""
