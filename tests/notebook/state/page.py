"""A page for tests: follows a kernel's state over a comm, as the front end does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from nbtools.notebook.state.comm import STATE_TARGET
from tests.notebook.conftest import Lab

PARTS = ("questions", "running", "ended", "changes", "rules", "servers")


class StatePage:
    """``state`` is what the page shows, joined from all snapshots."""

    def __init__(self, lab: Lab, *, reports: bool = True) -> None:
        self.lab = lab
        self.state: dict[str, Any] = {}
        self.snapshots = 0
        self.reports = reports
        self._replies: dict[int, dict[str, Any]] = {}
        self._ids = itertools.count(1)
        self._read = 0
        self.comm = lab.open_comm(STATE_TARGET, {})

    def read(self) -> None:
        messages = self.lab.comm_messages(self.comm)
        while self._read < len(messages):
            message = messages[self._read]
            self._read += 1
            if message["reply"]:
                self._replies[message["reply"]["id"]] = message["reply"]
            if message["state"]:
                self._show(message["state"])

    def _show(self, state: dict[str, Any]) -> None:
        self.snapshots += 1
        self.state.update(
            {name: value for name, value in state.items() if name not in PARTS or value is not None}
        )
        if self.reports:
            self.report()

    def report(self) -> None:
        """Reports the last snapshot, so that the kernel may send the next one."""
        self.send({"type": "seen", "number": self.state["number"]})

    def send(self, task: dict[str, Any]) -> int:
        identity = next(self._ids)
        self.lab.send_comm(self.comm, {"id": identity, "task": task})
        return identity

    def ask(self, **task: Any) -> dict[str, Any]:
        """Sends a request; returns its reply."""
        identity = self.send(task)
        self.until(lambda: identity in self._replies)
        return self._replies[identity]

    def until(self, condition: Callable[[], Any]) -> Any:
        def holds() -> Any:
            self.read()
            return condition()

        return self.lab.until(holds)

    def has(self, part: str, count: int) -> list[dict[str, Any]]:
        """Waits until a part has that many rows; returns them."""
        self.until(lambda: len(self.state.get(part) or ()) == count and part in self.state)
        rows: list[dict[str, Any]] = self.state[part]
        return rows
