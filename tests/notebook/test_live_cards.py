"""One card a call: how often it is drawn, where, and that its end always arrives."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient

MIME = "application/vnd.nbtools.call.v1+json"


def test_a_quick_call_is_one_display(lab):
    cell = lab.run("%tool ls")
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0
    assert cell.outputs[0]["data"][MIME]["state"] == "success"


def test_a_streaming_call_is_updated_in_place_at_a_bounded_rate(lab):
    lab.run("%tools allow shell")
    cell = lab.run("%tool shell for i in $(seq 200); do echo line $i; sleep 0.01; done")
    drawn = [message["header"]["date"] for message in cell.messages if "data" in message["content"]]
    assert cell.count("display_data") == 1
    assert 5 <= cell.count("update_display_data") <= 10 * (drawn[-1] - drawn[0]).total_seconds() + 3
    assert "line 200" in cell.text
    assert cell.outputs[0]["data"][MIME]["state"] == "success"


@pytest.mark.parametrize("how", ["the button", "an interrupt"])
def test_streamed_output_stays_after_a_cancellation(lab, how):
    lab.run("%tools allow shell")
    cell = lab.start("%tool shell for i in $(seq 25); do echo line $i; done; exec sleep 300")
    lab.until(lambda: "line 25" in cell.text)
    if how == "the button":
        lab.request("cards.cancel", call=cell.outputs[0]["data"][MIME]["id"])
    else:
        lab.interrupt()
    lab.until(lambda: cell.done)
    data = cell.outputs[0]["data"]
    assert data[MIME]["state"] == "cancelled"
    for form in ("text/plain", "text/html"):
        assert "line 17" in data[form]
        assert "line 25" in data[form]


def test_a_silent_command_counts_its_seconds(lab):
    lab.run("%tools allow shell")
    cell = lab.run("%tool shell sleep 4")
    shown = [message["content"]["data"][MIME] for message in cell.messages if "data" in message["content"]]
    running = [card.get("detail") for card in shown if card["state"] == "executing"]
    assert len(set(running)) >= 3


def test_every_state_carries_three_representations(lab):
    lab.run("%tools allow shell")
    cell = lab.run("%tool shell for i in 1 2 3; do echo $i; sleep 0.2; done")
    shown = [message["content"]["data"] for message in cell.messages if "data" in message["content"]]
    assert len(shown) > 2
    assert all(set(data) == {MIME, "text/html", "text/plain"} for data in shown)


def test_with_nobody_watching_there_is_one_display(lab):
    lab.run("%tools allow shell")
    cell = lab.run("%tool shell for i in 1 2 3; do echo $i; sleep 0.3; done", stdin=False)
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0


def test_quiet_tools_show_nothing_unless_they_ask(lab):
    cell = lab.start("tools.quiet.ls()\nr = tools.quiet.write('a.txt', 'x')")
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert cell.count("display_data") == 1
    assert "write a.txt" in cell.text


def test_a_call_of_the_session_itself_has_a_card(lab):
    code = "from nbtools.notebook import extension\nbench = next(iter(extension._extensions.values())).runtime\nbench.blocking.call('ls')"
    cell = lab.run(code)
    assert any(MIME in output.get("data", {}) for output in cell.outputs)


def test_a_notebook_runs_under_nbclient(project):
    cells = [
        "%load_ext nbtools",
        "%tool ls src",
        "print(tools.read('notes.txt').ok)",
        "%tool write a.txt x",
        "await tools.ls.start()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    done = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(project)}}).execute()
    outputs = [cell["outputs"] for cell in done["cells"]]
    assert outputs[0] == []
    assert [output["output_type"] for output in outputs[1]] == ["display_data"]
    assert "cart.py" in outputs[1][0]["data"]["text/plain"]
    assert MIME in outputs[2][0]["data"]
    assert "nobody to ask" in outputs[3][0]["data"]["text/plain"]
    assert len(outputs[4]) == 1
