"""A report as text, for terminals, logs and ``print``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pallas_magic.render import words
from pallas_magic.render.ansi import Paint
from pallas_magic.render.card import UNKNOWN, build_card
from pallas_magic.render.characters import encodable
from pallas_magic.render.characters import width as text_width
from pallas_magic.render.inline import inline, plain, ticked
from pallas_magic.render.lines import Stretch, paint
from pallas_magic.render.model import (
    Card,
    CardDiagnostic,
    CardFix,
    DiffLine,
    Inline,
    ProofWords,
)
from pallas_magic.render.text_chips import chip_lines
from pallas_magic.render.text_lines import named_lines, wrapped
from pallas_magic.render.text_memory import memory_lines
from pallas_magic.render.text_windows import window_rows
from pallas_magic.report import Diagnostic, Report

NARROWEST = 40
_ORIGINAL_LINES = 20
_SIGNS = {"del": "-", "add": "+", "same": " "}


def render_text(
    report: Report,
    width: int = 100,
    color: bool = False,
    here: str | None = None,
    at_prompt: bool = False,
    encoding: str = "utf-8",
) -> str:
    """``report`` in at most ``width`` columns (40 at least), with ANSI colours if ``color``.

    ``here`` is that of :func:`pallas_magic.render.card.build_card`, ``at_prompt``
    that of :func:`pallas_magic.render.words.insertion_hint`. What ``encoding`` has
    no character for is shown by one that it has.
    """
    width = max(width, NARROWEST)
    digits = max((len(str(s.text.count("\n") + 1)) for s in report.sources.values()), default=1)
    card = build_card(report, {}, here, columns=width - digits - len(" | "))
    writer = _Writer(width, Paint(color), at_prompt)
    blocks = [
        list(writer.diagnostic(shown, told))
        for shown, told in zip(card.diagnostics, report.diagnostics, strict=True)
    ]
    blocks.append(list(writer.closing(card)))
    text = "\n\n".join("\n".join(line.rstrip() for line in block) for block in blocks if block)
    return encodable(text, encoding)


class _Writer:
    """Writes the parts of a card as lines of ``width`` columns."""

    def __init__(self, width: int, colour: Paint, at_prompt: bool) -> None:
        self._width = width
        self._at_prompt = at_prompt
        self._colour = colour

    def diagnostic(self, shown: CardDiagnostic, told: Diagnostic) -> Iterator[str]:
        gutter = _gutter(shown)
        blank = " " * gutter
        yield from self._headline(shown)
        where = self._wrapped(_place(shown, told), f"{blank}--> ", f"{blank}    ")
        yield from where
        bar = self._colour("|", "cause")
        for index, window in enumerate(shown.windows):
            if index:
                yield self._colour(f"{blank}::: ", "cause") + window.label
            yield f"{blank} {bar}"
            columns = self._width - gutter - len(" | ")
            for number, row in window_rows(window.lines, shown.marks, shown.severity, columns):
                if number == "⋮":
                    yield self._colour(f"{blank} ⋮", "cause")
                    continue
                yield (
                    self._colour(f"{number:>{gutter}} ", "cause")
                    + bar
                    + " "
                    + row.drawn(self._colour)
                )
        if shown.windows:
            yield f"{blank} {bar}"
        for note in shown.notes:
            yield from self._wrapped(ticked(note), f"{blank} = ", f"{blank}   ")
        if shown.code == UNKNOWN:
            yield from self._original(shown.original, blank)
        for fix in shown.fixes:
            yield ""
            yield from self._fix(fix)

    def closing(self, card: Card) -> Iterator[str]:
        """The quiet lines, the notes and, where there are diagnostics, the count and what to do."""
        lines = [(_name(line), ticked(line[1:]).strip()) for line in card.kernels]
        for line in named_lines([*lines, *chip_lines(card.chips)], self._width):
            yield line.replace("✓", self._colour("✓", "ok")).replace("✗", self._colour("✗", "no"))
        if not any(shown.severity == "error" for shown in card.diagnostics):
            yield from memory_lines(card.memory, self._width)
        if card.diagnostics:
            yield from self._count(card)
        elif not card.kernels and card.chips is None:
            yield from self._wrapped(card.title, "", "  ")
        for note in card.notes:
            yield from self._wrapped(ticked(note), "", "  ")
        if hint := words.insertion_hint(card, self._at_prompt):
            yield from self._wrapped(plain(inline(hint)), "", "  ")

    def _count(self, card: Card) -> Iterator[str]:
        text = card.title
        if card.state == "proving":
            text += f"; {words.PROVING}"
        if card.combined is not None:
            proof = " · ".join(_proof(card.combined.proof))
            text += f"; {words.together(card.combined.ids)}: {proof}"
        yield from self._wrapped(text, "", "  ")

    def _headline(self, shown: CardDiagnostic) -> Iterator[str]:
        head = f"{shown.severity}[{shown.code}]{shown.reference.removeprefix(shown.code)}"
        first, *rest = self._wrapped(f"{head}: {ticked(shown.message)}", "", "    ")
        split = len(head) if first.startswith(head) else 0
        yield self._colour(first[:split], shown.severity) + self._colour(first[split:], "bold")
        yield from (self._colour(line, "bold") for line in rest)

    def _original(self, original: str, blank: str) -> Iterator[str]:
        lines = original.rstrip().split("\n") if original else []
        for index, line in enumerate(lines[:_ORIGINAL_LINES]):
            indent = " " * (len(line) - len(line.lstrip()))
            head = " = JAX: " if index == 0 else "        "
            yield from self._wrapped(line, f"{blank}{head}{indent[:20]}", f"{blank}        ")
        if len(lines) > _ORIGINAL_LINES:
            yield f"{blank}        … {words.count(len(lines) - _ORIGINAL_LINES, 'more line')}"

    def _fix(self, fix: CardFix) -> Iterator[str]:
        place = f" (in {fix.elsewhere})" if fix.elsewhere else ""
        head = f"fix {fix.id}: "
        title = [*self._wrapped(ticked(fix.title) + place, head, " " * len(head))]
        proof = " · ".join(_proof(fix.proof))
        room = self._width - text_width(title[-1])
        yield from (self._bold_head(line, head) for line in title[:-1])
        if text_width(proof) + 2 <= room:
            blank = " " * (room - text_width(proof))
            yield self._bold_head(title[-1], head) + blank + self._proofs(fix.proof)
        else:
            yield self._bold_head(title[-1], head)
            yield from self._wrapped(proof, "       ", "       ")
        digits = max((len(str(line.number or "")) for line in fix.diff), default=0)
        yield from (self._diff_line(line, max(digits, 2)) for line in fix.diff)

    def _bold_head(self, line: str, head: str) -> str:
        if not line.startswith(head):
            return line
        return self._colour(head.rstrip(), "bold") + line[len(head.rstrip()) :]

    def _proofs(self, proof: ProofWords) -> str:
        pairs = zip(_proof(proof), proof, strict=True)
        return " · ".join(self._colour(text, state) for text, (state, _) in pairs)

    def _diff_line(self, line: DiffLine, digits: int) -> str:
        stretches = [Stretch(start, end, 0) for start, end in line.changed]
        columns = self._width - digits - len(" - ")
        painted = paint(line.segments, stretches, columns)
        code = "".join(text for _, text, _ in painted.segments)
        number = "" if line.number is None else str(line.number)
        text = f"{number:>{digits}} {_SIGNS[line.kind]} {code}"
        return self._colour(text, "dim" if line.kind == "same" else line.kind)

    def _wrapped(self, text: str, head: str, indent: str) -> Iterator[str]:
        return wrapped(text, self._width, head, indent)


def _name(line: Inline) -> str:
    return line[0][1]


def _proof(proof: ProofWords) -> list[str]:
    return [f"{text} ✓" if state == "ok" else text for state, text in proof]


def _place(shown: CardDiagnostic, told: Diagnostic) -> str:
    known = bool(shown.marks) and shown.marks[0].role == "primary" and told.primary is not None
    parts = [shown.where.split(" · ")[0]]
    if known and told.primary is not None:
        parts[0] += f", column {told.primary.start_col + 1}"
    parts.append(plain(inline(words.place(told, shown.chips))))
    return " · ".join(part for part in parts if part)


def _gutter(shown: CardDiagnostic) -> int:
    numbers: Sequence[int] = [line.number or 0 for window in shown.windows for line in window.lines]
    return max((len(str(number)) for number in numbers), default=1)
