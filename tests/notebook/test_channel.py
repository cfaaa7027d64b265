"""Messages of a page to the comm target ``nbtools``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from nbtools.core.methods import NoParams, method
from nbtools.notebook.channel import PageChannel, serve, withdraw


class Comm:
    """A comm that keeps what is sent over it."""

    comm_id = "page"

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def on_msg(self, callback: Callable[[Any], None]) -> None:
        self.receive = callback

    def send(self, data: Mapping[str, Any], *, buffers: Sequence[bytes]) -> None:
        self.sent.append(data)


class Clock:
    @method("clock.wind")
    def wind(self, _: NoParams) -> None:
        """Does nothing."""


def answers(data: Any) -> list[Any]:
    """Returns what a page gets for the data of a message."""
    clock = Clock()

    def service(*_: object) -> Clock:
        return clock

    serve("clock", service)
    comm = Comm()
    PageChannel(comm)
    comm.receive({"content": {"data": data}})
    withdraw("clock", service)
    return comm.sent


def test_a_method_is_called_on_the_object_of_its_first_word() -> None:
    assert answers({"id": 1, "method": "clock.wind", "params": {}}) == [{"id": 1, "result": None}]
    assert answers({"id": 1, "method": "watch.wind", "params": {}}) == [{"id": 1, "gone": True}]


@pytest.mark.parametrize("params", [None, 3, [], "params"])
def test_parameters_that_are_no_object_name_nothing(params: Any) -> None:
    assert answers({"id": 1, "method": "clock.wind", "params": params}) == [{"id": 1, "gone": True}]


@pytest.mark.parametrize("data", [None, 5, "method", ["method"], {}, {"method": "clock.wind", "params": {}}])
def test_data_without_a_request_gets_no_answer(data: Any) -> None:
    assert answers(data) == []


def test_the_extension_is_loaded_without_pydantic() -> None:
    """It would take a third of the time; only a page that calls a method needs it."""
    loaded = "import sys, nbtools.notebook.extension; print('pydantic' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
