"""The state of a real kernel as a page sees it, and its requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nbtools.notebook.channel import CHANNEL_TARGET
from tests.notebook.conftest import LIMIT, Lab
from tests.notebook.state.page import StatePage

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = 1'"


@pytest.fixture
def page(lab: Lab) -> StatePage:
    lab.run("%tool ls")
    page = StatePage(lab)
    page.until(lambda: "rules" in page.state)
    return page


def question_of(page: StatePage) -> dict[str, Any]:
    (question,) = page.has("questions", 1)
    return dict(question)


def answer(page: StatePage, question: str, outcome: str, **parts: Any) -> dict[str, Any]:
    return page.ask("answer", question=question, outcome=outcome, **parts)


def test_loading_announces_itself_and_comm_info_finds_it(lab: Lab) -> None:
    assert CHANNEL_TARGET in lab.opened.values()
    lab.client.comm_info(target_name=CHANNEL_TARGET)
    reply = lab.client.get_shell_msg(timeout=60)
    while reply["header"]["msg_type"] != "comm_info_reply":
        reply = lab.client.get_shell_msg(timeout=60)
    assert reply["content"]["comms"]


def test_a_kernel_without_nbtools_has_no_such_comm(bare: Lab) -> None:
    bare.client.comm_info(target_name=CHANNEL_TARGET)
    reply = bare.client.get_shell_msg(timeout=60)
    while reply["header"]["msg_type"] != "comm_info_reply":
        reply = bare.client.get_shell_msg(timeout=60)
    assert reply["content"]["comms"] == {}


def test_nothing_is_loaded_for_a_page_before_the_first_call(lab: Lab) -> None:
    page = StatePage(lab)
    loaded = "'nbtools.notebook.state.publisher' in __import__('sys').modules"
    lab.run(
        "import sys\nfor name in [name for name in sys.modules if name == 'nbtools.notebook.state.publisher']: del sys.modules[name]"
    )
    assert lab.value(loaded) is False
    page.read()
    assert page.snapshots == 0
    lab.run("%tool ls")
    page.until(lambda: "rules" in page.state)
    assert lab.value(loaded) is True


def test_a_question_appears_and_is_answered_from_the_page(lab: Lab, page: StatePage, project: Path) -> None:
    cell = lab.start(EDIT, cell_id="the-cell")
    question = question_of(page)
    assert question["cell"] == "the-cell"
    assert question["data"]["card"]["subject"].startswith("src/cart.py")
    assert {choice["role"] for choice in question["data"]["choices"]} >= {"once", "deny"}
    assert answer(page, question["data"]["id"], "once")["problem"] == ""
    page.has("questions", 0)
    lab.until(lambda: cell.done)
    assert "total = 1" in (project / "src" / "cart.py").read_text()


@pytest.mark.parametrize("where", ["panel", "cell"])
def test_an_answer_is_handled_while_another_cell_blocks(lab: Lab, project: Path, where: str) -> None:
    lab.use_subshell()
    lab.run("%tool ls")
    page = StatePage(lab)
    lab.run("call = tools.write.background('answered.txt', 'yes')")
    question = question_of(page)["data"]["id"]
    waiting = f"""
import pathlib, time
started = time.monotonic()
while not pathlib.Path("answered.txt").exists() and time.monotonic() - started < {LIMIT / 2}:
    time.sleep(0.01)
