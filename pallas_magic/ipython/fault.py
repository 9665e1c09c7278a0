"""What happens when pallas_magic itself fails: one line to the user, the rest kept to report."""

from __future__ import annotations

import sys
from traceback import format_exception
from types import TracebackType

_PACKAGES = ("pallas-magic", "jax", "jaxlib", "ipython", "ipykernel")


class Faults:
    """The last failure of ours in one shell."""

    def __init__(self) -> None:
        self.last = ""

    def kept(self, doing: str) -> Kept:
        """A block that says in one line that ``doing`` failed instead of raising."""
        return Kept(self, doing)

    def tell(self, doing: str, error: BaseException) -> None:
        """Print the one line about ``error`` and keep its traceback."""
        self.last = "".join(format_exception(error))
        said = " ".join(f"{type(error).__name__}: {error}".split())[:120]
        print(
            f"pallas_magic failed while {doing} ({said}). Your code and its own errors are as "
            "without it; `%pallas_failure` prints what to report.",
            file=sys.stderr,
        )

    def report(self) -> str:
        """The text of a bug report about the last failure."""
        if not self.last:
            return "pallas_magic has not failed in this session."
        return f"{self.last}\nAt versions: {_versions()}"


class Kept:
    """Keeps exceptions from the user's cell; interrupts pass."""

    def __init__(self, faults: Faults, doing: str) -> None:
        self._faults = faults
        self._doing = doing

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._faults.tell(self._doing, error)
        return True


def _versions() -> str:
    import platform
    from importlib import metadata

    found = [f"Python {platform.python_version()}"]
    for name in _PACKAGES:
        try:
            found.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(found)
