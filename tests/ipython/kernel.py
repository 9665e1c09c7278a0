"""A real Jupyter kernel, driven through its messages as a front end does."""

from __future__ import annotations

import dataclasses
import os
import queue
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

CARD = "application/vnd.pallas-magic.v1+json"
WIDGET = "application/vnd.jupyter.widget-view+json"
ROOT = Path(__file__).parents[2]
TIMEOUT = 120.0
LOAD = "%load_ext pallas_magic"
IMPORTS = """\
import jax, jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu
"""

Message = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one execute request gave: the reply and what was published for it, in order."""

    reply: Message
    messages: tuple[tuple[str, Message], ...]

    @property
    def ok(self) -> bool:
        return bool(self.reply["status"] == "ok")

    @property
    def failure(self) -> str:
        """The error as a front end shows it in one line."""
        return f"{self.reply['ename']}: {self.reply['evalue']}"

    @property
    def errors(self) -> list[str]:
        """The texts of the error outputs, without colours."""
        return [plain("\n".join(m["traceback"])) for kind, m in self.messages if kind == "error"]

    def stream(self, name: str) -> str:
        parts = [m["text"] for kind, m in self.messages if kind == "stream" and m["name"] == name]
        return "".join(parts)

    @property
    def printed(self) -> str:
        return self.stream("stdout")

    @property
    def warned(self) -> str:
        return plain(self.stream("stderr"))

    @property
    def value(self) -> str | None:
        """The displayed last expression."""
        found = [m["data"]["text/plain"] for kind, m in self.messages if kind == "execute_result"]
        return found[0] if found else None

    @property
    def displays(self) -> list[Message]:
        """The displays as they stand at the end: updates replace what they update."""
        shown: dict[str, Message] = {}
        for number, (kind, message) in enumerate(self.messages):
            if kind in ("display_data", "update_display_data"):
                shown[message.get("transient", {}).get("display_id", str(number))] = message["data"]
        return list(shown.values())

    @property
    def cards(self) -> list[Message]:
        """The payloads of the cards; the empty one beside a widget is none."""
        return [data[CARD] for data in self.displays if data.get(CARD)]

    @property
    def card(self) -> Message:
        (card,) = self.cards
        return card

    @property
    def next_input(self) -> Message | None:
        found = [p for p in self.reply["payload"] if p["source"] == "set_next_input"]
        return found[0] if found else None

    @property
    def help(self) -> str:
        """What `?` shows."""
        (page,) = [p for p in self.reply["payload"] if p["source"] == "page"]
        return plain(page["data"]["text/plain"])


def plain(text: str) -> str:
    """``text`` without terminal colours."""
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class Kernel:
    """One running kernel."""

    def __init__(self, manager: KernelManager, client: Any) -> None:
        self._manager = manager
        self._client = client

    def run(
        self,
        code: str,
        *,
        cell_id: Any = None,
        silent: bool = False,
        as_it_stands: bool = False,
        watched: bool = True,
        on_message: Callable[[str, Message], None] | None = None,
    ) -> Outcome:
        """Execute ``code`` and wait until the kernel is idle again.

        ``as_it_stands`` sends it as the notebook extension's "Check Kernel" does; what is not
        ``watched`` comes from a program that runs whole notebooks.
        """
        session = self._client.session
        content = {
            "code": code,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": watched,
            "stop_on_error": True,
        }
        metadata = {"cellId": cell_id} if cell_id is not None else {}
        if as_it_stands:
            metadata["pallas_check"] = True
        request = session.msg("execute_request", content, metadata=metadata)
        self._client.shell_channel.send(request)
        mine = request["header"]["msg_id"]
        messages = tuple(self._published(mine, on_message))
        while True:
            reply = self._client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == mine:
                return Outcome(reply["content"], messages)

    def good(self, code: str, **options: Any) -> Outcome:
        """Execute a cell that must succeed."""
        outcome = self.run(code, **options)
        assert outcome.ok, (outcome.reply, outcome.warned)
        return outcome

    def ask(self, target: str, data: Message) -> list[tuple[str, Message]]:
        """Open a comm with ``data``; the messages that come back on it, in order."""
        content = {"comm_id": os.urandom(16).hex(), "target_name": target, "data": data}
        request = self._client.session.msg("comm_open", content)
        self._client.shell_channel.send(request)
        published = self._published(request["header"]["msg_id"], None)
        return [(kind, message["data"]) for kind, message in published if kind[:4] == "comm"]

    def interrupt(self) -> None:
        self._manager.interrupt_kernel()

    def is_complete(self, code: str) -> str:
        mine = self._client.is_complete(code)
        while True:
            reply = self._client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == mine:
                return str(reply["content"]["status"])

    def complete(self, code: str) -> tuple[str, list[str]]:
        """What Tab replaces at the end of ``code``, and what it offers."""
        mine = self._client.complete(code, len(code))
        while True:
            reply = self._client.get_shell_msg(timeout=TIMEOUT)
            if reply["parent_header"].get("msg_id") == mine:
                content = reply["content"]
                replaced = code[content["cursor_start"] : content["cursor_end"]]
                return replaced, list(content["matches"])

    def _published(
        self, mine: str, on_message: Callable[[str, Message], None] | None
    ) -> Iterator[tuple[str, Message]]:
        end = time.monotonic() + TIMEOUT
        while True:
            try:
                message = self._client.get_iopub_msg(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise TimeoutError("the kernel did not become idle") from None
            if message["parent_header"].get("msg_id") != mine:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status":
                if content["execution_state"] == "idle":
                    return
                continue
            if on_message is not None:
                on_message(kind, content)
            yield kind, content


@contextmanager
def running_kernel() -> Iterator[Kernel]:
    """A kernel of this Python, with this checkout on its path and no configuration."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH")) if p)
        env = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu", "IPYTHONDIR": folder}
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel(env=env)
        client = manager.blocking_client()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=TIMEOUT)
            yield Kernel(manager, client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)
