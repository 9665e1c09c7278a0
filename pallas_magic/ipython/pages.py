"""``%pallas_explain``: the page of a rule, or what rules there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from IPython.core.error import UsageError

from pallas_magic.rules import Rule, all_rules, pages

# What the first digit of a code stands for.
FAMILIES = {
    "1": "Memory spaces",
    "2": "Specs and grids",
    "3": "Operations that are not implemented",
    "4": "Element types",
    "5": "Alignment and layout",
    "6": "Control flow and refs",
    "7": "Warps, tensor memory and layouts of GPUs",
    "8": "Resources",
    "9": "Environment, and everything else",
}
_TITLE = re.compile(r"#\s*PM\d+:\s*(.+)")


def page_of(line: str) -> str:
    """The Markdown page that ``line`` names; raises ``UsageError`` with what can be named."""
    wanted = line.strip().strip("`[]:,").replace("_", "-")
    if not wanted:
        return index_page()
    for rule in all_rules():
        if wanted.lower() in (rule.code.lower(), rule.name):
            return pages()[rule.code]
    known = "\n".join(f"  {rule.code}  {rule.name}" for rule in all_rules())
    raise UsageError(f"pallas_explain: no rule {wanted!r}. The rules:\n{known}")


def index_page() -> str:
    """One line for each rule, by what it is about."""
    return "\n".join(
        [
            "# The rules of pallas_magic",
            "",
            "`%pallas_explain PM101` shows the page of one; its name will do as well.",
            *_families(),
        ]
    )


def _families() -> Iterator[str]:
    for digit, rules in groupby(all_rules(), key=lambda rule: rule.code[2]):
        yield f"\n## {FAMILIES.get(digit, 'Others')}"
        yield from (f"- `{rule.code}` `{rule.name}`: {_title(rule)}" for rule in rules)


def _title(rule: Rule) -> str:
    found = _TITLE.match(pages()[rule.code])
    return found[1] if found else ""
