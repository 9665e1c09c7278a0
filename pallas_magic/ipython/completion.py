"""What Tab offers on the lines of our magics: options, targets, codes and numbers of fixes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from IPython.core.error import TryNext

from pallas_magic.targets import FAMILIES, TARGETS, known_names

if TYPE_CHECKING:
    from pallas_magic.ipython.host import Host

_MAGIC = re.compile(r"\s*%{0,2}pallas_(?P<name>check|explain|fix|compilers)\s+(?P<rest>.*)$")
_WORD = re.compile(r"[^\s,=]*$")
_TARGET = re.compile(r"--target(?:\s+|\s*=\s*)(?P<list>\S*)$")
_OPTIONS = ("--fix", "--no-run", "--no-verify", "--target")
_NAMES = ("%pallas_check", "%%pallas_check", "%pallas_explain", "%pallas_fix", "%pallas_compilers")


@dataclasses.dataclass(frozen=True)
class Offer:
    """Words that may stand for ``fragment``, the end of what was typed."""

    fragment: str
    words: tuple[str, ...]


def offer(before_cursor: str, fixes: Sequence[int] = ()) -> Offer | None:
    """What to offer behind ``before_cursor``, a line of one of our magics; else ``None``.

    ``fixes`` are the numbers of the fixes that were found last.
    """
    line = _MAGIC.match(before_cursor)
    if line is None:
        return None
    fragment, words = _candidates(line["name"], line["rest"], [str(number) for number in fixes])
    fitting = [word for word in words if word.lower().startswith(fragment.lower())]
    return Offer(fragment, tuple(fitting)) if fitting else None


def _candidates(name: str, rest: str, fixes: Sequence[str]) -> tuple[str, Sequence[str]]:
    found = _WORD.search(rest)
    word = found[0] if found is not None else ""
    before = rest[: len(rest) - len(word)].split()
    if name == "check":
        return _of_check(rest, word, before, fixes)
    if name == "explain":
        return word, [] if before else _rules()
    if name == "fix":
        return word, [] if before else [*fixes, "all"]
    return word, [family for family in FAMILIES if family not in before] if before else [
        "install",
        "remove",
    ]


def _of_check(
    rest: str, word: str, before: Sequence[str], fixes: Sequence[str]
) -> tuple[str, Sequence[str]]:
    target = _TARGET.search(rest)
    if target is not None:
        return word, _targets(target["list"].rpartition(",")[0])
    if before and before[-1] == "--fix" and not word.startswith("-"):
        rest_of_them = [option for option in _OPTIONS if option not in before]
        return word, [*fixes, *rest_of_them] if not word else fixes
    if word and not word.startswith("-"):
        return word, []
    return word, [option for option in _OPTIONS if option not in before]


def _targets(listed: str) -> list[str]:
    """Targets that may follow ``listed``: behind a family's chip, its bare names too."""
    family = listed.rpartition(",")[2].partition(":")[0]
    families = [name.partition(":")[0] for name in listed.split(",") if ":" in name]
    family = family if family in FAMILIES else next(reversed(families), "")
    bare = [one.name.partition(":")[2] for one in TARGETS if one.family == family]
    taken = set(listed.split(","))
    first = [] if listed else ["auto"]
    return [name for name in (*first, *known_names(), *bare) if name not in taken]


def _rules() -> list[str]:
    from pallas_magic.rules import all_rules

    return [word for rule in all_rules() for word in (rule.code, rule.name)]


class Completion:
    """Puts :func:`offer` into a shell: a matcher where IPython has them, else its old hook."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._remove: Callable[[], None] | None = None

    def install(self) -> None:
        """Begin to offer words."""
        completer = getattr(self._host.shell, "Completer", None)
        if completer is None:
            return
        try:
            from IPython.core.completer import context_matcher
        except ImportError:
            self._install_hook()
            return

        def match(context: Any) -> Any:
            return self._match(context)

        matcher = context_matcher(identifier="pallas_magic", priority=200)(match)
        completer.custom_matchers.append(matcher)
        self._remove = lambda: completer.custom_matchers.remove(matcher)

    def remove(self) -> None:
        """Offer nothing any more."""
        if self._remove is not None:
            self._remove()
            self._remove = None

    def _offer(self, before_cursor: str) -> Offer | None:
        shown = self._host.shown
        fixes = [fix.id for fix in shown.report.fixes()] if shown is not None else []
        return offer(before_cursor, fixes)

    def _match(self, context: Any) -> Any:
        from IPython.core.completer import SimpleCompletion

        found = self._offer(context.text_until_cursor)
        if found is None:
            return {"completions": []}
        words = [SimpleCompletion(text=word, type="magic") for word in found.words]
        return {"completions": words, "suppress": True, "matched_fragment": found.fragment}

    def _install_hook(self) -> None:
        dispatchers = self._host.shell.strdispatchers
        for name in _NAMES:
            self._host.shell.set_hook("complete_command", _Hook(self._offer), str_key=name)

        def remove() -> None:
            table = dispatchers["complete_command"].strs
            for name in _NAMES:
                chain = table[name].chain
                chain[:] = [link for link in chain if not _is_ours(link[1])]
                if not chain:
                    del table[name]

        self._remove = remove


class _Hook:
    """:func:`offer` as the hook ``complete_command`` wants it."""

    def __init__(self, find: Callable[[str], Offer | None]) -> None:
        self._find = find

    def __call__(self, shell: Any, event: Any) -> list[str]:
        found = self._find(event.text_until_cursor)
        if found is None or not found.fragment.endswith(event.symbol):
            raise TryNext
        # IPython 7 replaces from its own last delimiter, `:` and `-` among them.
        kept = len(found.fragment) - len(event.symbol)
        return [word[kept:] for word in found.words]


def _is_ours(bound: Any) -> bool:
    return isinstance(getattr(bound, "__func__", None), _Hook)