print(pathlib.Path("answered.txt").exists())
"""
    cell = lab.start(waiting)
    lab.until(lambda: cell.count("execute_input"))
    if where == "panel":
        assert answer(page, question, "once")["problem"] == ""
    else:
        lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert cell.text.strip() == "True"


def test_every_cell_of_a_run_gets_its_own_outputs_while_a_page_follows(lab: Lab) -> None:
    lab.use_subshell()
    lab.run("%tool ls")
    page = StatePage(lab)
    cells = [
        lab.start(f"tools.write.background('file{number}.txt', '{number}')\nprint({number})")
        for number in range(20)
    ]
    page.until(lambda: all(cell.done for cell in cells))
    assert [[output["text"] for output in cell.outputs if "name" in output] for cell in cells] == [
        [f"{n}\n"] for n in range(20)
    ]
    page.has("questions", 20)


def test_a_question_answered_elsewhere_disappears_and_cannot_be_answered_again(
    lab: Lab, page: StatePage, project: Path
) -> None:
    lab.start(EDIT)
    question = question_of(page)
    other = StatePage(lab)
    other.has("questions", 1)
    assert answer(other, question["data"]["id"], "deny", reason="no")["problem"] == ""
    page.has("questions", 0)
    assert "no longer open" in answer(page, question["data"]["id"], "once")["problem"]
    assert "total = 0" in (project / "src" / "cart.py").read_text()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("answer", {"question": "x", "outcome": "once", "extra": 1}),
        ("mode", {"mode": 3}),
        ("unknown", {}),
        ("revoke", {"rule": "x" * 5_000}),
        ("confirm", {}),
        ("server", {"name": "a", "verb": "run"}),
    ],
)
def test_a_request_that_is_not_valid_changes_nothing(
    lab: Lab, page: StatePage, method: str, params: dict[str, Any]
) -> None:
    before = dict(page.state["rules"])
    assert page.ask(method, **params)["problem"]
    assert page.state["rules"] == before


def test_a_looser_mode_needs_the_kernels_token(lab: Lab, page: StatePage) -> None:
    reply = page.ask("mode", mode="yolo")
    assert reply["confirm"]["title"]
    assert lab.value("tools.__class__ and get_ipython() and 1") == 1
    assert page.state["rules"]["mode"] == "default"
    assert page.ask("confirm", token="guessed")["problem"]
    assert page.state["rules"]["mode"] == "default"
    assert page.ask("confirm", token=reply["confirm"]["token"])["problem"] == ""
    page.until(lambda: page.state["rules"]["mode"] == "yolo")
    assert page.ask("confirm", token=reply["confirm"]["token"])["problem"], "a token is used once"


def test_a_token_of_one_page_is_not_valid_for_another(lab: Lab, page: StatePage) -> None:
    token = page.ask("mode", mode="auto_edit")["confirm"]["token"]
    assert StatePage(lab).ask("confirm", token=token)["problem"]
    assert page.state["rules"]["mode"] == "default"


def test_a_stricter_mode_is_set_at_once(lab: Lab, page: StatePage) -> None:
    assert page.ask("mode", mode="plan")["confirm"] is None
    page.until(lambda: page.state["rules"]["mode"] == "plan")
    assert all(choice["looser"] for choice in page.state["rules"]["modes"] if choice["name"] != "plan")


def test_rules_and_grants_of_a_cell_are_shown_and_revoked(lab: Lab, page: StatePage) -> None:
    lab.run("%tools allow 'shell(git status:*)'\n%tools deny 'read(secret/**)'")
    page.until(lambda: page.state["rules"]["grants"])
    (grant,) = page.state["rules"]["grants"]
    assert (grant["rule"], grant["saved"]) == ("shell(git status:*)", False)
    assert [(rule["action"], rule["rule"], rule["source"]) for rule in page.state["rules"]["rules"]] == [
        ("deny", "read(secret/**)", "")
    ]
    assert page.ask("revoke", rule="read(secret/**)")["problem"], "only grants can be revoked"
    assert page.ask("revoke", rule=grant["rule"])["problem"] == ""
    page.until(lambda: not page.state["rules"]["grants"])
    assert page.state["rules"]["rules"]


def test_changes_are_undone_and_redone(lab: Lab, page: StatePage, project: Path) -> None:
    lab.run("%tools mode auto_edit")
    lab.run(EDIT)
    (change,) = page.has("changes", 1)
    assert change["files"] == [{"path": "src/cart.py", "added": 1, "removed": 1}]
    assert page.ask("diff", call=change["id"])["diff"]["blocks"][0]["type"] == "diff"
    assert page.ask("undo", call=change["id"])["problem"] == ""
    page.until(lambda: page.state["changes"][0]["undone_by"])
    assert "total = 0" in (project / "src" / "cart.py").read_text()
    assert page.ask("undo", call=page.state["changes"][0]["undone_by"])["problem"] == ""
    page.until(lambda: not page.state["changes"][0]["undone_by"])
    assert "total = 1" in (project / "src" / "cart.py").read_text()
    assert len(page.state["changes"]) == 1


def test_all_later_changes_are_undone_after_a_list(lab: Lab, page: StatePage, project: Path) -> None:
    lab.run("%tools mode auto_edit")
    for name in "abc":
        lab.run(f"%tool write {name}.txt --content {name}")
    first, second, third = page.has("changes", 3)
    reply = page.ask("undo", call=second["id"], later=True)
    assert [line.rpartition(" ")[2] for line in reply["confirm"]["lines"]] == ["c.txt", "b.txt"]
    assert (project / "c.txt").exists()
    assert page.ask("confirm", token=reply["confirm"]["token"])["problem"] == ""
    page.until(lambda: [bool(change["undone_by"]) for change in page.state["changes"]] == [False, True, True])
    assert sorted(path.name for path in project.glob("?.txt")) == ["a.txt"]
    assert not first["undone_by"]
    assert third["files"][0]["path"] == "c.txt"


def test_an_undo_over_later_changes_is_a_merge_that_the_person_confirms(
    lab: Lab, page: StatePage, project: Path
) -> None:
    file = project / "long.txt"
    file.write_text("".join(f"line {i:02}\n" for i in range(30)))
    lab.run("%tools mode auto_edit")
    lab.run("%tool edit long.txt --old 'line 03' --new third")
    lab.run("%tool edit long.txt --old 'line 25' --new 'late'")
    first = page.has("changes", 2)[0]
    reply = page.ask("undo", call=first["id"])
    assert reply["confirm"], reply
    assert page.ask("confirm", token=reply["confirm"]["token"])["problem"] == ""
    assert "late" in file.read_text()


def test_a_background_call_runs_is_stopped_and_has_ended(lab: Lab, page: StatePage) -> None:
    lab.run("%tools mode yolo")
    lab.run("handle = tools.shell.background('sleep 60')")
    (call,) = page.has("running", 1)
    assert (call["type"], call["tool"], call["subject"]) == ("background", "shell", "sleep 60")
    page.ask("stop", call=call["id"])
    page.has("running", 0)
    (ended,) = page.has("ended", 1)
    assert (ended["id"], ended["failed"]) == (call["id"], True)


@pytest.mark.parametrize(
    ("line", "named", "failed"),
    [
        ("%tool shell --background sleep 60", "sleep 60", True),
        ("%tool shell --keep --timeout 0.5 sleep 60", "sleep 60", True),
        ("tools.shell('sleep 60 &', leave=True)", "sleep 60 &", False),
    ],
)
def test_a_background_command_runs_is_stopped_and_has_ended(
    lab: Lab, page: StatePage, line: str, named: str, failed: bool
) -> None:
    lab.run("%tools mode yolo")
    cell = lab.start(line, cell_id="here")
    lab.until(lambda: cell.done)
    page.until(lambda: [call["type"] for call in page.state["running"]] == ["background"])
    (command,) = page.state["running"]
    assert (command["type"], command["tool"], command["subject"], command["cell"]) == (
        "background",
        "shell",
        named,
        "here",
    )
    assert page.ask("stop", call=command["id"])["problem"] == ""
    page.has("running", 0)
    (ended,) = page.has("ended", 1)
    assert (ended["id"], ended["type"], ended["failed"]) == (command["id"], "background", failed)


@pytest.mark.parametrize(("command", "failed"), [("true", False), ("false", True)])
def test_a_background_command_that_ends_by_itself_says_how(
    lab: Lab, page: StatePage, command: str, failed: bool
) -> None:
    lab.run("%tools mode yolo")
    lab.run(f"%tool shell --background {command}")
    (ended,) = page.has("ended", 1)
    assert (ended["subject"], ended["failed"]) == (command, failed)
    assert ended["status"].startswith(f"exited with {int(failed)}")
    page.has("running", 0)


def test_a_command_that_ends_before_its_start_is_published_is_published_once(
    lab: Lab, page: StatePage
) -> None:
    """A listener before the page's waits until the command has ended."""
    lab.run("%tools mode yolo")
    lab.run(
        "import time\n"
        "def wait(job):\n"
        "    end = time.monotonic() + 60\n"
        "    while not job.state().has_ended and time.monotonic() < end: time.sleep(0.01)\n"
        "tools.session.workspace.job_listeners.insert(0, wait)"
    )
    lab.run("%tool shell --background true")
    lab.run("%tool shell --background false")
    assert [ended["subject"] for ended in page.has("ended", 2)] == ["true", "false"]


