"""An agent's run in a cell of a real kernel."""

from __future__ import annotations

import json
import os

import pytest

from nbtools.notebook.agent.run_messages import AGENT_MIME
from tests.notebook.agent.scripts import PLAYING

EDIT = """("edit", '{"path": "notes.txt", "old": "TODO", "new": "DONE"}')"""


@pytest.fixture
def agent_tab(lab):
    """A tab with an agent whose model a test writes down."""
    assert lab.run(PLAYING).error == ""
    return lab


def parts(cell):
    """Returns the parts of the run that the cell shows, its cards as their tools' names."""
    return [
        data[AGENT_MIME]["part"] if AGENT_MIME in data else data.get("text/plain", "").split()[1]
        for data in displays_of(cell)
    ]


def displays_of(cell):
    return [output["data"] for output in cell.outputs if "data" in output]


def test_a_run_is_shown_in_the_order_of_its_events(agent_tab, project):
    agent_tab.run(
        f"agent.model = playing(['Let me look.', ('read', '{{\"path\": \"notes.txt\"}}')], [{EDIT}], ['It is **done**.'])"
    )
    cell = agent_tab.start("%%agent\nmend it")
    agent_tab.answer_with("once")
    agent_tab.until(lambda: cell.done)
    head, first, read, edit, last, foot = parts(cell)
    assert (head["type"], head["status"], head["model"], head["can_stop"]) == (
        "head",
        "Done",
        "function:demo",
        False,
    )
    assert (first["block"]["text"], read, edit, last["block"]["text"]) == (
        "Let me look.",
        "read",
        "edit",
        "It is **done**.",
    )
    assert (foot["status"], foot["figures"][:2]) == ("Done", ["3 steps", "2 calls"])
    assert (project / "notes.txt").read_text() == "DONE: round\n"
    assert foot["files"] == [{"path": "notes.txt", "added": 1, "removed": 1}]
    assert agent_tab.run(foot["undo"]["magic"]).error == ""
    assert (project / "notes.txt").read_text() == "TODO: round\n"
    assert "<strong>done</strong>" in displays_of(cell)[4]["text/html"]
    assert agent_tab.value("(_.text, _.ok, _.usage.requests)") == ("It is **done**.", True, 3)


def test_thinking_is_folded_behind_one_line(agent_tab):
    agent_tab.run("agent.model = playing([('think', 'hm, <b>what</b>?'), 'Well.'])")
    _, thought, said, _ = parts(agent_tab.run("%%agent\nthink"))
    assert thought["thought"].startswith("Thought")
    assert thought["block"]["text"] == "hm, <b>what</b>?"
    assert said["thought"] == ""


def test_a_refusal_goes_back_with_its_reason(agent_tab, project):
    agent_tab.run(f"agent.model = playing([{EDIT}], ['I leave it.'])")
    cell = agent_tab.start("%%agent\nmend it")
    agent_tab.answer_with("deny")
    agent_tab.until(lambda: cell.done)
    assert "denied" in agent_tab.value("told()").lower()
    assert (project / "notes.txt").read_text() == "TODO: round\n"
    assert parts(cell)[-1]["status"] == "Done"


def test_the_head_says_that_an_approval_is_open_until_the_call_runs(agent_tab, project):
    os.mkfifo(project / "go")
    call = """("shell", '{"command": "cat go"}')"""
    agent_tab.run(f"agent.model = playing([{call}], ['ok'])")
    cell = agent_tab.start("%%agent\nmend it")
    agent_tab.until(lambda: agent_tab.question("once"))
    agent_tab.until(lambda: parts(cell)[0]["status"] == "Needs your answer")
    assert parts(cell)[0]["state"] == "awaiting_approval"
    agent_tab.answer_with("once")
    agent_tab.until(lambda: (parts(cell)[0]["status"], parts(cell)[0]["state"]) == ("Working", "executing"))
    (project / "go").write_text("")
    agent_tab.until(lambda: cell.done)


def test_the_next_cell_goes_on_until_a_new_conversation(agent_tab):
    agent_tab.run("agent.model = playing(['one'], ['two'], ['three'])")
    agent_tab.run("%%agent\nfirst")
    agent_tab.run("%%agent\nsecond")
    assert agent_tab.value("len(agent.messages), agent.usage.requests") == (4, 2)
    overview = agent_tab.run("%agent").text
    assert all(word in overview for word in ("function:demo", "2 steps", "first", "two"))
    agent_tab.run("%agent new")
    assert agent_tab.value("len(agent.messages), agent.usage.requests") == (0, 2)
    agent_tab.run("%%agent\nthird")
    assert agent_tab.value("len(agent.messages)") == 2


def test_a_limit_ends_it_in_a_sentence(agent_tab):
    agent_tab.run("agent.model = playing(*([('ls', '{}')] for _ in range(9)))")
    cell = agent_tab.run("%%agent --steps 2\nlook for ever")
    assert cell.error == ""
    assert parts(cell)[-1]["status"] == "It reached its limit of 2 steps"
    assert parts(cell)[0]["status"] == "Stopped"
    agent_tab.run("%agent --steps 50")


def test_a_long_text_goes_on_in_displays_of_a_few_paragraphs(agent_tab):
    agent_tab.run(
        r"agent.model = playing(['\n\n'.join(f'Paragraph {n}. ' + 'word ' * 60 for n in range(40))])"
    )
    cell = agent_tab.run("%%agent\nwrite")
    said = [part["block"]["text"] for part in parts(cell)[1:-1]]
    assert len(said) > 2
    assert max(map(len, said)) < 5_000
    assert "\n\n".join(said).count("Paragraph ") == 40


