"""A report as one piece of HTML that needs nothing round it.

It stands in exported notebooks, on GitHub, in VS Code and in notebooks that
are not trusted, with its style sheet or without. It holds no script and no
button: where nothing can be clicked it says what to type instead.
"""

from __future__ import annotations

import itertools
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence

from pallas_magic.render import words
from pallas_magic.render.card import build_card
from pallas_magic.render.html_chips import anchor, chips_html
from pallas_magic.render.html_memory import memory_html
from pallas_magic.render.html_words import PLAIN_COLOURS, escape, inline_html
from pallas_magic.render.inline import inline
from pallas_magic.render.markdown import page_html
from pallas_magic.render.model import (
    Card,
    CardDiagnostic,
    CardFix,
    DiffLine,
    Line,
    Mark,
    ProofWords,
    Token,
    Window,
)
from pallas_magic.render.style import ROOT, style_sheet
from pallas_magic.report import Report

_BLANK_LINE = re.compile(r"\n(?=[ \t]*\n)")
_SIGNS = {"del": "-", "add": "+", "same": " "}
_TAGS = {"del": "del", "add": "ins"}
_TINTS = {"del": "rgba(220, 60, 60, 0.18)", "add": "rgba(40, 160, 80, 0.2)"}


def render_html(
    report: Report,
    pages: Mapping[str, str] | None = None,
    here: str | None = None,
    styled: bool = True,
    progress: str = "",
) -> str:
    """``report`` as HTML; ``styled`` puts the style sheet after it.

    The other arguments are those of :func:`pallas_magic.render.card.build_card`.
    """
    body = card_html(build_card(report, pages, here, progress=progress))
    # Readers of exported Markdown see the sheet as text: what was found comes first.
    return f"{body}\n<style>{style_sheet()}</style>" if styled else body


def card_html(card: Card) -> str:
    """``card`` as one ``section``, the places its matrix links to told from those of any other."""
    root = f"pm-{secrets.token_hex(4)}" if card.chips is not None else ""
    calm = "" if card.diagnostics else " calm"
    body = "\n".join(
        [
            f'<section class="{ROOT}{calm}" aria-label="{escape(f"Pallas check: {card.title}")}">',
            *_head(card),
            *chips_html(card, root),
            *itertools.chain.from_iterable(
                _finding(diagnostic, index, anchor(root, index))
                for index, diagnostic in enumerate(card.diagnostics)
            ),
            *_quiet(card),
            *memory_html(card.memory),
            *_foot(card),
            "</section>",
        ]
    )
    # Markdown, as notebooks are exported to, reads what follows a blank line as its own.
    return _BLANK_LINE.sub("&#10;", body)


def _head(card: Card) -> Iterator[str]:
    if not card.diagnostics:
        if not card.kernels and card.chips is None:
            yield f'<p class="quiet">{escape(card.title)}</p>'
        return
    title = escape(card.title)
    state = f' <span class="wait">· {escape(card.progress)}</span>' if card.progress else ""
    subtitle = f'<span class="dim">{inline_html(card.subtitle)}</span>'
    yield f'<p class="head"><b>{title}</b> {subtitle}{state}</p>'


def _finding(shown: CardDiagnostic, index: int, name: str) -> Iterator[str]:
    severity = escape(shown.severity)
    place = f' id="{name}"' if name else ""
    if index == 0:
        yield f'<article class="{severity}"{place}>'
        yield f'<div class="what"><h3>{_headline(shown)}</h3>'
        yield f'<span class="dim">{escape(shown.where)}</span></div>'
        yield from _details(shown)
        yield "</article>"
        return
    fixes = f" · {words.count(len(shown.fixes), 'fix', 'fixes')}" if shown.fixes else ""
    where = f'<span class="dim">· {escape(shown.where)}{fixes}</span>'
    yield f'<details class="next {severity}"><summary>{_headline(shown)} {where}</summary>'
    yield f"<article{place}>"
    yield from _details(shown)
    yield "</article></details>"


def _headline(shown: CardDiagnostic) -> str:
    colour = PLAIN_COLOURS.get(shown.severity, PLAIN_COLOURS["note"])
    name = escape(f"{shown.severity}: {shown.name}")
    code = escape(shown.reference)
    head = f'<span class="id" style="color: {colour}" title="{name}">{code}</span>'
    return f"{head} {inline_html(shown.message)}"


def _details(shown: CardDiagnostic) -> Iterator[str]:
    for window in shown.windows:
        yield from _window(window, shown.marks, named=len(shown.windows) > 1)
    if shown.notes:
        items = "".join(f"<li>{inline_html(note)}</li>" for note in shown.notes)
        yield f'<ul class="notes">{items}</ul>'
    if shown.fixes:
        yield '<ul class="fixes">'
        for fix in shown.fixes:
            yield from _fix(fix)
        yield "</ul>"
    if shown.page:
        yield _folded(f"Why ({shown.code})", f'<div class="page">{page_html(shown.page)}</div>')
    if shown.original:
        yield _folded("JAX's own error", f'<pre class="told">{escape(shown.original)}</pre>')
    if shown.bug_report:
        yield _folded("Bug report to copy", f'<pre class="told">{escape(shown.bug_report)}</pre>')


