"""The commands of nbtools: in the palette, with keys, and what they do."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.browser.test_opening import GREP

EDIT = '%tool edit src/cart.py --old "total = 0" --new "total = 0.0"'
SCROLLED_AWAY = """() => {
    const outer = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer');
    outer.scrollTo(0, outer.scrollHeight);
    return outer.querySelector('.nbtools-asking').getBoundingClientRect().bottom < outer.getBoundingClientRect().top;
}"""
"""Scrolls to the end, which is further away with each cell that is drawn."""
FOUND = """() => {
    const { commands } = window.jupyterapp;
    return commands.listCommands().filter(id => id.startsWith('nbtools:')).map(id => ({
        id, label: commands.label(id), caption: commands.caption(id)
    }));
}"""
DESCRIBED = """async () => {
    const { commands } = window.jupyterapp;
    const ids = commands.listCommands().filter(id => id.startsWith('nbtools:'));
    const described = await Promise.all(ids.map(id => commands.describedBy(id)));
    return ids.filter((id, index) => described[index].args === null);
}"""


async def test_the_palette_finds_commands_that_are_described_and_a_looser_mode_is_confirmed(open_notebook):
    """A stricter one is not."""
    tab = await open_notebook()
    await tab.command("apputils:activate-command-palette", wait=False)
    palette = tab.page.locator("#modal-command-palette, .jp-ModalCommandPalette").first
    await palette.locator("input").fill("nbtools")
    items = palette.locator(".lm-CommandPalette-item")
    for label in (
        "New Call…",
        "Load nbtools in This Notebook",
        "Undo the Last Change",
        "Keyboard Shortcuts of nbtools",
        "Set Mode plan",
    ):
        await expect(items.filter(has_text=label).first).to_be_attached()
    await tab.look("palette")
    await tab.page.keyboard.press("Escape")
    for command in await tab.page.evaluate(FOUND):
        assert command["label"], command
        assert command["caption"], command
    assert await tab.page.evaluate(DESCRIBED) == []

    await tab.command("nbtools:set-mode", mode="yolo", wait=False)
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text("yolo")
    await tab.page.keyboard.press("Enter")  # the safe button has the focus
    await expect(dialog).to_have_count(0)
    mode = "get_ipython().magics_manager.registry['ToolMagics']._runtime.session.mode.value"
    assert await tab.value(mode) == "default"
    await tab.command("nbtools:set-mode", mode="plan")
    assert await tab.value(mode) == "plan"
    await tab.command("nbtools:set-mode", mode="yolo", wait=False)
    await dialog.get_by_role("button", name="Set Mode").click()
    await expect(tab.panel.locator(".jp-CodeCell")).to_have_count(3)
    await tab.done(2)
    assert await tab.value(mode) == "yolo"


async def test_load_makes_a_first_cell_once_and_runs_nothing_else(open_notebook):
    """A notebook of somebody else may have a cell that loads nbtools and does more."""
    tab = await open_notebook("%unload_ext nbtools", "open('notes.txt', 'w').close()\n%load_ext nbtools\n")
    is_loaded = "'tools' in get_ipython().user_ns"
    await tab.run(1)
    await tab.command("nbtools:load")
    assert await tab.value(is_loaded) == "True"
    await expect(tab.panel.locator(".jp-CodeCell")).to_have_count(3)
    await tab.run(1)
    await tab.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.sharedModel.deleteCell(0)")
    await tab.command("nbtools:load")
    assert await tab.value(is_loaded) == "True"
    assert tab.read("notes.txt")
    await expect(tab.cell(0).locator(".cm-content")).to_have_text("%load_ext nbtools")


async def test_a_question_is_shown_then_answered_and_the_change_undone_and_redone_by_commands(open_notebook):
    """A question mark in it shows the keys; a call that runs is cancelled."""
    tab = await open_notebook(
        EDIT, "%tools allow shell", "%tool shell sleep 60", *[f"{n}\n" * 30 for n in range(3)]
    )
    await tab.start(1)
    await tab.keys_count(1)
    await tab.page.keyboard.press("?")
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text("approve once")
    await expect(dialog).to_contain_text("New Call…")
    await tab.look("key-sheet")
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await expect(tab.question(1)).to_be_visible()

    await is_shown_then_answered(tab, "nbtools:deny")
    assert "total = 0\n" in tab.read("src/cart.py")
    await tab.start(1)
    await tab.keys_count(1)
    await is_shown_then_answered(tab, "nbtools:approve")
    assert "total = 0.0" in tab.read("src/cart.py")

    await tab.run(2)
    await tab.start(3)
    await expect(tab.card(3).get_by_role("button", name="Cancel")).to_be_visible()
    await tab.command("nbtools:cancel-call")
    await tab.done(3)
    await expect(tab.status(3)).to_have_text(re.compile("Cancelled"))

    await tab.command("nbtools:undo")
    await tab.done(4)
    assert "total = 0.0" not in tab.read("src/cart.py")
    await tab.command("nbtools:redo")
    await tab.done(5)
    assert "total = 0.0" in tab.read("src/cart.py")


async def is_shown_then_answered(tab, command):
    await tab.panel.locator(".jp-WindowedPanel-outer").hover()
    await tab.page.mouse.wheel(
        0, 10_000
    )  # a question is scrolled into view again until the person does something
    await tab.page.wait_for_function(SCROLLED_AWAY)
    await expect(tab.question(1)).not_to_be_in_viewport()
    await tab.command(command)
    await expect(tab.question(1)).to_be_in_viewport()
    assert "total = 0.0" not in tab.read("src/cart.py")
    await tab.command(command)
    await tab.done(1)


async def test_notebook_7_has_them_too_and_opens_a_hits_line_in_a_page_of_its_own(open_notebook, context):
    tab = await open_notebook(GREP, app="notebook")
    ids = {command["id"] for command in await tab.page.evaluate(FOUND)}
    assert {"nbtools:load", "nbtools:new-call", "nbtools:keys"} <= ids
    await tab.command("nbtools:new-call", wait=False)
    dialog = tab.page.locator(".nbtools-new-call-dialog")
    await expect(dialog.get_by_role("option").first).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await tab.run(1)
    async with context.expect_page() as opening:
        await tab.card(1).get_by_role("button", name="25", exact=True).click()
    page = await opening.value
    await expect(page.locator(".jp-FileEditor .cm-content")).to_contain_text(
        "return round(total(items) * rate, 2)"
    )
    await page.close()
