"""Messages over a pipe: a JSON header and a body of bytes, each with its length before it."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO

# Printed by a worker after each job, to tell what its compiler printed for which.
END_OF_JOB = "pallas_magic: end of job "

_LENGTHS = struct.Struct("!II")


def send(stream: BinaryIO, header: Mapping[str, Any], body: bytes = b"") -> None:
    """Write one message; raises ``OSError`` where the other end is gone."""
    text = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(text), len(body)) + text + body)
    stream.flush()


def receive(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The next message, ``None`` at the end of the stream, a broken-off message included."""
    lengths = stream.read(_LENGTHS.size)
    if len(lengths) < _LENGTHS.size:
        return None
    header_length, body_length = _LENGTHS.unpack(lengths)
    rest = stream.read(header_length + body_length)
    if len(rest) < header_length + body_length:
        return None
    return json.loads(rest[:header_length]), rest[header_length:]
