"""Questions in a real kernel, clicked as JupyterLab clicks them."""

from __future__ import annotations

import pytest

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = 1'"


def cart(project):
    return (project / "src" / "cart.py").read_text()


def test_an_edit_waits_for_a_yes_and_leaves_the_record(lab, project):
    cell = lab.start(EDIT + "\nprint('after')")
    lab.until(lambda: lab.button("approve"))
    assert "total = 0" in cart(project)
    assert "Needs your answer" in cell.text
    lab.answer_with("approve")
    lab.until(lambda: cell.done)
    assert "total = 1" in cart(project)
    assert "Approved once by you" in cell.text
    assert cell.text.rstrip().endswith("after")
    assert cell.count("display_data") == 1
    (card, _) = cell.outputs
    assert set(card["data"]) == {"application/vnd.nbtools.call.v1+json", "text/html", "text/plain"}


def test_the_question_has_the_classes_that_the_frontend_relies_on(lab):
    lab.start(EDIT)
    lab.until(lambda: lab.button("asking"))
    states = list(lab.widgets.values())
    by_role = {name.removeprefix("nbtools-"): state for state in states for name in state.get("_dom_classes", ())}
    buttons = {"approve", "always", "folder", "modify", "cancel"}
    assert set(by_role) == {"asking", "heading", "body", "view", "foot", "buttons", *buttons, "aside", "later", "reason", "note"}
    assert by_role["approve"]["description"] == "Approve once"
    assert by_role["always"]["description"] == "Always allow edit"
    assert by_role["folder"]["description"] == "Always allow in src/"
    assert by_role["modify"]["description"] == "Modify…"
    assert by_role["cancel"]["description"] == "Deny"
    assert "Approval required: <b>" in by_role["note"]["value"]
    assert by_role["view"]["_options_labels"] == ["Side by side", "Unified"]
    split = by_role["body"]["value"]
    lab.set("view", index=1)
    lab.until(lambda: by_role["body"]["value"] != split)
    lab.answer_with("cancel")


def test_the_question_can_be_read_without_widgets(lab):
    cell = lab.start(EDIT)
    lab.until(lambda: "application/vnd.jupyter.widget-view+json" in cell.outputs[0]["data"] if cell.outputs else False)
    data = cell.outputs[0]["data"]
    assert "Needs your answer" in data["text/html"]
    assert "Needs your answer" in data["text/plain"]
    lab.answer_with("cancel")
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
    lab.answer_with("approve")
    lab.until(lambda: cell.done)
    assert cell.error == ""
    assert (project / "out.txt").read_text().strip() == "x"


def test_no_means_that_nothing_happens(lab, project):
    cell = lab.start(f"r = {EDIT}\nprint(r.error.code)")
    lab.answer_with("cancel")
    lab.until(lambda: cell.done)
    assert "total = 0" in cart(project)
    assert "Denied by you" in cell.text
    assert "confirmation_denied" in cell.text


def test_a_function_raises_the_no(lab):
    cell = lab.start("tools.write('out.txt', 'x')")
    lab.answer_with("cancel")
    lab.until(lambda: cell.done)
    assert cell.error == "ToolFailure"


def test_modify_then_approve_applies_the_changed_text(lab, project):
    cell = lab.start(EDIT)
    lab.click("modify")
    text = lab.widgets[lab.until(lambda: lab.button("editor"))]["value"]
    assert text == cart(project).replace("total = 0", "total = 1")
    lab.set("editor", value=text.replace("total = 1", "total = 2"))
    lab.answer_with("apply")
    lab.until(lambda: "total = 2" in cell.text and lab.button("approve"))
    assert "total = 0" in cart(project)
    lab.answer_with("approve")
    lab.until(lambda: cell.done)
    assert "total = 2" in cart(project)


def test_modify_can_go_back(lab, project):
    cell = lab.start(EDIT)
    lab.click("modify")
    lab.click("back")
    lab.answer_with("approve")
    lab.until(lambda: cell.done)
    assert "total = 1" in cart(project)


def test_a_command_is_modified_as_text(lab):
    cell = lab.start("r = %tool shell echo one")
    lab.click("modify")
    assert lab.widgets[lab.until(lambda: lab.button("editor"))]["value"] == "echo one"
    lab.set("editor", value="echo two")
    lab.answer_with("apply")
    lab.answer_with("approve")
    lab.until(lambda: cell.done)
    assert "two" in cell.text


def test_always_asks_no_second_time(lab):
    cell = lab.start("%tool shell echo one\n%tool shell echo two")
    assert lab.widgets[lab.until(lambda: lab.button("always"))]["description"] == "Always allow echo"
    lab.answer_with("always")
    lab.until(lambda: cell.done)
    assert cell.error == ""
    assert "two" in cell.text
    assert "shell(echo:*)" in lab.run("%tools grants").text


def test_always_in_a_folder_grants_no_more(lab):
    cell = lab.start(EDIT)
    assert "edit(src/**)" in lab.widgets[lab.until(lambda: lab.button("folder"))]["tooltip"]
    lab.answer_with("folder")
    lab.until(lambda: cell.done)
    grants = lab.run("%tools grants").text
    assert "edit(src/**)" in grants
    assert lab.value("tools._runtime.session.grants") == ("edit(src/**)",)


