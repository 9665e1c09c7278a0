"""Reports as people see them: text, HTML, widgets and the notebook extension's card."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from pallas_magic.report import Report

MIME_TYPE = "application/vnd.pallas-magic.v1+json"


def payload(
    report: Report,
    pages: Mapping[str, str] | None = None,
    here: str | None = None,
    progress: str = "",
) -> dict[str, Any]:
    """What the notebook extension gets: the report's own payload and its card.

    The arguments are those of :func:`pallas_magic.render.card.build_card`.
    """
    from pallas_magic.payload import plain_json
    from pallas_magic.render.card import build_card

    card = dataclasses.asdict(build_card(report, pages, here, progress=progress))
    return {**report.to_dict(), "card": plain_json(card)}
