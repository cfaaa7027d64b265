"""A frontend for tests: drives a real kernel with the messages that JupyterLab sends,
and keeps what it would show.
"""

from __future__ import annotations

import ast
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

from nbtools.cards.card_model import MIME, Card
from tests.warm_kernels import cold_kernels, use_warm_kernels

use_warm_kernels()
LIMIT = 60.0
"""Seconds to wait for what must happen."""


def card_in(data: dict[str, Any]) -> dict[str, Any]:
    """Returns the card of a MIME bundle with all its fields and blocks; an empty one if it has none."""
    return Card.model_validate(data[MIME]).model_dump(mode="json") if MIME in data else {}


@dataclass
class Cell:
    """One executed cell: what came for it, and its reply once it is there."""

    msg_id: str
    outputs: list[dict[str, Any]] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] | None = None
    idle: bool = False

    @property
    def done(self) -> bool:
        return self.reply is not None and self.idle

    def count(self, msg_type: str) -> int:
        return sum(message["header"]["msg_type"] == msg_type for message in self.messages)

    @property
    def text(self) -> str:
        """All that the cell shows, in plain text."""
        return "\n".join(
            output.get("text") or output.get("data", {}).get("text/plain", "") for output in self.outputs
        )

    @property
    def error(self) -> str:
        return "" if self.reply is None else str(self.reply.get("ename", ""))


