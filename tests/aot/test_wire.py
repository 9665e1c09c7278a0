"""Messages over a pipe arrive whole or not at all, and say what they are about."""

from __future__ import annotations

import io

import pytest

from pallas_magic.aot.process import _outcome
from pallas_magic.aot.wire import receive, send


def test_messages_arrive_in_order_and_whole() -> None:
    pipe = io.BytesIO()
    send(pipe, {"job": 1, "text": "größer"}, b"\x00\xff")
    send(pipe, {})
    pipe.seek(0)
    assert receive(pipe) == ({"job": 1, "text": "größer"}, b"\x00\xff")
    assert receive(pipe) == ({}, b"")
    assert receive(pipe) is None


@pytest.mark.parametrize("kept", [0, 3, 8, 12, 20])
def test_a_message_that_breaks_off_is_the_end(kept: int) -> None:
    pipe = io.BytesIO()
    send(pipe, {"job": 1}, b"module bytes")
    assert receive(io.BytesIO(pipe.getvalue()[:kept])) is None


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("INTERNAL: Mosaic failed to compile TPU kernel: Bad lhs type", "failed"),
        ("RESOURCE_EXHAUSTED: Allocation (size=9) would exceed memory (size=8)", "failed"),
        ("Custom emitter for xla.sdy.GlobalToLocalShape not found", "unavailable"),
        ("INTERNAL: Mosaic GPU pass failed: No space left on device", "unavailable"),
        ("INTERNAL: libdevice not found at ./libdevice.10.bc", "unavailable"),
        ("UNAVAILABLE: Neither ptxas/nvlink nor nvjtlink is available; not found", "unavailable"),
    ],
)
def test_only_what_is_said_of_the_kernel_is_its_failure(text: str, status: str) -> None:
    assert _outcome({"status": "failed", "text": text}, []).status == status
