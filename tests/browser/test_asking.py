"""Questions: what a person sees, presses and gets."""

from __future__ import annotations

import re

import pytest_asyncio
from playwright.async_api import expect

from tests.browser.project import CART
from tests.waiting import eventually

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
EDITED = CART.replace("total = 0", "total = Decimal(0)")


async def test_edits_are_approved_by_clicks_and_keys_after_which_the_notebook_has_the_keys(
    open_notebook, app
):
    """The focus is on the safe button; Esc denies, Y approves once, A always,
    and the focus comes back to the notebook.

    Other letters do nothing to the notebook, and its shortcuts with Control still work.
    """
    words = ("one", "two", "three")
    edits = [f"%tool edit notes.txt --old {word} --new {word.upper()}" for word in words]
    tab = await open_notebook(*READ_ON, EDIT, *edits, app=app)
    await goes_on_after_answers(tab)
    await tab.start(5)
    await expect(tab.question(5)).to_contain_text("Needs your answer")
    await tab.wait_for_questions(5)
    await expect(tab.question(5)).to_contain_text("total = Decimal(0)")
    assert tab.read("src/cart.py") == CART
    await tab.look(f"asking-edit-{app}", tab.cell(5))
    await tab.approve(5)
    await tab.done(5)
    await expect(tab.status(5)).to_have_text("Done")
    await expect(tab.record(5)).to_contain_text("Approved once by you")
    await expect(tab.question(5)).to_have_count(0)
    assert tab.read("src/cart.py") == EDITED
    await tab.look(f"record-edit-{app}", tab.cell(5))
    await tab.card(5).get_by_role("button", name="show diff").click()
    await expect(tab.card(5)).to_contain_text("total = Decimal(0)")
    await tab.look(f"record-edit-open-{app}", tab.cell(5))
    cells = await tab.panel.locator(".jp-Cell").count()
    for index, keys in enumerate(
        (["d", "d", "x", "b", "Shift", "Control+s", "Escape"], ["y"], ["a"]), start=6
    ):
        await tab.start(index)
        await tab.keys_count(index)
        for key in keys:
            await tab.page.keyboard.press(key)
            if key == "Control+s":
                await tab.page.wait_for_function(
                    "window.jupyterapp.shell.currentWidget.context.model.dirty === false"
                )
                await expect(tab.panel.locator(".jp-Cell")).to_have_count(cells)
                await expect(tab.question(index)).to_be_visible()
        await tab.done(index)
        await expect(tab.question(index)).to_have_count(0)
        await expect(tab.panel.locator(":focus")).not_to_have_count(0)
    await expect(tab.status(6)).to_have_text("Denied")
    await expect(tab.record(7)).to_contain_text("Approved once")
    await expect(tab.record(8)).to_contain_text("Approved by you, and always from now on")
    assert tab.read("notes.txt") == "one\nTWO\nTHREE\n"


READ_ON = (
    *("%tool edit README.md --old TODO --new DONE", "'after a key'"),
    *("%tool edit README.md --old knows --new tells", "'after a click'"),
)


async def goes_on_after_answers(tab):
    """Shift+Enter after an answer runs the next cell."""
    for index in (1, 3):
        await tab.cell(index).locator(".cm-content").click()
        await tab.page.keyboard.press("Shift+Enter")
        await tab.keys_count(index)
        if index == 1:
            await tab.page.keyboard.press("y")
        else:
            await tab.approve(index)
        await tab.done(index)
        await expect(tab.question(index)).to_have_count(0)
        await expect(tab.cell(index + 1)).to_have_class(re.compile("jp-mod-active"))
        await tab.page.keyboard.press("Shift+Enter")
        await expect(tab.output(index + 1)).to_contain_text("after a key" if index == 1 else "after a click")
    assert "tells what it costs.\n\nDONE" in tab.read("README.md")


async def test_calls_in_a_function_in_a_comprehension_ask_one_after_the_other(open_cells):
    code = """\
def shout(word):
    for path in ["notes.txt"]:
        return tools.edit(path, old=word, new=word.upper()).ok

[shout(word) for word in ("one", "two")]"""
    tab = await open_cells(code)
    await tab.start(1)
    for count in (1, 2):
        await expect(tab.question(1)).to_contain_text(("ONE", "TWO")[count - 1])
        await tab.approve(1)
        await expect(tab.card(1)).to_have_count(count)
    await tab.done(1)
    await expect(tab.output(1).last).to_contain_text("[True, True]")
    assert tab.read("notes.txt") == "ONE\nTWO\nthree\n"


