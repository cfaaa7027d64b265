"""The page of a widget calls methods of what the widget shows, and of what it has opened from there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from nbtools.cards.card_model import Wire
from nbtools.core.methods import method
from nbtools.notebook.traces.widget import ExplorerWidget
from nbtools.traces.explorer.registry import EXPLORERS


class Params(Wire):
    explorer: str


class View(Wire):
    explorer: str


class Opened(Wire):
    view: View | None = None


class Explorer:
    """An explorer that opens another one."""

    size = 1

    def __init__(self, identity: str, other: str = "") -> None:
        self.id = identity
        self._other = other
        EXPLORERS.add(self)

    @method("trace.open_other")
    def open_other(self, _: Params) -> Opened:
        return Opened(view=View(explorer=self._other))

    @method("trace.bytes")
    def bytes(self, _: Params) -> tuple[Opened, Sequence[bytes]]:
        return Opened(), [b"\1\2"]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Calls a method over the widget of the explorer ``first``; returns its answer and binary data."""
    sent: list[Any] = []
    monkeypatch.setattr(ExplorerWidget, "send", lambda _, *message: sent.append(message))
    explorers = [Explorer("first", "second"), Explorer("second"), Explorer("other")]
    widget = ExplorerWidget(View(explorer="first"))

    def ask(method: str, explorer: Any) -> Any:
        assert explorers
        message = {"id": 3, "method": f"trace.{method}", "params": {"explorer": explorer}}
        widget._on_request(widget, message, None)
        return sent.pop()

    return ask


def test_an_answer_has_binary_data(ask: Any) -> None:
    assert ask("bytes", "first") == ({"id": 3, "result": {"view": None}}, [b"\1\2"])


def test_only_what_the_widget_has_opened_answers(ask: Any) -> None:
    gone = ({"id": 3, "gone": True}, [])
    assert ask("bytes", "second") == ask("bytes", "other") == ask("bytes", "no such explorer") == gone
    assert ask("open_other", "first") == ({"id": 3, "result": {"view": {"explorer": "second"}}}, [])
    assert ask("bytes", "second")[1] == [b"\1\2"]
    assert ask("bytes", "other") == gone


@pytest.mark.parametrize("explorer", [None, 3, [], {}, ["first"]])
def test_a_value_that_names_no_explorer_is_gone(ask: Any, explorer: Any) -> None:
    assert ask("bytes", explorer) == ({"id": 3, "gone": True}, [])


def test_after_an_answer_messages_are_handled_on_the_subshell_that_they_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Otherwise ipykernel handles them where the answer was sent: for one from a thread, behind the cell."""
    explorer = Explorer("first")
    widget = ExplorerWidget(View(explorer=explorer.id))
    monkeypatch.setattr(
        ExplorerWidget, "send", lambda self, *_: vars(self.comm).update(_reply_subshell_id=None)
    )
    widget._on_request(widget, {"id": 3, "method": "trace.bytes", "params": {"explorer": "first"}}, None)
    assert "_reply_subshell_id" not in vars(widget.comm)
