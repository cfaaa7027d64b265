"""An agent's run in a cell of a real kernel."""

from __future__ import annotations

import json

import pytest

from nbtools.notebook.agent.model import AGENT_MIME
from tests.notebook.agent.scripts import PLAYING

EDIT = """("edit", '{"path": "notes.txt", "old": "TODO", "new": "DONE"}')"""


@pytest.fixture
def desk(lab):
    """A tab with an agent whose model a test writes down."""
    assert lab.run(PLAYING).error == ""
    return lab


def parts(cell):
    """What the cell shows of the run, its cards as their tools' names."""
    return [data[AGENT_MIME]["part"] if AGENT_MIME in data else data.get("text/plain", "").split()[1] for data in shown(cell)]


def shown(cell):
    return [output["data"] for output in cell.outputs if "data" in output]


def test_a_run_stands_in_the_order_in_which_it_happened(desk, project):
    desk.run(f"agent.model = playing(['Let me look.', ('read', '{{\"path\": \"notes.txt\"}}')], [{EDIT}], ['It is **done**.'])")
    cell = desk.start("%%agent\nmend it")
    desk.answer_with("once")
    desk.until(lambda: cell.done)
    head, first, read, edit, last, foot = parts(cell)
    assert (head["type"], head["status"], head["model"], head["can_stop"]) == ("head", "Done", "function:demo", False)
    assert (first["block"]["text"], read, edit, last["block"]["text"]) == ("Let me look.", "read", "edit", "It is **done**.")
    assert (foot["status"], foot["figures"][:2]) == ("Done", ["3 steps", "2 calls"])
    assert (project / "notes.txt").read_text() == "DONE: round\n"
    assert foot["files"] == [{"path": "notes.txt", "added": 1, "removed": 1}]
    assert desk.run(foot["undo"]["magic"]).error == ""
    assert (project / "notes.txt").read_text() == "TODO: round\n"
    assert "<strong>done</strong>" in shown(cell)[4]["text/html"]
    assert desk.value("(_.text, _.ok, _.usage.requests)") == ("It is **done**.", True, 3)


def test_thinking_stands_folded_behind_one_line(desk):
    desk.run("agent.model = playing([('think', 'hm, <b>what</b>?'), 'Well.'])")
    _, thought, said, _ = parts(desk.run("%%agent\nthink"))
    assert thought["thought"].startswith("Thought")
    assert thought["block"]["text"] == "hm, <b>what</b>?"
    assert said["thought"] == ""


def test_a_refusal_goes_back_with_its_reason(desk, project):
    desk.run(f"agent.model = playing([{EDIT}], ['I leave it.'])")
    cell = desk.start("%%agent\nmend it")
    desk.answer_with("deny")
    desk.until(lambda: cell.done)
    assert "denied" in desk.value("told()").lower()
    assert (project / "notes.txt").read_text() == "TODO: round\n"
    assert parts(cell)[-1]["status"] == "Done"


def test_the_head_says_when_somebody_is_asked(desk):
    desk.run(f"agent.model = playing([{EDIT}], ['ok'])")
    cell = desk.start("%%agent\nmend it")
    desk.until(lambda: desk.question("once"))
    desk.until(lambda: parts(cell)[0]["status"] == "Needs your answer")
    assert parts(cell)[0]["state"] == "awaiting_approval"
    desk.answer_with("once")
    desk.until(lambda: cell.done)


def test_the_next_cell_goes_on_until_a_new_conversation(desk):
    desk.run("agent.model = playing(['one'], ['two'], ['three'])")
    desk.run("%%agent\nfirst")
    desk.run("%%agent\nsecond")
    assert desk.value("len(agent.messages), agent.usage.requests") == (4, 2)
    overview = desk.run("%agent").text
    assert all(word in overview for word in ("function:demo", "2 steps", "first", "two"))
    desk.run("%agent new")
    assert desk.value("len(agent.messages), agent.usage.requests") == (0, 2)
    desk.run("%%agent\nthird")
    assert desk.value("len(agent.messages)") == 2


def test_a_limit_ends_it_in_a_sentence(desk):
    desk.run("agent.model = playing(*([('ls', '{}')] for _ in range(9)))")
    cell = desk.run("%%agent --steps 2\nlook for ever")
    assert cell.error == ""
    assert parts(cell)[-1]["status"] == "It reached its limit of 2 steps"
    assert parts(cell)[0]["status"] == "Stopped"
    desk.run("%agent --steps 50")


def test_a_long_text_goes_on_in_displays_of_a_few_paragraphs(desk):
    desk.run(r"agent.model = playing(['\n\n'.join(f'Paragraph {n}. ' + 'word ' * 60 for n in range(40))])")
    cell = desk.run("%%agent\nwrite")
    said = [part["block"]["text"] for part in parts(cell)[1:-1]]
    assert len(said) > 2
    assert max(map(len, said)) < 5_000
    assert "\n\n".join(said).count("Paragraph ") == 40


