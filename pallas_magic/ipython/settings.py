"""What the user can set: ``%config PallasMagic.target = "tpu:v6e"``, ``c.PallasMagic...``."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from traitlets import Bool, Enum, List, TraitError, Unicode
from traitlets.config import Configurable

if TYPE_CHECKING:
    from pallas_magic.ipython.options import CheckOptions


class TargetName(Unicode[str, Any]):
    """A target as ``--target`` takes it."""

    def validate(self, obj: Any, value: Any) -> str:
        if not isinstance(value, str):
            self.error(obj, value)
        if value == "auto":
            return value
        from pallas_magic.targets import UnknownTarget, parse_targets

        try:
            parse_targets(value)
        except UnknownTarget as error:
            raise TraitError(f"PallasMagic.{self.name}: {error}") from None
        return value


class RuleNames(List[str]):
    """Codes or names of rules, as a list or in one string with commas."""

    def validate(self, obj: Any, value: Any) -> Any:
        # traitlets makes one string a list of one.
        listed = super().validate(obj, value) or []
        found = [code.strip() for item in listed for code in item.split(",") if code.strip()]
        unknown = next((code for code in found if not _is_rule(code)), None)
        if unknown is not None:
            raise TraitError(
                f"PallasMagic.{self.name}: unknown rule {unknown!r}; known rules: "
                + ", ".join(_known_codes())
            )
        return found


class PallasMagic(Configurable):
    """The settings of one shell; options on a magic's line come before them."""

    target = TargetName(
        "auto",
        help="What kernels are checked for where no `--target` is given: one chip or several with "
        "commas (tpu:v4 v5e v5p v6e v7x, gpu:a100 h100 b200), or auto.",
    ).tag(config=True)
    verify = Bool(
        True, help="Prove fixes; without it they are ideas to read, as with `--no-verify`."
    ).tag(config=True)
    ignore = RuleNames(
        Unicode(),
        help="Rules whose diagnostics are left out, by code or name: ['PM101'] or 'PM101, PM803'. "
        "For a single line write `# pallas: ignore[PM101]` on it.",
    ).tag(config=True)
    compile = Enum(
        ("auto", True, False),
        "auto",
        help="Compile what lowers: auto where the vendor's compiler is installed, True to ask "
        "for it, False never.",
    ).tag(config=True)
    after_error = Enum(
        ("stop", "continue"),
        "stop",
        help="How a checked cell with errors ends that ran to its end: as failed, so that no "
        "later cell runs (stop), or as if nothing had been found (continue).",
    ).tag(config=True)

    def options(self) -> CheckOptions:
        """The options of a magic whose line has none."""
        from pallas_magic.ipython.options import CheckOptions

        return CheckOptions(
            target=self.target,
            verify=self.verify,
            compile="auto" if self.compile == "auto" else self.compile is True,
            ignored=tuple(self.ignore),
            goes_on=self.after_error == "continue",
        )


def settings_of(shell: Any) -> PallasMagic:
    """The settings from ``shell``'s configuration; those of a bad value are left at their defaults.

    A mistake in a configuration file must not cost the user the extension.
    """
    try:
        return PallasMagic(parent=shell)
    except TraitError as error:
        print(f"{error}. The settings of PallasMagic are at their defaults.", file=sys.stderr)
        return PallasMagic()


def _is_rule(code: str) -> bool:
    return code.upper() in _known_codes() or code.lower() in _known_names()


def _known_codes() -> Iterable[str]:
    from pallas_magic.rules import all_rules

    return [rule.code for rule in all_rules()]


def _known_names() -> Iterable[str]:
    from pallas_magic.rules import all_rules

    return [rule.name for rule in all_rules()]
