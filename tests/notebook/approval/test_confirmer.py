"""Questions in a real kernel, clicked as JupyterLab clicks them."""

from __future__ import annotations

import pytest

from tests.notebook.conftest import card_in

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = 1'"


def cart(project):
    return (project / "src" / "cart.py").read_text()


def test_an_edit_waits_for_a_yes_and_leaves_the_record(lab, project):
    cell = lab.start(EDIT + "\nprint('after')")
    lab.until(lambda: lab.question("once"))
    assert "total = 0" in cart(project)
    lab.until(lambda: "Needs your answer" in cell.text)
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert "total = 1" in cart(project)
    assert "Approved once by you" in cell.text
    assert cell.text.rstrip().endswith("after")
    assert cell.count("display_data") == 1
    (card, _) = cell.outputs
    assert set(card["data"]) == {"application/vnd.nbtools.call.v1+json", "text/html", "text/plain"}


def test_the_question_is_one_widget_with_its_card_and_its_buttons(lab):
    cell = lab.start(EDIT)
    question = lab.until(lab.question)
    asked, choices = lab.question_data(question), lab.choices(question)
    assert list(choices) == ["once", "always", "folder", "modify", "deny"]
    assert [choice["label"] for choice in choices.values()] == [
        "Approve once",
        "Always allow edit",
        "Always allow in src/",
        "Modify…",
        "Deny",
    ]
    assert choices["folder"]["rules"] == ["edit(src/**)"]
    assert asked["card"]["note"].startswith("Approval required: ")
    lab.until(lambda: cell.outputs)
    assert asked["card"] == card_in(cell.outputs[0]["data"])
    assert {state["_model_module"] for state in lab.widgets.values()} == {
        "anywidget",
        "@jupyter-widgets/base",
    }
    lab.answer_with("deny")


def test_a_question_that_cannot_be_shown_ends_the_call(lab, project):
    """In a checkout whose front end was not built."""
    patch = (
        "import nbtools.notebook.approval.widget as w, pathlib\n"
        "built, w._STATIC = w._STATIC, pathlib.Path('absent')\n"
        "w._widget_class.cache_clear()"
    )
    assert lab.run(patch).error == ""
    cell = lab.run(EDIT)
    assert "was not built" in cell.text
    assert "total = 0" in cart(project)
    assert lab.run("w._STATIC = built").error == ""


def test_a_refused_answer_leaves_the_question_open(lab, project):
    cell = lab.start("%tool delete notes.txt")
    question = lab.until(lab.question)
    own = lab.question_data(question)["id"]
    for message in (
        {"question": own, "outcome": "server"},
        {"question": "another", "outcome": "once"},
        {"question": own, "outcome": "once", "rules": ["shell"]},
        {"question": own, "outcome": "modify", "text": "{"},
        {"question": own, "edit": False},
        {},
    ):
        reply = lab.reply(question, message)
        assert reply["question"] == own
        assert reply["problem"]
        assert reply["editable"] is None
    for message in ("once", None, [own]):
        lab.send(question, message)
    lab.for_a_while(0.3)
    assert not cell.done
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    assert (project / "notes.txt").exists()
    assert lab.value("tools._runtime.questions.current()") == ()


def test_the_question_can_be_read_without_widgets(lab):
    cell = lab.start(EDIT)
    lab.until(
        lambda: (
            "application/vnd.jupyter.widget-view+json" in cell.outputs[0]["data"] if cell.outputs else False
        )
    )
    data = cell.outputs[0]["data"]
    assert "Needs your answer" in data["text/html"]
    assert "Needs your answer" in data["text/plain"]
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    assert "application/vnd.jupyter.widget-view+json" not in cell.outputs[0]["data"]