class Lab:
    """A notebook tab.

    ``widgets`` holds the state of every open widget by its model's id, ``opened`` the target of every comm
    that the kernel has opened, and ``received`` the messages of every comm.
    """

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.cells: dict[str, Cell] = {}
        self.widgets: dict[str, dict[str, Any]] = {}
        self.closed: set[str] = set()
        self.displays: dict[str, dict[str, Any]] = {}
        self.prompts: list[str] = []
        self.said: dict[str, str | None] = {}
        self.opened: dict[str, str] = {}
        self.received: dict[str, list[dict[str, Any]]] = {}
        self.subshell: str | None = None

    def forget(self) -> None:
        """Starts with nothing shown, and without a subshell."""
        self.subshell = None
        for seen in (
            self.cells,
            self.widgets,
            self.closed,
            self.displays,
            self.prompts,
            self.said,
            self.opened,
            self.received,
        ):
            seen.clear()

    def start(self, code: str, *, stdin: bool = True, cell_id: str | None = "") -> Cell:
        """Sends a cell, as a notebook does; with ``cell_id`` None as a console does."""
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": stdin,
            "stop_on_error": True,
        }
        metadata = {} if cell_id is None else {"cellId": cell_id or uuid.uuid4().hex}
        message = self.client.session.msg("execute_request", content, metadata=metadata)
        cell = self.cells[message["header"]["msg_id"]] = Cell(message["header"]["msg_id"])
        self.client.shell_channel.send(message)
        return cell

    def run(self, code: str, **options: Any) -> Cell:
        cell = self.start(code, **options)
        self.until(lambda: cell.done)
        return cell

    def until(self, condition: Callable[[], Any], limit: float = LIMIT) -> Any:
        """Handles messages until the condition holds; fails after ``limit`` seconds with what is shown."""
        deadline = time.monotonic() + limit
        while not (found := condition()):
            if time.monotonic() > deadline:
                shown = "\n---\n".join(cell.text for cell in self.cells.values())[-3000:]
                raise AssertionError(f"This did not happen in {limit} s. Shown at the end:\n{shown}")
            self._pump()
        return found

    def settle(self) -> None:
        """Waits until the cells of the test before are over;
        interrupts them where a test failed in the middle.

        A cell that was answered gets its time, since an interrupt in the middle of its reply takes the reply
        away.  After an interrupt the next cell tells that those before it are over, replied to or not.
        """
        try:
            self.until(lambda: all(cell.done for cell in self.cells.values()), limit=10)
        except AssertionError:
            self.interrupt()
            self.run("pass")

    def for_a_while(self, seconds: float) -> None:
        """Handles whatever comes in that time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._pump()

    def questions(self, outcome: str = "") -> list[str]:
        """The models of the open questions that offer this answer, by default of all, oldest first."""
        return [
            model
            for model, state in self.widgets.items()
            if "question" in state and (not outcome or outcome in self.choices(model))
        ]

    def question(self, outcome: str = "") -> str | None:
        """The model of the newest open question that offers this answer."""
        return next(reversed(self.questions(outcome)), None)

    def question_data(self, model: str) -> dict[str, Any]:
        """Returns the data that a question shows."""
        return dict(self.widgets[model].get("question", {}))

    def choices(self, model: str) -> dict[str, dict[str, Any]]:
        """The buttons of a question by what they answer; none for a widget that is no question."""
        return {choice["role"]: choice for choice in self.question_data(model).get("choices", ())}

    def say(self, model: str, outcome: str, **parts: Any) -> None:
        """Sends an answer, as the page does with a click."""
        question = self.said.setdefault(model, self.widgets.get(model, {}).get("question", {}).get("id"))
        self.send(model, {"question": question, "outcome": outcome, **parts})

    def answer_with(self, outcome: str, **parts: Any) -> str:
        """Answers the newest question that offers this answer as soon as there is one,
        and waits until it has gone; returns its model.
        """
        model = str(self.until(lambda: self.question(outcome)))
        self.say(model, outcome, **parts)
        self.until(lambda: model in self.closed)
        return model

    def send(self, model: str, content: dict[str, Any]) -> None:
        """Sends a custom message to a widget."""
        self.send_comm(model, {"method": "custom", "content": content})

    def reply(self, model: str, content: dict[str, Any]) -> dict[str, Any]:
        """Sends a custom message to a widget and waits for its reply."""
        before = len(self._replies(model))
        self.send(model, content)
        return self.until(lambda: self._replies(model)[before:])[0]

    def _replies(self, model: str) -> list[Any]:
        return [data["content"] for data in self.received.get(model, ()) if data.get("method") == "custom"]

    def editable(self, model: str) -> dict[str, Any]:
        """The text that Modify edits, as the page asks for it."""
        return dict(
            self.reply(model, {"question": self.question_data(model)["id"], "edit": True})["editable"]
        )

    def send_comm(self, comm_id: str, data: dict[str, Any]) -> None:
        self._send_to_shell("comm_msg", {"comm_id": comm_id, "data": data})

    def open_comm(self, target: str, data: dict[str, Any]) -> str:
        comm_id = uuid.uuid4().hex
        self._send_to_shell("comm_open", {"comm_id": comm_id, "target_name": target, "data": data})
        return comm_id

    def request(self, method: str, **params: Any) -> str:
        """Calls a method of the kernel on a comm of its own; returns the comm's id."""
        return self.open_comm("nbtools", {"id": 1, "method": method, "params": params})

    def result(self, method: str, **params: Any) -> Any:
        """Calls a method of the kernel and returns its result, or the answer if there is none."""
        comm_id = self.request(method, **params)
        answer = self.until(lambda: next(iter(self.answers(comm_id)), None))
        return answer.get("result", answer)

    def answers(self, comm_id: str) -> list[dict[str, Any]]:
        """Returns the messages of the kernel on a comm, except that it needs longer."""
        return [message for message in self.comm_messages(comm_id) if not message.get("pending")]

    def use_subshell(self) -> None:
        """Sends all comm messages to a subshell from now on, as JupyterLab does."""
        self.client.control_channel.send(self.client.session.msg("create_subshell_request", {}))
        reply = self.client.get_control_msg(timeout=LIMIT)
        self.subshell = reply["content"]["subshell_id"]

    def _send_to_shell(self, kind: str, content: dict[str, Any]) -> None:
        message = self.client.session.msg(kind, content)
        message["header"]["subshell_id"] = self.subshell
        self.client.shell_channel.send(message)

    def comm_messages(self, comm_id: str) -> list[dict[str, Any]]:
        """Returns the messages of the kernel on a comm that is not a widget."""
        return self.received.get(comm_id, [])

    def answer(self, text: str) -> str:
        """Types a line when the kernel asks for one; returns what it asked."""
        self.until(lambda: self.prompts)
        self.client.input(text)
        return self.prompts.pop(0)

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def value(self, expression: str) -> Any:
        """Returns the value of an expression in the kernel, as Python reads its repr."""
        cell = self.run(f"print(repr(({expression})))")
        assert cell.error == "", cell.text
        printed = "".join(output.get("text", "") for output in cell.outputs)
        return ast.literal_eval(printed.strip().splitlines()[-1])

    def close(self) -> None:
        self.client.stop_channels()

    def _pump(self) -> None:
        for channel in (self.client.shell_channel, self.client.stdin_channel):
            while channel.msg_ready():
                self._from_shell(channel.get_msg(timeout=0))
        try:
            self._from_iopub(self.client.get_iopub_msg(timeout=0.02))
        except queue.Empty:
            return

    def _from_shell(self, message: dict[str, Any]) -> None:
        if message["header"]["msg_type"] == "input_request":
            self.prompts.append(message["content"]["prompt"])
        cell = self.cells.get(message["parent_header"].get("msg_id", ""))
        if cell is not None and message["header"]["msg_type"] == "execute_reply":
            cell.reply = message["content"]

    def _from_iopub(self, message: dict[str, Any]) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        cell = self.cells.get(message["parent_header"].get("msg_id", ""))
        if cell is not None:
            cell.messages.append(message)
        match kind:
            case "comm_open":
                self.opened[content["comm_id"]] = content["target_name"]
                if content["target_name"] == "jupyter.widget":
                    self.widgets[content["comm_id"]] = dict(content["data"].get("state", {}))
            case "comm_msg" if content["data"].get("method") == "update":
                self.widgets.setdefault(content["comm_id"], {}).update(content["data"]["state"])
            case "comm_msg":
                self.received.setdefault(content["comm_id"], []).append(content["data"])
            case "comm_close":
                self.closed.add(content["comm_id"])
                self.widgets.pop(content["comm_id"], None)
            case "update_display_data":
                self._update(content)
            case "status" if cell is not None and content["execution_state"] == "idle":
                cell.idle = True
            case "display_data" | "execute_result" | "stream" | "error" if cell is not None:
                self._add(cell, content)

    def _add(self, cell: Cell, content: dict[str, Any]) -> None:
        output = dict(content)
        if "traceback" in output:
            output["text"] = "\n".join(output["traceback"])
        if cell.outputs and "name" in output and cell.outputs[-1].get("name") == output["name"]:
            cell.outputs[-1]["text"] += output["text"]  # one print may come in pieces; notebooks join them
            return
        cell.outputs.append(output)
        display_id = content.get("transient", {}).get("display_id")
        if display_id is not None:
            self.displays[display_id] = output

    def _update(self, content: dict[str, Any]) -> None:
        shown = self.displays.get(content["transient"]["display_id"])
        if shown is not None:
            shown["data"] = content["data"]