async def test_a_cell_that_awaits_asks_too(open_cells):
    tab = await open_cells("(await tools.edit.start('notes.txt', old='two', new='2')).summary")
    await tab.start(1)
    await tab.approve(1)
    await tab.done(1)
    await expect(tab.record(1)).to_contain_text("Approved once by you")
    assert tab.read("notes.txt") == "one\n2\nthree\n"


async def test_a_modified_edit_needs_a_second_approval_and_writes_the_persons_text(open_cells):
    tab = await open_cells("%tool edit notes.txt --old two --new zwei")
    await tab.start(1)
    await tab.modify(1)
    editor = tab.question(1).locator(".nbtools-merge .cm-content")
    await expect(editor).to_contain_text("zwei")
    await expect(editor).to_be_focused()
    await tab.look("modify", tab.cell(1))
    await editor.fill("one\ndeux\nthree\nfour\n")
    await tab.answer(1, "Update proposal")
    await expect(tab.question(1)).to_contain_text("deux")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"
    await tab.look("modified", tab.cell(1))
    await tab.approve(1)
    await tab.done(1)
    await expect(tab.record(1)).to_contain_text("with your changes")
    assert tab.read("notes.txt") == "one\ndeux\nthree\nfour\n"


async def test_a_modified_command_runs_as_the_person_left_it(open_cells):
    tab = await open_cells("%tool shell echo first > out.txt && cat notes.txt")
    await tab.start(1)
    await tab.wait_for_questions(1)
    await tab.look("asking-command", tab.cell(1))
    await tab.modify(1)
    await tab.question(1).locator("textarea").fill("echo second > out.txt")
    await tab.answer(1, "Update proposal")
    await expect(tab.question(1)).to_contain_text("echo second")
    await tab.approve(1)
    await tab.done(1)
    assert tab.read("out.txt") == "second\n"


SECOND_VIEW = """async () => {
    const view = document.body.appendChild(Object.assign(document.createElement('div'), { className: 'cell' }));
    const output = view.appendChild(document.querySelector('.cell[data-index="1"] > .output').cloneNode(false));
    const [id] = [...window.cells.models].find(([, model]) => model.get('question'));
    await window.cells.draw(output, { 'application/vnd.jupyter.widget-view+json': { model_id: id } });
}"""


async def test_going_back_from_modifying_asks_the_same(open_cells):
    """The editor opens in the view where the person asks for it,
    and not in another view of the same output.
    """
    tab = await open_cells(EDIT)
    await tab.start(1)
    await tab.wait_for_questions(1)
    await tab.page.evaluate(SECOND_VIEW)
    views = tab.page.locator(".nbtools-asking")
    await expect(views).to_have_count(2)
    await tab.modify(1)
    await tab.question(1).locator(".nbtools-merge .cm-content").fill("nonsense")
    await expect(views.locator(".nbtools-merge")).to_have_count(1)
    await tab.answer(1, "Back")
    await tab.approve(1)
    await tab.done(1)
    assert tab.read("src/cart.py") == EDITED


async def test_deny_changes_nothing(open_cells):
    tab = await open_cells(EDIT)
    await tab.start(1)
    await tab.deny(1)
    await tab.done(1)
    await expect(tab.status(1)).to_have_text("Denied")
    await expect(tab.record(1)).to_contain_text("Denied by you")
    assert tab.read("src/cart.py") == CART
    await tab.look("declined", tab.cell(1))


async def test_always_asks_no_second_time(open_cells):
    tab = await open_cells(EDIT, "%tool edit notes.txt --old two --new 2", "%tools grants")
    await tab.start(1)
    await tab.always(1, "edit")
    await tab.done(1)
    await expect(tab.record(1)).to_contain_text("Approved by you, and always from now on")
    await tab.run(2)
    await expect(tab.record(2)).to_contain_text("Allowed by grant edit")
    await expect(tab.status(2)).to_have_text("Done")
    assert tab.read("notes.txt") == "one\n2\nthree\n"
    await tab.run(3)
    await tab.look("always")