@pytest.mark.parametrize(
    "code",
    [
        "def deep():\n    return tools.write('out.txt', 'x')\nr = deep()",
        "for _ in range(1):\n    r = tools.write('out.txt', 'x')",
        "r = [tools.write('out.txt', 'x') for _ in range(1)][0]",
        "r = max([1], key=lambda _: tools.write('out.txt', 'x').ok)",
        "r = await tools.write.start('out.txt', 'x')",
        "import asyncio\nawait asyncio.sleep(0)\nr = tools.write('out.txt', 'x')",
        "if True:\n    r = %tool write out.txt x",
        "%%tool write out.txt\nx",
    ],
)
def test_it_asks_at_any_depth(lab, project, code):
    cell = lab.start(code)
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert cell.error == ""
    assert (project / "out.txt").read_text().strip() == "x"


def test_no_means_that_nothing_happens(lab, project):
    cell = lab.start(f"r = {EDIT}\nprint(r.error.code)")
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    assert "total = 0" in cart(project)
    assert "Denied by you" in cell.text
    assert "confirmation_denied" in cell.text


def test_a_function_raises_the_no(lab):
    cell = lab.start("tools.write('out.txt', 'x')")
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    assert cell.error == "ToolFailure"


def test_modify_then_approve_applies_the_changed_text(lab, project):
    cell = lab.start(EDIT)
    first = lab.until(lab.question)
    editable = lab.editable(first)
    assert editable["original"] == cart(project)
    assert editable["proposed"] == cart(project).replace("total = 0", "total = 1")
    lab.answer_with("modify", text=editable["proposed"].replace("total = 1", "total = 2"))
    second = lab.until(lab.question)
    assert "total = 2" in cell.text
    assert (
        bool(lab.question_data(second)["changes"]),
        lab.question_data(second)["id"] == lab.said[first],
    ) == (True, False)
    assert "total = 0" in cart(project)
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert "total = 2" in cart(project)


def test_the_second_question_about_a_write_whose_file_changed_shows_no_changes_of_the_person(lab, project):
    cell = lab.start("%tool write notes.txt mine")
    first = lab.question_data(lab.until(lambda: lab.question("once")))
    (project / "notes.txt").write_text("theirs")
    lab.answer_with("once")
    again = lab.question_data(lab.until(lambda: lab.question("once")))
    assert (first["changes"], again["changes"]) == (None, None)
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert (project / "notes.txt").read_text() == "mine"


def test_a_command_is_modified_as_text(lab):
    cell = lab.start("r = %tool shell echo one")
    editable = lab.editable(lab.until(lab.question))
    assert (editable["proposed"], editable["original"], editable["path"]) == ("echo one", "", "")
    lab.answer_with("modify", text="echo two")
    lab.answer_with("once")
    lab.until(lambda: cell.done)
    assert "two" in cell.text


def test_always_asks_no_second_time(lab):
    cell = lab.start("%tool shell echo one\n%tool shell echo two")
    assert lab.choices(lab.until(lab.question))["always"]["label"] == "Always allow echo"
    lab.answer_with("always")
    lab.until(lambda: cell.done)
    assert cell.error == ""
    assert "two" in cell.text
    assert "shell(echo:*)" in lab.run("%tools grants").text


def test_always_in_a_folder_grants_no_more(lab):
    cell = lab.start(EDIT)
    assert "edit(src/**)" in lab.choices(lab.until(lab.question))["folder"]["tip"]
    lab.answer_with("folder")
    lab.until(lambda: cell.done)
    grants = lab.run("%tools grants").text
    assert "edit(src/**)" in grants
    assert lab.value("tools._runtime.session.grants") == ("edit(src/**)",)


def test_a_grant_for_later_sessions_is_stored(lab):
    cell = lab.start("%tool shell echo one")
    lab.answer_with("always", remember=True)
    lab.until(lambda: cell.done)
    assert lab.value("tools._runtime.session.saved_grants") == ("shell(echo:*)",)
    lab.run("%tools revoke shell(echo:*)")
    assert lab.value("tools._runtime.session.saved_grants") == ()


