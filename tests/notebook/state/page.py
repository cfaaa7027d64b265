"""A page for tests: follows a kernel's state over a comm, as the front end does."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from nbtools.notebook.channel import CHANNEL_TARGET
from tests.notebook.conftest import Lab

PARTS = ("questions", "running", "ended", "changes", "rules", "servers")


class StatePage:
    """``state`` is what the page shows, joined from all snapshots."""

    def __init__(self, lab: Lab, *, reports: bool = True) -> None:
        self.lab = lab
        self.state: dict[str, Any] = {}
        self.snapshots = 0
        self.reports = reports
        self._answers: dict[int, dict[str, Any]] = {}
        self._ids = itertools.count(1)
        self._read = 0
        self.comm = lab.open_comm(
            CHANNEL_TARGET, {"id": next(self._ids), "method": "state.follow", "params": {}}
        )

    def read(self) -> None:
        messages = self.lab.comm_messages(self.comm)
        while self._read < len(messages):
            message = messages[self._read]
            self._read += 1
            if "id" in message and "pending" not in message:
                self._answers[message["id"]] = message
            if message.get("event") == "state":
                self._show(message["params"])

    def _show(self, state: dict[str, Any]) -> None:
        self.snapshots += 1
        self.state.update(
            {name: value for name, value in state.items() if name not in PARTS or value is not None}
        )
        if self.reports:
            self.report()

    def report(self) -> None:
        """Reports the last snapshot, so that the kernel may send the next one."""
        self.send("panel.seen", number=self.state["number"])

    def send(self, method: str, **params: Any) -> int:
        identity = next(self._ids)
        self.lab.send_comm(self.comm, {"id": identity, "method": method, "params": params})
        return identity

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Calls a method of the panel; returns its outcome, and its problem, which is empty if there is none."""
        identity = self.send(f"panel.{method}", **params)
        self.until(lambda: identity in self._answers)
        answer = self._answers[identity]
        return {"problem": answer.get("problem", ""), **(answer.get("result") or {})}

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