async def test_the_diff_is_seen_as_one_column_too(open_cells):
    tab = await open_cells(EDIT)
    await tab.start(1)
    diff = tab.question(1).locator(".nbtools-diff")
    await expect(diff).to_have_attribute("data-layout", "split")
    await tab.question(1).get_by_role("button", name="unified").click()
    await expect(diff).to_have_attribute("data-layout", "unified")
    await expect(tab.question(1)).to_contain_text("Decimal(0)")
    await tab.look("asking-unified", tab.cell(1))
    await tab.deny(1)
    await tab.done(1)


async def test_a_command_is_spelled_out(open_cells):
    tab = await open_cells('%tool shell git add -A && git commit -m "totals as decimals" | tee ../log.txt')
    await tab.start(1)
    await expect(tab.question(1)).to_contain_text("git commit")
    await expect(tab.question(1)).to_contain_text("outside")
    await tab.look("asking-command-parts", tab.cell(1))
    await tab.deny(1)
    await tab.done(1)
    assert not (tab.folder.parent / "log.txt").exists()


async def test_two_questions_are_answered_in_any_order(open_cells):
    code = """\
first = tools.edit.background("notes.txt", old="one", new="1")
second = tools.edit.background("README.md", old="# Cart", new="# The cart")"""
    tab = await open_cells(code, "first.result().ok, second.result().ok")
    await tab.run(1)
    await tab.wait_for_questions(1, 2)
    await tab.look("two-questions", tab.cell(1))
    await tab.approve(tab.question(1).nth(1))
    await expect(tab.question(1)).to_have_count(1)
    await expect(tab.record(1)).to_contain_text("Approved once by you")
    await expect(tab.status(1).filter(has_text="Done")).to_have_count(1)
    assert tab.read("README.md").startswith("# The cart\n")
    assert tab.read("notes.txt").startswith("one\n")
    await tab.approve(1)
    await expect(tab.record(1)).to_have_count(2)
    await tab.run(2)
    await expect(tab.output(2)).to_have_text("(True, True)")
    assert tab.read("notes.txt").startswith("1\n")


LATER = """\
import asyncio, pathlib

async def later():
    while not pathlib.Path("go").exists():
        await asyncio.sleep(0.05)
    await tools.edit.start("notes.txt", old="two", new="2")

job = asyncio.create_task(later())"""


async def test_run_all_waits_at_a_question_late_clicks_mean_nothing_and_who_writes_keeps_the_focus(
    open_notebook,
):
    after = "print('after', open('src/cart.py').read().count('Decimal'))"
    tab = await open_notebook(EDIT, after, "%tool edit notes.txt --old two --new 2", "1 + 1", LATER, "")
    await tab.run_all()
    await expect(tab.question(1)).to_be_visible()
    await tab.is_busy(2)
    await expect(tab.output(2)).to_have_count(0)
    await tab.approve(1)
    await tab.done(1, 2)
    await tab.page.evaluate(
        "window.late = []; document.addEventListener('mousedown', event => window.late.push(event.detail))"
    )
    await tab.page.mouse.down(click_count=2)  # the result is there now
    await tab.page.mouse.up(click_count=2)
    assert await tab.page.evaluate("window.late") == []
    await expect(tab.output(2)).to_have_text(re.compile("after 1"))
    assert tab.read("src/cart.py") == EDITED
    approve = await tab.approve_button(3).element_handle()
    await tab.press("interrupt")
    await tab.done(3)
    await approve.evaluate("button => button.click()")
    await tab.run(4)
    await expect(tab.output(4)).to_have_text("2")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"

    await tab.run(5)
    await tab.cell(6).locator(".cm-content").click()
    await tab.page.keyboard.type("why = 1")
    (tab.folder / "go").touch()
    await expect(tab.question(5)).to_be_visible()
    await tab.page.keyboard.type("  # yes, and no")
    await expect(tab.cell(6).locator(".cm-content")).to_have_text("why = 1  # yes, and no")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"
    await tab.approve(5)
    await expect(tab.status(5)).to_have_text("Done")
    assert tab.read("notes.txt") == "one\n2\nthree\n"