def test_two_waiting_cards_are_independent(lab, project):
    code = "import asyncio\nawait asyncio.gather(tools.write.start('a.txt', 'a'), tools.write.start('b.txt', 'b'), return_exceptions=True)"
    cell = lab.start(code)
    lab.until(lambda: len(lab.questions()) == 2)
    newest = lab.question_data(lab.questions()[-1])["card"]["subject"]
    lab.answer_with("once")
    assert len(lab.questions()) == 1
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    approved, denied = ("a.txt", "b.txt") if "a.txt" in newest else ("b.txt", "a.txt")
    assert (project / approved).exists()
    assert not (project / denied).exists()


def test_a_late_click_is_ignored(lab, project):
    cell = lab.start("%tool write one.txt x")
    question = str(lab.until(lab.question))
    lab.say(question, "deny")
    lab.say(question, "once")
    lab.until(lambda: cell.done)
    lab.say(question, "once")
    second = lab.start("%tool write two.txt x")
    lab.until(lambda: lab.question("once"))
    lab.say(question, "once")
    lab.for_a_while(0.3)
    assert not second.done
    lab.answer_with("deny")
    lab.until(lambda: second.done)
    assert "Denied" in cell.text
    assert not (project / "one.txt").exists()
    assert not (project / "two.txt").exists()


def test_widgets_leave_nothing_behind(lab):
    cell = lab.start("%tool write one.txt x")
    lab.answer_with("deny")
    lab.until(lambda: cell.done)
    lab.run("pass")
    assert lab.widgets == {}


def test_later_cells_wait_behind_a_question(lab, project):
    first = lab.start("%tool write one.txt x")
    second = lab.start("print('second')")
    lab.until(lambda: lab.question("once"))
    lab.for_a_while(0.3)
    assert not second.done
    lab.answer_with("once")
    lab.until(lambda: second.done)
    assert first.reply["execution_count"] < second.reply["execution_count"]


@pytest.mark.parametrize(
    "code",
    ["%tool write one.txt x", "await tools.write.start('one.txt', 'x')", "tools.write('one.txt', 'x')"],
)
def test_a_request_that_nobody_can_answer_ends_at_once(lab, project, code):
    cell = lab.run(code, stdin=False)
    assert cell.error == ("" if code.startswith("%") else "ToolFailure")
    assert "nobody to ask" in cell.text
    assert '%tools allow "write"' in cell.text
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0
    assert not (project / "one.txt").exists()


def test_a_question_that_nobody_can_answer_advises_to_continue(lab):
    cell = lab.run('%tool ask "Really?"', stdin=False)
    assert cell.error == ""
    assert "Continue with your best judgement" in cell.text
    assert "Really?" in cell.text
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0


def test_asking_can_be_switched_off(lab):
    cell = lab.run("%tools confirm deny\n%tool write one.txt x")
    assert "nobody to ask" in cell.text
    lab.run("%tools confirm auto")


def test_a_console_gets_the_request_as_text(lab, project):
    cell = lab.start("%tool write one.txt x", cell_id=None)
    assert (
        lab.answer("a")
        == "[y]es once / [a]lways allow write (aa: remember for this project) / [m]odify / [n]o: "
    )
    lab.until(lambda: cell.done)
    assert (project / "one.txt").exists()
    assert lab.widgets == {}


def test_the_cell_that_loads_the_extension_asks_in_text(bare, tmp_path):
    cell = bare.start("%load_ext nbtools\n%tool write one.txt x")
    assert "[y]es once" in bare.answer("y")
    bare.until(lambda: cell.done)
    assert (tmp_path / "one.txt").exists()


def test_a_captured_cell_gets_the_request_as_text(lab, project):
    cell = lab.start("%%capture out\n%tool write one.txt x")
    lab.answer("y")
    lab.until(lambda: cell.done)
    assert (project / "one.txt").exists()
    assert "Approved once" in lab.run("out.show()").text


def test_a_restart_while_it_asks_changes_nothing(bare, tmp_path):
    bare.run("%load_ext nbtools")
    bare.start("%tool write one.txt x")
    bare.until(bare.question)
    bare.manager.restart_kernel(now=False)
    bare.client.wait_for_ready(timeout=60)
    assert not (tmp_path / "one.txt").exists()
    assert bare.run("%load_ext nbtools\n%tool ls").error == ""