def test_a_page_that_does_not_report_gets_no_second_snapshot(lab: Lab, page: StatePage) -> None:
    silent = StatePage(lab, reports=False)
    silent.until(lambda: silent.snapshots == 1)
    for mode in ("plan", "default", "plan"):
        lab.run(f"%tools mode {mode}")
        page.until(lambda mode=mode: page.state["rules"]["mode"] == mode)
    silent.read()
    assert silent.snapshots == 1
    silent.report()
    silent.until(lambda: silent.state["rules"]["mode"] == "plan")
    assert silent.snapshots == 2


def test_snapshots_are_throttled_and_unchanged_parts_are_left_out(lab: Lab, page: StatePage) -> None:
    before = page.snapshots
    lab.run(
        "import time\nbegan = time.monotonic()\nfor _ in range(200): tools.ls()\nseconds = time.monotonic() - began"
    )
    lab.run("%tools mode plan")
    page.until(lambda: page.state["rules"]["mode"] == "plan")
    assert page.snapshots - before <= 10 * lab.value("seconds") + 5
    last = [message["params"] for message in lab.received[page.comm] if message.get("event") == "state"][-1]
    assert last["changes"] is None


def test_a_new_folder_has_its_own_state(lab: Lab, page: StatePage, project: Path) -> None:
    (project / "inner").mkdir()
    lab.run("%tools workspace inner")
    page.until(lambda: page.state["folder"].endswith("inner"))


