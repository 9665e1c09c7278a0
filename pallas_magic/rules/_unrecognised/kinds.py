"""Whose matter an error of JAX's is, told by its type and its words."""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["yours", "unsupported", "fault"]

_FAULT_TYPES = ("AssertionError", "VerificationError", "FoldingError", "KeyError", "IndexError")
_FAULT = re.compile(
    r"internal|file a bug|report (this|a bug)|unreachable|should never|should not happen",
    re.IGNORECASE,
)
_UNSUPPORTED = re.compile(
    r"not (yet )?(been )?(supported|implemented|allowed on|available)"
    r"|(un|n't )(supported|implemented)|does(n't| not) support"
    r"|only\b.*\b(supports?|supported|implemented|allowed)|supports? only"
    r"|no .*(rule|support) for",
    re.IGNORECASE,
)
# MLIR's verifier speaks here; what a dialect says of itself is the matter.
_VERIFIED = re.compile(
    r"^Pallas encountered an internal verification error\.\s*(Error details:\s*)?", re.MULTILINE
)
_REQUEST = re.compile(
    r"\s*(If you think [^\n]*?)?please (file|report|open) an? (bug|issue)\b[^\n]*?https?://\S+",
    re.IGNORECASE,
)


def kind_of(error_type: str, text: str) -> Kind:
    """``fault``: of JAX's own; ``unsupported``: on this kind of chip; else a condition not met.

    JAX raises ``NotImplementedError`` for most that is not supported, and assertions
    and errors of MLIR's verifier where it went wrong itself.
    """
    if _VERIFIED.search(text):
        return "unsupported" if _UNSUPPORTED.search(text) else "fault"
    if error_type in _FAULT_TYPES or _FAULT.search(text):
        return "fault"
    if error_type == "NotImplementedError" or _UNSUPPORTED.search(text):
        return "unsupported"
    return "yours"


def without_request(text: str) -> str:
    """``text`` without JAX's request to file an issue, which is no help to a kernel's author."""
    return _REQUEST.sub("", text).strip()


def matter_of(text: str) -> str:
    """:func:`without_request`, and without what goes before MLIR's own words."""
    matter = without_request(text)
    return _VERIFIED.sub("", matter, count=1).strip() or matter