@contextmanager
def a_kernel(folder: Path) -> Iterator[KernelManager]:
    """A real kernel that starts in ``folder``."""
    manager = KernelManager(kernel_name="python3")
    manager.start_kernel(cwd=str(folder))
    try:
        yield manager
    finally:
        manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def shared_kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One kernel for the tests of a file."""
    with a_kernel(tmp_path_factory.mktemp("kernel")) as manager:
        lab = Lab(manager)
        yield lab
        lab.close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small code tree."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "cart.py").write_text("def total(items):\n    total = 0\n    return total\n")
    (tmp_path / "notes.txt").write_text("TODO: round\n")
    return tmp_path


@pytest.fixture
def lab(shared_kernel: Lab, project: Path) -> Lab:
    """A tab whose kernel works in ``project``, with nbtools freshly loaded."""
    lab = shared_kernel
    lab.settle()
    lab.forget()
    code = f"import os\nos.chdir({str(project)!r})\n%reload_ext nbtools"
    assert lab.run(code).error == ""
    return lab


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[Lab]:
    """A kernel of one's own, without nbtools."""
    with a_kernel(tmp_path) as manager:
        lab = Lab(manager)
        yield lab
        lab.close()


@pytest.fixture
def cold(tmp_path: Path) -> Iterator[Lab]:
    """A kernel of one's own, which has imported nothing of nbtools."""
    with cold_kernels(), a_kernel(tmp_path) as manager:
        lab = Lab(manager)
        yield lab
        lab.close()