CLICK_THE_NEXT = """() => {
    const approve = () => document.querySelector('.nbtools-asking .nbtools-approve');
    const first = approve();
    const timer = setInterval(() => {
        const next = approve();
        if (next && next !== first) {
            clearInterval(timer);
            next.click();
            window.clickedNext = true;
        }
    }, 5);
}"""
"""Clicks on what approves the next question as soon as that is there."""


async def test_a_double_click_answers_one_question(open_cells):
    """At the lower end of the window, the buttons of the next question come where those of this one were."""
    tab = await open_cells("for name in 'ab':\n    tools.shell(f'touch {name}')")
    await tab.start(1)
    await tab.page.evaluate("window.clickedNext = false")
    approve = tab.approve_button(1)
    await expect(approve).to_be_visible()
    await tab.page.evaluate(CLICK_THE_NEXT)
    await approve.click()
    await tab.page.wait_for_function("window.clickedNext")
    await approve.click(trial=True)  # waits until it can be clicked on
    await expect(tab.question(1)).not_to_have_attribute("aria-busy", "true")
    assert not (tab.folder / "b").exists()
    await approve.click()
    await tab.done(1)
    assert (tab.folder / "b").exists()


DELETE = "%tool delete src/cart.py"
SHELL = "%tool shell touch a && python3 -m unittest --verbose"
TALL = "%%tool write src/cart.py\n" + "\n".join(f"line_{i} = {i}" for i in range(300))
FILLER = tuple(f"# {i}\nprint('\\n' * 12)" for i in range(6))
IN_VIEW = """node => {
    const { top, bottom } = node.getBoundingClientRect();
    const notebook = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer');
    const outer = notebook?.getBoundingClientRect() ?? { top: 0, bottom: innerHeight };
    return top >= outer.top - 1 && bottom <= outer.bottom + 1;
}"""
WHOLE = "buttons => buttons.every(one => one.scrollWidth <= one.clientWidth + 1 && one.scrollHeight <= one.clientHeight + 1)"


@pytest_asyncio.fixture(loop_scope="session")
async def sized(lab):
    """Sets the window's size; the file browser is open, as it is for most people."""
    before = lab.viewport_size

    async def sized(width, height):
        await lab.evaluate("window.jupyterapp.shell.activateById('filebrowser')")
        await lab.set_viewport_size({"width": width, "height": height})

    yield sized
    await lab.set_viewport_size(before)
    await lab.evaluate("window.jupyterapp.shell.collapseLeft()")


async def test_a_question_comes_with_its_head_and_its_buttons_whole_and_in_view(open_notebook, sized):
    """At the end of the notebook, where running a cell goes on to a new one below it."""
    tab = await open_notebook(*FILLER, TALL)
    await sized(800, 700)
    first = len(FILLER) + 1
    await tab.run_all()
    await tab.deny(first)
    await tab.done(first)
    for last, (code, subject) in enumerate(
        ((TALL, "src/cart.py"), (DELETE, "src/cart.py"), (SHELL, "in the workspace")), start=first
    ):
        await tab.cell(last).locator(".cm-content").click()
        if last > first:
            await tab.page.keyboard.insert_text(code)
        await tab.page.keyboard.press("Shift+Enter")
        await expect(tab.question(last).locator(".nbtools-cancel")).to_be_focused()
        await tab.automatic_scrolling_ends()  # until then, the notebook too may scroll to its new cell
        head = tab.question(last).locator(".nbtools-head")
        await eventually(True, head.evaluate, IN_VIEW)
        await eventually(True, tab.question(last).locator(".nbtools-approve").evaluate, IN_VIEW)
        await eventually(True, tab.question(last).locator(".nbtools-buttons button").evaluate_all, WHOLE)
        await expect(head).to_contain_text(subject)
        await tab.look(f"end-{last}")
        await tab.deny(last)
        await tab.done(last)
        await eventually(True, tab.status(last).evaluate, IN_VIEW)