def test_what_is_allowed_in_later_sessions_too_is_kept(lab):
    cell = lab.start("%tool shell echo one")
    lab.set("later", value=True)
    lab.answer_with("always")
    lab.until(lambda: cell.done)
    assert lab.value("tools._runtime.session.saved_grants") == ("shell(echo:*)",)
    lab.run("%tools revoke shell(echo:*)")
    assert lab.value("tools._runtime.session.saved_grants") == ()


def test_two_waiting_cards_are_independent(lab, project):
    code = "import asyncio\nawait asyncio.gather(tools.write.start('a.txt', 'a'), tools.write.start('b.txt', 'b'), return_exceptions=True)"
    cell = lab.start(code)
    lab.until(lambda: len(lab.all("asking")) == 2)
    newest = lab.widgets[lab.all("heading")[-1]]["value"]
    lab.answer_with("approve")
    assert len(lab.all("asking")) == 1
    lab.answer_with("cancel")
    lab.until(lambda: cell.done)
    approved, denied = ("a.txt", "b.txt") if "a.txt" in newest else ("b.txt", "a.txt")
    assert (project / approved).exists()
    assert not (project / denied).exists()


def test_a_late_click_is_ignored(lab, project):
    cell = lab.start("%tool write one.txt x")
    approve, cancel = (str(lab.until(lambda role=role: lab.button(role))) for role in ("approve", "cancel"))
    lab.click_model(cancel)
    lab.click_model(approve)
    lab.until(lambda: cell.done)
    lab.click_model(approve)
    second = lab.start("%tool write two.txt x")
    lab.until(lambda: lab.button("approve"))
    lab.click_model(approve)
    lab.for_a_while(0.3)
    assert not second.done
    lab.answer_with("cancel")
    lab.until(lambda: second.done)
    assert "Denied" in cell.text
    assert not (project / "one.txt").exists()
    assert not (project / "two.txt").exists()


def test_widgets_leave_nothing_behind(lab):
    cell = lab.start("%tool write one.txt x")
    lab.answer_with("cancel")
    lab.until(lambda: cell.done)
    lab.run("pass")
    assert lab.widgets == {}


def test_later_cells_wait_behind_a_question(lab, project):
    first = lab.start("%tool write one.txt x")
    second = lab.start("print('second')")
    lab.until(lambda: lab.button("approve"))
    lab.for_a_while(0.3)
    assert not second.done
    lab.answer_with("approve")
    lab.until(lambda: second.done)
    assert first.reply["execution_count"] < second.reply["execution_count"]


@pytest.mark.parametrize("code", ["%tool write one.txt x", "await tools.write.start('one.txt', 'x')", "tools.write('one.txt', 'x')"])
def test_where_nobody_can_answer_it_ends_at_once(lab, project, code):
    cell = lab.run(code, stdin=False)
    assert cell.error == ("" if code.startswith("%") else "ToolFailure")
    assert "nobody to ask" in cell.text
    assert '%tools allow "write"' in cell.text
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0
    assert not (project / "one.txt").exists()


def test_where_nobody_can_answer_a_question_it_says_to_go_on_alone(lab):
    cell = lab.run('%tool ask "Really?"', stdin=False)
    assert cell.error == ""
    assert "Continue with your best judgement" in cell.text
    assert "Really?" in cell.text
    assert cell.count("display_data") == 1
    assert cell.count("update_display_data") == 0


def test_what_widgets_say_while_a_cell_waits_is_acknowledged(lab):
    """Otherwise ipywidgets keeps a field's second change to itself."""
    cell = lab.start('%tool ask "Really?"')
    assert lab.until(lambda: lab.button("ask-text"))
    for text in ("y", "yes"):
        said = lab.set("ask-text", value=text)
        lab.until(lambda said=said: said.idle)
        assert not cell.done
    lab.answer_with("apply")
    lab.until(lambda: cell.done)
    assert "→ yes" in cell.text


def test_asking_can_be_switched_off(lab):
    cell = lab.run("%tools confirm deny\n%tool write one.txt x")
    assert "nobody to ask" in cell.text
    lab.run("%tools confirm auto")


def test_a_console_is_asked_in_text(lab, project):
    cell = lab.start("%tool write one.txt x", cell_id=None)
    assert lab.answer("a") == "[y]es once / [a]lways allow write (aa: remember for this project) / [m]odify / [n]o: "
    lab.until(lambda: cell.done)
    assert (project / "one.txt").exists()
    assert lab.widgets == {}


def test_the_cell_that_loads_the_extension_asks_in_text(bare, tmp_path):
    cell = bare.start("%load_ext nbtools\n%tool write one.txt x")
    assert "[y]es once" in bare.answer("y")
    bare.until(lambda: cell.done)
    assert (tmp_path / "one.txt").exists()


def test_a_captured_cell_is_asked_in_text(lab, project):
    cell = lab.start("%%capture out\n%tool write one.txt x")
    lab.answer("y")
    lab.until(lambda: cell.done)
    assert (project / "one.txt").exists()
    assert "Approved once" in lab.run("out.show()").text


def test_a_restart_while_it_asks_changes_nothing(bare, tmp_path):
    bare.run("%load_ext nbtools")
    bare.start("%tool write one.txt x")
    bare.until(lambda: bare.button("approve"))
    bare.manager.restart_kernel(now=False)
    bare.client.wait_for_ready(timeout=60)
    assert not (tmp_path / "one.txt").exists()
    assert bare.run("%load_ext nbtools\n%tool ls").error == ""
