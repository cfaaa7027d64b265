"""An explorer's page and a real kernel, over a comm."""

from __future__ import annotations

import shutil
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

from nbtools.notebook.channel import CHANNEL_TARGET
from nbtools.traces.explorer.explorer_view import TRACE_MIME
from tests.traces.explorer.samples import CLAUDE, sample


@pytest.fixture
def log(project: Path) -> str:
    shutil.copy(sample(CLAUDE), project / "session.jsonl")
    return "session.jsonl"


@pytest.mark.parametrize(
    "line", ["%trace session.jsonl", "import nbtools\nnbtools.open_trace('session.jsonl')"]
)
def test_a_page_asks_and_is_answered(lab: Any, log: str, line: str) -> None:
    (output,) = lab.run(line).outputs
    explorer = output["data"][TRACE_MIME]["explorer"]
    rows = lab.result("trace.rows", explorer=explorer, version=0, first=2, count=3)
    assert (rows["total"], rows["first"], rows["block"]["count"]) == (133, 2, 3)
    assert lab.result("trace.open", explorer=explorer, line=0)["line"] == 0
    assert "does not support" in lab.result("trace.huh", explorer=explorer)["problem"]
    assert lab.result("trace.open", explorer=uuid.uuid4().hex, line=0)["gone"] is True


SLOW_CHOICE = """
import threading
from nbtools.traces.explorer.facets import Facet
choose = threading.Event()

class Slow(Facet):
    name, label = "slow", "Slow"

    def lines(self):
        choose.wait()
        return {"chosen": [0]}

explorer = %trace session.jsonl
explorer.add_facet(lambda _: Slow())
explorer
"""


def test_a_request_about_a_log_that_takes_long_keeps_no_other_waiting(lab: Any, log: str) -> None:
    (output,) = lab.run(SLOW_CHOICE).outputs
    explorer = output["data"][TRACE_MIME]["explorer"]
    slow = lab.request("trace.facets", explorer=explorer)
    assert lab.result("forms.tools")["tools"]
    assert lab.answers(slow) == []
    lab.run("choose.set()")
    lab.until(lambda: lab.answers(slow))
    (facet,) = lab.answers(slow)[0]["result"]["facets"]
    assert facet["choices"][0]["lines"] == [0]


def test_an_explorer_outlives_its_name(lab: Any, log: str) -> None:
    (output,) = lab.run(f"t = %trace {log}\nt").outputs
    lab.run("del t\nimport gc\ngc.collect()")
    assert lab.result("trace.raw", explorer=output["data"][TRACE_MIME]["explorer"], line=3)["text"]


def test_the_target_goes_with_the_extension(lab: Any) -> None:
    known = f"import comm\n{CHANNEL_TARGET!r} in comm.get_comm_manager().targets"
    assert lab.run(known).text == "True"
    lab.run("%unload_ext nbtools")
    assert lab.run(known).text == "False"


OPEN_FIRST_CALL = f"""
import sys
import nbtools
from nbtools.core.methods import respond
from nbtools.notebook.traces import comm
from nbtools.traces.explorer.registry import EXPLORERS
from nbtools.traces.model import Call

comm._warm_up()
loaded = set(sys.modules)
explorer = nbtools.open_trace({str(sample(CLAUDE))!r})
explorer.bundle()
line = next(line for line, row in enumerate(explorer.lines.rows) if isinstance(row, Call) and row.op == "edit")
message = {{"id": 1, "method": "trace.open", "params": {{"explorer": explorer.id, "line": line}}}}
answers = []
respond(EXPLORERS.find(explorer.id), message, lambda answer, _: answers.append(answer))
assert answers[0]["result"]["tool"], answers
slow = ("nbtools.tools", "nbtools.replay", "nbtools.workspace", "nbtools.cards")
print(sorted(name for name in set(sys.modules) - loaded if name.startswith(slow)))
"""


def test_the_first_opened_step_loads_no_tool_after_a_page_has_connected() -> None:
    """Above all the dialects with their tools: with their import, the first step took ten times as long."""
    done = subprocess.run(
        [sys.executable, "-c", OPEN_FIRST_CALL], capture_output=True, text=True, check=False
    )
    assert done.stdout == "[]\n", done.stdout + done.stderr
