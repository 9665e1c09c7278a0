"""The diff of a fix: whole sources before and after, as numbered lines."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence

from pallas_magic.render.characters import shown_text
from pallas_magic.render.highlight import highlighted
from pallas_magic.render.lines import shown_tokens
from pallas_magic.render.model import DiffLine, Token
from pallas_magic.report import Fix, Source, TextEdit
from pallas_magic.source.edits import apply_edits

FOLD_OVER = 12
GAP = "⋮"
Change = tuple[int, int, int, int]
"""Lines ``start`` to ``end`` of the old text and of the new, from 0, ends exclusive."""
Tokens = tuple[Token, ...]
Ranges = tuple[tuple[int, int], ...]


def fixed_texts(edits: Sequence[TextEdit], sources: Mapping[str, Source]) -> dict[str, str]:
    """The text after ``edits`` of each source that they change.

    Empty where an edit does not fit its source, as in a payload made by hand.
    """
    texts: dict[str, str] = {}
    for key in dict.fromkeys(edit.span.source for edit in edits):
        here = [edit for edit in edits if edit.span.source == key]
        try:
            texts[key] = apply_edits(sources[key].text, here)
        except (KeyError, ValueError):
            return {}
    return texts


def diff(fix: Fix, sources: Mapping[str, Source], shown: str | None) -> tuple[DiffLine, ...]:
    """The lines that ``fix`` takes away and adds, hunk by hunk.

    ``shown`` is the source its reader takes lines to be from; lines of any
    other come after a line that names it.
    """
    lines: list[DiffLine] = []
    texts = fixed_texts(fix.edits, sources)
    for key in sorted(texts, key=lambda key: key != shown):
        if key != shown or lines:
            lines.append(DiffLine("same", None, (("", shown_text(sources[key].label)),)))
        lines += _source_diff(sources[key].text, texts[key])
    return tuple(lines)


def _source_diff(old: str, new: str) -> Iterator[DiffLine]:
    before, after = highlighted(old), highlighted(new)
    for index, (start, end, new_start, new_end) in enumerate(_changes(old, new)):
        if index:
            yield DiffLine("same", None, (("", GAP),))
        gone = [shown_tokens(tokens) for tokens in before[start:end]]
        come = [shown_tokens(tokens) for tokens in after[new_start:new_end]]
        pairs = _changed_ranges(gone, come) or [((), ())] * max(len(gone), len(come))
        for line, (tokens, (changed, _)) in enumerate(zip(gone, pairs, strict=False), start + 1):
            yield DiffLine("del", line, tokens, changed)
        for line, (tokens, (_, changed)) in enumerate(
            zip(come, pairs, strict=False), new_start + 1
        ):
            yield DiffLine("add", line, tokens, changed)


def _changes(old: str, new: str) -> list[Change]:
    a, b = old.split("\n"), new.split("\n")
    # The same ends are cut off first: what is left is small even in a large file.
    same = _common(a, b)
    tail = _common(a[same:][::-1], b[same:][::-1])
    a, b = a[same : len(a) - tail], b[same : len(b) - tail]
    found = difflib.SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
    return [
        (start + same, end + same, new_start + same, new_end + same)
        for tag, start, end, new_start, new_end in found
        if tag != "equal"
    ]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    shorter = min(len(a), len(b))
    return next((index for index in range(shorter) if a[index] != b[index]), shorter)


def _changed_ranges(
    before: Sequence[Tokens], after: Sequence[Tokens]
) -> list[tuple[Ranges, Ranges]]:
    """For lines that stand for each other one by one: which parts of each differ."""
    if len(before) != len(after):
        return []
    pairs: list[tuple[Ranges, Ranges]] = []
    for old_tokens, new_tokens in zip(before, after, strict=True):
        old = "".join(text for _, text in old_tokens)
        new = "".join(text for _, text in new_tokens)
        head = _common(old, new)
        tail = _common(old[head:][::-1], new[head:][::-1])
        if head + tail < min(len(old), len(new)) / 2:
            # Little in common: colouring most of a line tells nothing.
            pairs.append(((), ()))
            continue
        head, tail = _whole_words(old, new, head, tail)
        pairs.append((_range(head, len(old) - tail), _range(head, len(new) - tail)))
    return pairs


def _whole_words(old: str, new: str, head: int, tail: int) -> tuple[int, int]:
    # "SMEM" to "VMEM" changed one letter; its reader sees the word.
    while head and _in_word(old, head) | _in_word(new, head):
        head -= 1
    while tail and _in_word(old, len(old) - tail) | _in_word(new, len(new) - tail):
        tail -= 1
    return head, tail


def _in_word(line: str, index: int) -> bool:
    """Whether a cut at ``index`` parts a word."""
    return 0 < index < len(line) and all(
        char.isalnum() or char == "_" for char in line[index - 1 : index + 1]
    )


def _range(start: int, end: int) -> Ranges:
    return ((start, end),) if start < end else ()