def test_a_code_block_is_never_cut(desk):
    desk.run(r"agent.model = playing(['```\n' + 'x = 1\n\n' * 1500 + '```\n\nafter'])")
    said = [part["block"]["text"] for part in parts(desk.run("%%agent\nwrite"))[1:-1]]
    assert all(text.count("```") % 2 == 0 for text in said)


def test_a_hostile_text_is_text(desk):
    desk.run(r"""agent.model = playing(["<img src=x onerror=alert(1)> [a](javascript:alert(1)) \u202e <script>alert(1)</script>"])""")
    html = shown(desk.run("%%agent\nhi"))[1]["text/html"]
    assert "<script" not in html
    assert "<img" not in html
    assert 'href="javascript' not in html
    assert "U+202E" in html


@pytest.mark.parametrize("turn", ["['Let me see', ('until', 'never')]", "[('shell', '{\"command\": \"sleep 300\"}')]"])
def test_an_interrupt_stops_it_and_what_was_said_stays(desk, turn):
    desk.run(f"%tools allow shell\nagent.model = playing({turn}, ['on we go'])")
    cell = desk.start("%%agent\nwait")
    desk.until(lambda: any(part == "shell" or (isinstance(part, dict) and part["type"] == "said") for part in parts(cell)))
    desk.interrupt()
    desk.until(lambda: cell.done)
    assert cell.error == "KeyboardInterrupt"
    assert parts(cell)[-1]["status"] == "You stopped it"
    assert not desk.value("agent.is_running")
    assert parts(desk.run("%%agent\ngo on"))[-1]["status"] == "Done"


@pytest.mark.parametrize("turn", ["['Let me see', ('until', 'never')]", "[('shell', '{\"command\": \"sleep 300\"}')]", f"[{EDIT}]"])
def test_the_heads_button_stops_it(desk, turn):
    desk.run(f"agent.model = playing({turn}, ['on we go'])")
    cell = desk.start("%%agent\nwait")
    desk.until(lambda: len(parts(cell)) > 1)
    comm = desk.open_comm("nbtools", {})
    desk.send_comm(comm, {"cancel": parts(cell)[0]["run"]})
    desk.until(lambda: cell.done)
    assert cell.error == ""
    assert parts(cell)[-1]["status"] == "You stopped it"
    assert parts(desk.run("%%agent\ngo on"))[-1]["status"] == "Done"


def test_it_waits_for_nobody_where_nobody_looks_on(desk):
    """As nbclient runs it: only what stays is shown, and what must be asked is refused."""
    desk.run(f"agent.model = playing(['I try.', {EDIT}], ['They do not let me.'])")
    cell = desk.run("%%agent\nmend it", stdin=False)
    assert cell.error == ""
    assert cell.count("update_display_data") == 0
    head, said, edit, last, foot = parts(cell)
    assert (head["status"], head["figures"]) == ("", [])
    assert (said["block"]["text"], edit, last["block"]["text"], foot["status"]) == ("I try.", "edit", "They do not let me.", "Done")
    assert "nobody to ask" in desk.value("told()")


def test_it_can_be_awaited_beside_other_work(desk):
    desk.run("agent.model = playing([('until', 'go'), 'Here.'])")
    code = "task = asyncio.create_task(agent.start('wait'))\nawait asyncio.sleep(0)\npathlib.Path('go').touch()\n(await task).ok"
    assert desk.run(code).error == ""
    assert desk.value("_") is True


def test_what_is_recorded_opens_in_the_explorer(desk):
    desk.run("agent.model = playing(['Said and recorded.'])")
    desk.run("%%agent\nsay it")
    cell = desk.run("%agent trace")
    assert cell.error == ""
    assert "application/vnd.nbtools.trace.v1+json" in shown(cell)[0]
    assert "Said and recorded" in json.dumps(shown(cell)[0])


def at_work(desk):
    """The cell of a run in the background that has begun to speak."""
    cell = desk.run("task = asyncio.create_task(agent.start('wait'))")
    desk.until(lambda: any(isinstance(part, dict) and part["type"] == "said" for part in parts(cell)))
    return cell


def test_unloading_ends_a_run_in_the_background(desk):
    desk.run("agent.model = playing(['Well, ', ('until', 'never')])")
    cell = at_work(desk)
    assert desk.run("%unload_ext nbtools").error == ""
    assert desk.run("(await task).stopped").error == ""
    assert desk.value("_") == "you stopped it"
    assert parts(cell)[-1]["status"] == "You stopped it"


def test_another_workspace_ends_a_run_on_the_one_that_is_left(desk, project):
    (project / "elsewhere").mkdir()
    desk.run("agent.model = playing(['Well, ', ('until', 'never')], ['I go on here.'])")
    at_work(desk)
    assert desk.run("%tools workspace elsewhere").error == ""
    assert desk.run("(await task).stopped").error == ""
    assert desk.value("_") == "you stopped it"
    assert parts(desk.run("%%agent\nand now?"))[1]["block"]["text"] == "I go on here."