def test_servers_of_the_project_start_only_when_trusted(lab: Lab, page: StatePage, project: Path) -> None:
    entry = {"command": "no-such-program-here", "args": ["--secret", "x"]}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": entry}}))
    assert page.ask("start")["problem"] == ""
    (server,) = page.has("servers", 1)
    assert (server["name"], server["state"], "trust" in server["verbs"], "connect" in server["verbs"]) == (
        "shop",
        "not trusted",
        True,
        False,
    )
    reply = page.ask("server", name="shop", verb="trust")
    assert any("no-such-program-here" in line for line in reply["confirm"]["lines"])
    assert page.state["servers"][0]["state"] == "not trusted"
    page.ask("confirm", token=reply["confirm"]["token"])
    page.until(lambda: page.state["servers"][0]["state"] == "failed")
    assert page.state["servers"][0]["problem"]
    page.ask("server", name="shop", verb="distrust")
    page.until(lambda: page.state["servers"][0]["state"] == "not trusted")


def test_hostile_names_arrive_as_visible_text(lab: Lab, page: StatePage) -> None:
    lab.run("%tools mode auto_edit")
    lab.run("tools.write(path='a\\u202eb<img src=x>.txt', content='x')")
    (change,) = page.has("changes", 1)
    assert "\u202e" not in change["files"][0]["path"]
    assert "<img src=x>" in change["files"][0]["path"]


def test_pages_hear_of_unloading_and_follow_again_after_loading(lab: Lab, page: StatePage) -> None:
    waiting = StatePage(lab)
    lab.run("%unload_ext nbtools")
    for one in (page, waiting):
        one.until(lambda one=one: {"event": "unloaded", "params": {}} in lab.received[one.comm])
    lab.run("%load_ext nbtools\n%tools mode plan")
    page.send("state.follow")
    page.until(lambda: page.state["rules"]["mode"] == "plan")


def test_one_pages_failure_leaves_the_others_their_state(lab: Lab) -> None:
    broken, other = StatePage(lab), StatePage(lab)
    lab.run(
        f"import comm\npage = comm.get_comm_manager().comms[{broken.comm!r}]\n"
        "def fail(*_, **__): raise RuntimeError('page')\npage.send = fail"
    )
    lab.run("%tool ls")
    other.until(lambda: "rules" in other.state)
    late = StatePage(lab)
    late.until(lambda: "rules" in late.state)
    lab.run(f"comm.get_comm_manager().comms[{late.comm!r}].send = fail")
    lab.run("%tools mode plan")
    other.until(lambda: other.state["rules"]["mode"] == "plan")
