"""On-chip memory as the card has it: what a report's ``resources`` say, and nothing else."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from pallas_magic.payload import plain_json
from pallas_magic.render.calls import kernel_calls
from pallas_magic.render.characters import shown_line
from pallas_magic.render.chips import chip_list
from pallas_magic.render.model import (
    BufferTable,
    CardMemory,
    KernelMemory,
    MemoryBar,
    MemoryBuffer,
)
from pallas_magic.report import KernelReport, Report
from pallas_magic.sizes import size_words

MOST_BUFFERS = 40
TIMES = "\N{MULTIPLICATION SIGN}"
_SPACES = {"vmem": "VMEM", "smem": "SMEM", "tmem": "TMEM"}
_LARGEST = 2**50
Entry = Mapping[str, Any]


def card_memory(report: Report) -> CardMemory | None:
    """What kernels take of their chips' memories, ``None`` where nothing is known of it."""
    found: list[KernelMemory] = []
    for calls in kernel_calls(report, _key):
        by_space: dict[str, dict[str, Entry]] = {}
        for target, kernel in calls.by_target.items():
            for entry in filter(_is_entry, kernel.resources):
                by_space.setdefault(entry["space"], {})[target] = entry
        found += [
            KernelMemory(
                kernel=shown_line(calls.name or "kernel"),
                calls=calls.label,
                space=_space(space, entries),
                bars=tuple(_bars(entries)),
                tables=tuple(_tables(entries)),
            )
            for space, entries in by_space.items()
        ]
    return CardMemory(_gist(found), tuple(found)) if found else None


def _key(kernel: KernelReport) -> Hashable:
    return repr(plain_json(kernel.resources))


def _is_entry(entry: Entry) -> bool:
    """Whether a report, which may be any payload, has here what the compile stage writes."""
    numbers = (entry.get("used"), entry.get("limit"))
    texts = (entry.get("space"), entry.get("unit"))
    return (
        all(_is_size(number) for number in numbers)
        and all(isinstance(text, str) for text in texts)
        and isinstance(entry.get("buffers"), (list, tuple))
        and all(map(_is_buffer, entry["buffers"]))
    )


def _is_buffer(buffer: object) -> bool:
    if not isinstance(buffer, Mapping):
        return False
    copies = buffer.get("copies")
    texts = (buffer.get("name"), buffer.get("type"))
    return (
        _is_size(buffer.get("bytes"))
        and _is_size(copies)
        and copies >= 1
        and all(isinstance(text, str) for text in texts)
    )


def _is_size(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _LARGEST


def _space(space: str, entries: Mapping[str, Entry]) -> str:
    if space == "smem" and all(target.startswith("gpu:") for target in entries):
        return "shared memory"
    return _SPACES.get(space, shown_line(space))


def _bars(entries: Mapping[str, Entry]) -> Iterator[MemoryBar]:
    alike: dict[tuple[int, int, str, tuple[int, ...]], list[str]] = {}
    for target, entry in entries.items():
        parts = tuple(int(buffer["bytes"]) for buffer in entry["buffers"])
        # Buffers that do not fit into what is used are no parts of it.
        parts = parts if sum(parts) <= entry["used"] else ()
        key = (entry["used"], entry["limit"], entry["unit"], parts)
        alike.setdefault(key, []).append(target)
    for (used, limit, unit, parts), targets in alike.items():
        rest = used - sum(parts)
        yield MemoryBar(
            chips=shown_line(chip_list(targets)),
            used=used,
            limit=limit,
            parts=parts,
            rest=rest,
            words=_of(used, limit, unit),
            rest_words=_amount(rest, unit) if parts and rest else "",
        )


def _of(used: int, limit: int, unit: str) -> str:
    """ "4.3 of 128 MiB", "540 KiB of 16 MiB", "168 of 255 a thread"."""
    if not limit:
        return _amount(used, unit)
    if unit != "bytes":
        return f"{used:,} of {limit:,} {shown_line(unit)}"
    (number, own), whole = size_words(used).split(" "), size_words(limit)
    return f"{number} of {whole}" if whole.endswith(f" {own}") else f"{number} {own} of {whole}"


def _amount(amount: int, unit: str) -> str:
    return size_words(amount) if unit == "bytes" else f"{amount:,} {shown_line(unit)}"


def _tables(entries: Mapping[str, Entry]) -> Iterator[BufferTable]:
    alike: dict[tuple[MemoryBuffer, ...], list[str]] = {}
    for target, entry in entries.items():
        buffers = tuple(map(_buffer, entry["buffers"]))
        if buffers:
            alike.setdefault(buffers, []).append(target)
    for buffers, targets in alike.items():
        everywhere = len(targets) == len(entries)
        more = len(buffers) - MOST_BUFFERS
        shown = buffers[:MOST_BUFFERS]
        if more > 0:
            shown = (*shown, MemoryBuffer(f"{more} more", "", "", ""))
        yield BufferTable("" if everywhere else shown_line(chip_list(targets)), shown)


def _buffer(buffer: Mapping[str, Any]) -> MemoryBuffer:
    size, copies = int(buffer["bytes"]), int(buffer["copies"])
    return MemoryBuffer(
        name=shown_line(buffer["name"]) or "without a name",
        type=shown_line(buffer["type"]),
        copies=size_words(size // copies) + (f" {TIMES} {copies}" if copies > 1 else ""),
        total=size_words(size),
    )


def _gist(found: Sequence[KernelMemory]) -> str:
    """The bar nearest its limit, in words."""
    pairs = [(memory, bar) for memory in found for bar in memory.bars if bar.limit]
    if not pairs:
        return ""
    memory, bar = max(pairs, key=lambda pair: pair[1].used / pair[1].limit)
    said = f"{bar.words} of {memory.space}"
    if memory.space == "registers":
        said = bar.words.replace(" a thread", " registers a thread")
    if len(pairs) == 1:
        return said
    return f"at most {said}, by {memory.kernel} on {bar.chips}"
