"""Text in HTML: escaped, with its code, and the colours for hosts without a style sheet."""

from __future__ import annotations

import html

from pallas_magic.render.model import Inline

# For hosts that drop the style sheet and keep these; they read on white and near-black alike.
PLAIN_COLOURS = {"error": "#d6403a", "warning": "#a36a00", "note": "#2f7fd8", "ok": "#2a8a45"}


def inline_html(pieces: Inline) -> str:
    """``pieces`` as HTML, code in ``code``."""
    return "".join(
        f"<code>{escape(text)}</code>" if kind == "code" else escape(text) for kind, text in pieces
    )


def escape(text: str) -> str:
    """``text`` with nothing in it that is markup, in or out of an attribute."""
    return html.escape(text, quote=True)