def test_a_code_block_is_never_cut(agent_tab):
    agent_tab.run(r"agent.model = playing(['```\n' + 'x = 1\n\n' * 1500 + '```\n\nafter'])")
    said = [part["block"]["text"] for part in parts(agent_tab.run("%%agent\nwrite"))[1:-1]]
    assert all(text.count("```") % 2 == 0 for text in said)


def test_a_hostile_text_is_text(agent_tab):
    agent_tab.run(
        r"""agent.model = playing(["<img src=x onerror=alert(1)> [a](javascript:alert(1)) \u202e <script>alert(1)</script>"])"""
    )
    html = displays_of(agent_tab.run("%%agent\nhi"))[1]["text/html"]
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "U+202E" in html


@pytest.mark.parametrize(
    "turn", ["['Let me see', ('until', 'never')]", "[('shell', '{\"command\": \"sleep 300\"}')]"]
)
def test_an_interrupt_stops_the_run_and_its_text_stays(agent_tab, turn):
    agent_tab.run(f"%tools allow shell\nagent.model = playing({turn}, ['on we go'])")
    cell = agent_tab.start("%%agent\nwait")
    agent_tab.until(
        lambda: any(
            part == "shell" or (isinstance(part, dict) and part["type"] == "said") for part in parts(cell)
        )
    )
    agent_tab.interrupt()
    agent_tab.until(lambda: cell.done)
    assert cell.error == "KeyboardInterrupt"
    assert parts(cell)[-1]["status"] == "You stopped it"
    assert not agent_tab.value("agent.is_running")
    assert parts(agent_tab.run("%%agent\ngo on"))[-1]["status"] == "Done"


@pytest.mark.parametrize(
    "turn", ["['Let me see', ('until', 'never')]", "[('shell', '{\"command\": \"sleep 300\"}')]", f"[{EDIT}]"]
)
def test_the_heads_button_stops_it(agent_tab, turn):
    agent_tab.run(f"agent.model = playing({turn}, ['on we go'])")
    cell = agent_tab.start("%%agent\nwait")
    agent_tab.until(lambda: len(parts(cell)) > 1)
    agent_tab.request("cards.cancel", call=parts(cell)[0]["run"])
    agent_tab.until(lambda: cell.done)
    assert cell.error == ""
    assert parts(cell)[-1]["status"] == "You stopped it"
    assert parts(agent_tab.run("%%agent\ngo on"))[-1]["status"] == "Done"


def test_it_waits_for_nobody_where_nobody_looks_on(agent_tab):
    """The notebook runs as in nbclient: only what stays is shown, and what must be asked is refused."""
    agent_tab.run(f"agent.model = playing(['I try.', {EDIT}], ['They do not let me.'])")
    cell = agent_tab.run("%%agent\nmend it", stdin=False)
    assert cell.error == ""
    assert cell.count("update_display_data") == 0
    head, said, edit, last, foot = parts(cell)
    assert (head["status"], head["figures"]) == ("", [])
    assert (said["block"]["text"], edit, last["block"]["text"], foot["status"]) == (
        "I try.",
        "edit",
        "They do not let me.",
        "Done",
    )
    assert "nobody to ask" in agent_tab.value("told()")


def test_it_can_be_awaited_beside_other_work(agent_tab):
    agent_tab.run("agent.model = playing([('until', 'go'), 'Here.'])")
    code = "task = asyncio.create_task(agent.start('wait'))\nawait asyncio.sleep(0)\npathlib.Path('go').touch()\n(await task).ok"
    assert agent_tab.run(code).error == ""
    assert agent_tab.value("_") is True


def test_a_recorded_run_opens_in_the_explorer(agent_tab):
    agent_tab.run("agent.model = playing(['Said and recorded.'])")
    agent_tab.run("%%agent\nsay it")
    cell = agent_tab.run("%agent trace")
    assert cell.error == ""
    assert "application/vnd.nbtools.trace.v1+json" in displays_of(cell)[0]
    assert "Said and recorded" in json.dumps(displays_of(cell)[0])


def at_work(agent_tab):
    """The cell of a run in the background that has begun to speak."""
    cell = agent_tab.run("task = asyncio.create_task(agent.start('wait'))")
    agent_tab.until(lambda: any(isinstance(part, dict) and part["type"] == "said" for part in parts(cell)))
    return cell


def test_unloading_ends_a_run_in_the_background(agent_tab):
    agent_tab.run("agent.model = playing(['Well, ', ('until', 'never')])")
    cell = at_work(agent_tab)
    assert agent_tab.run("%unload_ext nbtools").error == ""
    assert agent_tab.run("(await task).stopped").error == ""
    assert agent_tab.value("_") == "you stopped it"
    assert parts(cell)[-1]["status"] == "You stopped it"


def test_another_workspace_ends_a_run_on_the_one_that_is_left(agent_tab, project):
    (project / "elsewhere").mkdir()
    agent_tab.run("agent.model = playing(['Well, ', ('until', 'never')], ['I go on here.'])")
    at_work(agent_tab)
    assert agent_tab.run("%tools workspace elsewhere").error == ""
    assert agent_tab.run("(await task).stopped").error == ""
    assert agent_tab.value("_") == "you stopped it"
    assert parts(agent_tab.run("%%agent\nand now?"))[1]["block"]["text"] == "I go on here."