def _folded(summary: str, content: str) -> str:
    return f'<details class="more"><summary>{escape(summary)}</summary>{content}</details>'


def _window(window: Window, marks: Sequence[Mark], named: bool) -> Iterator[str]:
    if named:
        yield f'<div class="src-name">{escape(window.label)}</div>'
    digits = max((len(str(line.number or "")) for line in window.lines), default=1)
    lines = "\n".join(_line(line, marks, digits) for line in window.lines)
    yield f'<pre class="src" tabindex="0">{lines}</pre>'


def _line(line: Line, marks: Sequence[Mark], digits: int) -> str:
    if line.kind == "gap":
        return f'<span class="gap">{"⋮":>{digits}}</span>'
    number = "" if line.number is None else str(line.number)
    gutter = f'<span class="ln">{number:>{digits}}</span>  '
    if line.kind == "code":
        return gutter + _marked(line, marks)
    if line.mark is None:
        return gutter
    mark = marks[line.mark]
    say = f'<span aria-hidden="true">↑ </span>{inline_html(mark.inline)}'
    return f'{gutter}{" " * line.indent}<span class="say {mark.role}">{say}</span>'


def _marked(line: Line, marks: Sequence[Mark]) -> str:
    pieces = []
    for number, group in itertools.groupby(line.segments, key=lambda segment: segment[2]):
        text = "".join(_token(name, text) for name, text, _ in group)
        role = None if number is None else marks[number].role
        pieces.append(text if role is None else f'<mark class="{role}">{text}</mark>')
    return "".join(pieces)


def _token(name: str, text: str) -> str:
    return f'<span class="{escape(name)}">{escape(text)}</span>' if name else escape(text)


def _fix(fix: CardFix) -> Iterator[str]:
    place = f' <span class="dim">in {escape(fix.elsewhere)}</span>' if fix.elsewhere else ""
    title = f"<b>Fix {fix.id}: {inline_html(fix.title)}{place}</b>"
    yield f'<li><div class="fix">{title} <span>{proof_html(fix.proof)}</span></div>'
    if fix.diff:
        yield diff_html(fix)
    yield "</li>"


def diff_html(fix: CardFix) -> str:
    """The diff of ``fix``, under its number of lines where it is long."""
    digits = max((len(str(line.number or "")) for line in fix.diff), default=1)
    lines = "\n".join(_diff_line(line, digits) for line in fix.diff)
    drawn = f'<pre class="diff" tabindex="0">{lines}</pre>'
    if not fix.folded:
        return drawn
    size = words.count(sum(line.number is not None for line in fix.diff), "changed line")
    return f"<details><summary>Show {size}</summary>{drawn}</details>"


def proof_html(proof: ProofWords) -> str:
    """What was shown of a fix, on one line."""
    return " · ".join(_proved(state, text) for state, text in proof)


def _proved(state: str, text: str) -> str:
    if state != "ok":
        return f'<span class="{state}">{escape(text)}</span>'
    return f'<span class="ok" style="color: {PLAIN_COLOURS["ok"]}">{escape(text)} ✓</span>'


def _diff_line(line: DiffLine, digits: int) -> str:
    number = "" if line.number is None else str(line.number)
    gutter = f'<span class="ln">{number:>{digits}} </span>{_SIGNS[line.kind]} '
    code = "".join(_changed(line))
    if line.kind == "same":
        return f'<span class="gap">{gutter}{code}</span>'
    tag, style = _TAGS[line.kind], f"background-color: {_TINTS[line.kind]}; text-decoration: none"
    return f'<{tag} style="{style}">{gutter}{code}</{tag}>'


def _changed(line: DiffLine) -> Iterator[str]:
    column = 0
    edges = sorted({edge for changed in line.changed for edge in changed})
    for name, text in line.segments:
        cuts = [edge - column for edge in edges if 0 < edge - column < len(text)]
        for start, end in itertools.pairwise([0, *cuts, len(text)]):
            piece: Token = (name, text[start:end])
            inside = any(a <= column + start < b for a, b in line.changed)
            yield f"<b>{_token(*piece)}</b>" if inside else _token(*piece)
        column += len(text)


def _quiet(card: Card) -> Iterator[str]:
    if card.kernels:
        check = f'<span class="ok" style="color: {PLAIN_COLOURS["ok"]}">✓</span>'
        items = "".join(
            f"<li>{inline_html(line).replace('✓', check, 1)}</li>" for line in card.kernels
        )
        yield f'<ul class="quiet">{items}</ul>'
    if card.progress and not card.diagnostics:
        yield f'<p class="quiet wait">{escape(card.progress)}</p>'


def _foot(card: Card) -> Iterator[str]:
    lines = [inline_html(note) for note in card.notes]
    if card.combined is not None:
        together = words.together(card.combined.ids).capitalize()
        lines.append(f"{together}: {proof_html(card.combined.proof)}")
    if hint := words.insertion_hint(card):
        lines.append(inline_html(inline(hint)))
    if lines:
        yield f'<p class="foot">{"<br>".join(lines)}</p>'
