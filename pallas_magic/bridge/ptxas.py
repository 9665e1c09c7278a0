"""What ptxas says of a kernel: registers a thread, and bytes of them that went to memory."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PATTERNS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
}


def ptxas_numbers(text: str) -> Mapping[str, int]:
    """The numbers in what ptxas printed; the largest where it compiled several functions."""
    found = {name: pattern.findall(text) for name, pattern in _PATTERNS.items()}
    return {name: max(map(int, numbers)) for name, numbers in found.items() if numbers}
