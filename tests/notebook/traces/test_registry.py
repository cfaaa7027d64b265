"""An explorer's page and a real kernel, over a comm."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from nbtools.notebook.traces.comm import TRACE_TARGET
from nbtools.traces.explorer.explorer_view import TRACE_MIME
from tests.traces.explorer.samples import CLAUDE, sample


@pytest.fixture
def log(project: Path) -> str:
    shutil.copy(sample(CLAUDE), project / "session.jsonl")
    return "session.jsonl"


class Page:
    """One comm, as a page keeps it."""

    def __init__(self, lab: Any) -> None:
        self._lab = lab
        self._comm = lab.open_comm(TRACE_TARGET, {})

    def ask(self, explorer: str, task: dict[str, Any], number: int = 1) -> dict[str, Any]:
        client = self._lab.client
        data = {"request": {"id": number, "explorer": explorer, "task": task}}
        message = client.session.msg("comm_msg", {"comm_id": self._comm, "data": data})
        client.shell_channel.send(message)
        while True:
            told = client.get_iopub_msg(timeout=60)
            if told["header"]["msg_type"] == "comm_msg" and told["content"]["comm_id"] == self._comm:
                answer: dict[str, Any] = told["content"]["data"]["answer"]
                return answer


@pytest.mark.parametrize(
    "line", ["%trace session.jsonl", "import nbtools\nnbtools.open_trace('session.jsonl')"]
)
def test_a_page_asks_and_is_answered(lab: Any, log: str, line: str) -> None:
    (output,) = lab.run(line).outputs
    view = output["data"][TRACE_MIME]
    page = Page(lab)
    answer = page.ask(
        view["explorer"], {"type": "page", "filter": {"chips": ["kind:edits"]}, "first": 2, "count": 3}, 41
    )
    assert (answer["id"], answer["gone"], answer["reply"]["total"]) == (41, False, 19)
    assert page.ask(view["explorer"], {"type": "open", "line": 0})["reply"]["type"] == "opened"
    assert page.ask(view["explorer"], {"type": "huh"}, 3)["reply"]["type"] == "problem"
    assert page.ask(uuid.uuid4().hex, {"type": "open", "line": 0})["gone"] is True


def test_an_explorer_outlives_its_name(lab: Any, log: str) -> None:
    (output,) = lab.run(f"t = %trace {log}\nt").outputs
    lab.run("del t\nimport gc\ngc.collect()")
    assert Page(lab).ask(output["data"][TRACE_MIME]["explorer"], {"type": "raw", "line": 3})["gone"] is False


def test_the_target_goes_with_the_extension(lab: Any) -> None:
    known = f"import comm\n{TRACE_TARGET!r} in comm.get_comm_manager().targets"
    assert lab.run(known).text == "True"
    lab.run("%unload_ext nbtools")
    assert lab.run(known).text == "False"


OPEN_FIRST_CALL = f"""
import sys
import nbtools
from nbtools.notebook.traces import comm
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.model import Call

comm._warm_up()
loaded = set(sys.modules)
explorer = nbtools.open_trace({str(sample(CLAUDE))!r})
explorer.bundle()
line = next(line for line, row in enumerate(explorer.lines.rows) if isinstance(row, Call) and row.op == "edit")
answer = EXPLORERS.respond({{"id": 1, "explorer": explorer.id, "task": {{"type": "open", "line": line}}}})
assert answer.reply.tool, answer
slow = ("nbtools.tools", "nbtools.replay", "nbtools.workspace", "nbtools.cards")
print(sorted(name for name in set(sys.modules) - loaded if name.startswith(slow)))
"""


def test_the_first_opened_step_loads_no_tool_after_a_page_has_connected() -> None:
    """Above all the dialects with their tools: with their import, the first step took ten times as long."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN_FIRST_CALL], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
