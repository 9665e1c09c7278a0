"""Messages over a pipe arrive whole or not at all."""

from __future__ import annotations

import io

import pytest

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