async def test_an_answer_that_the_kernel_refuses_is_explained_in_the_question_and_nothing_is_lost(open_cells):
    tab = await open_cells("%tool delete notes.txt")
    await tab.start(1)
    await tab.keys_count(1)
    await tab.page.keyboard.press("m")
    editor = tab.question(1).locator("textarea.nbtools-editor")
    await editor.fill('{"path": ')
    await tab.answer(1, "Update proposal")
    await expect(tab.question(1).get_by_role("alert")).to_contain_text("not valid JSON")
    await expect(editor).to_have_value('{"path": ')
    await tab.look("refused", tab.cell(1))
    await editor.press("Escape")
    await expect(tab.question(1).get_by_role("button", name="Modify…")).to_be_focused()
    await expect(tab.question(1).get_by_role("alert")).to_have_count(0)
    await tab.deny(1)
    await tab.done(1)
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"


async def test_after_a_reason_and_enter_the_next_question_has_the_focus(open_cells):
    tab = await open_cells("%tool edit notes.txt --old one --new 1\n%tool edit notes.txt --old two --new 2")
    await tab.start(1)
    await tab.keys_count(1)
    reason = tab.question(1).get_by_role("textbox", name="Reason")
    await reason.click()
    await tab.page.keyboard.type("y not")
    await tab.page.keyboard.press("Enter")
    await expect(tab.record(1).first).to_contain_text("“y not”")
    await tab.keys_count(1)
    await tab.page.keyboard.press("Escape")
    await tab.done(1)
    await expect(tab.status(1)).to_have_text(["Denied", "Denied"])
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"


SEVERAL = """\
await asyncio.gather(*(
    tools.edit.start("notes.txt", old=word, new=word.upper()) for word in ("one", "two", "three")
))"""


async def test_a_quick_second_key_does_not_approve_the_next_question(open_cells):
    """The keys are pressed by a script in the page, as fast as a person who holds no key down can be."""
    tab = await open_cells(f"import asyncio\n{SEVERAL}")
    await tab.start(1)
    await tab.wait_for_questions(1, 3)
    await tab.page.wait_for_function("document.activeElement?.closest('.nbtools-asking')")
    await tab.keys_pass()
    await tab.page.evaluate("""async () => {
        const questions = document.querySelectorAll('.nbtools-asking').length;
        const press = () => document.activeElement.dispatchEvent(
            new KeyboardEvent('keydown', { key: 'y', bubbles: true, cancelable: true, composed: true }));
        press();
        while (document.querySelectorAll('.nbtools-asking').length === questions
               || !document.activeElement.closest('.nbtools-asking')) {
            await new Promise(requestAnimationFrame);
        }
        press();
    }""")
    await tab.keys_pass()
    await tab.wait_for_questions(1, 2)
    await expect(tab.question(1).locator(":focus")).to_have_count(1)
    await tab.page.keyboard.press("y")  # after the grace period it counts
    await tab.wait_for_questions(1, 1)
    await tab.keys_pass()
    await tab.page.keyboard.press("Escape")
    await tab.done(1)
    assert sum(word in tab.read("notes.txt") for word in ("one", "two", "three")) == 1


async def test_always_answers_the_questions_beside_it(open_cells):
    tab = await open_cells(f"import asyncio\n{SEVERAL}")
    await tab.start(1)
    await tab.wait_for_questions(1, 3)
    await tab.always(tab.question(1).nth(1), "edit")
    await tab.done(1)
    await expect(tab.question(1)).to_have_count(0)
    assert tab.read("notes.txt") == "ONE\nTWO\nTHREE\n"
    await expect(tab.record(1).filter(has_text="Allowed by grant edit")).to_have_count(2)


async def test_the_coverage_of_always_is_shown_below_the_buttons(open_cells):
    tab = await open_cells(
        "%tool shell git add -A", "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
    )
    await tab.start(1)
    await tab.wait_for_questions(1)
    await expect(tab.question(1).locator(".nbtools-rules code")).to_have_text("shell(git add:*)")
    await tab.look("rules-command", tab.cell(1))
    await tab.deny(1)
    await tab.start(2)
    await expect(tab.question(2).locator(".nbtools-rules code")).to_have_text(["edit", "edit(src/**)"])
    await tab.look("rules-edit", tab.cell(2))
    await tab.deny(2)
    await tab.done(2)
