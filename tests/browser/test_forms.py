"""*New call…*: a tool is chosen, its form filled, and its cell inserted or run."""

from __future__ import annotations

import re

from playwright.async_api import expect

from tests.browser.conftest import WINDOW
from tests.waiting import eventually


async def new_call(tab):
    await tab.command("nbtools:new-call", wait=False)
    dialog = tab.page.locator(".nbtools-new-call-dialog")
    await expect(dialog).to_be_visible()
    return dialog


async def choose(dialog, name):
    await dialog.get_by_label("Search the tools").fill(name)
    await dialog.get_by_label("Search the tools").press("Enter")
    await expect(
        dialog.locator(".nbtools-tool-fields input, .nbtools-tool-fields textarea").first
    ).to_be_visible()


def field(dialog, name):
    return dialog.locator(f'.nbtools-tool-fields [id$="_{name}"]')


def source(tab, index):
    return tab.cell(index).locator(".cm-content")


HOSTILE = '''
from nbtools import tool

@tool
def hostile(a: str = "<img src=x onerror=window.harmed=1>", b: int = 1) -> str:
    """<script>window.harmed=1</script><b>bold</b> does things.

    Args:
        a: <img src=x onerror=window.harmed=1>
    """
    return a
'''


async def test_calls_are_searched_run_inserted_and_left_by_the_keyboard(open_notebook):
    tab = await open_notebook("")
    dialog = await new_call(tab)
    await expect(dialog.get_by_label("Search the tools")).to_be_focused()
    await tab.page.keyboard.type("ls")
    await tab.page.keyboard.press("Enter")
    await expect(field(dialog, "path")).to_be_visible()
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)

    dialog = await new_call(tab)
    await expect(dialog.get_by_role("option")).not_to_have_count(0)
    await expect(dialog.get_by_label("Search the tools")).to_be_focused()
    await choose(dialog, "grep")
    await expect(field(dialog, "pattern")).to_be_focused()
    await expect(dialog.get_by_role("button", name="Run")).to_be_disabled()
    await field(dialog, "pattern").fill("total = 0")
    await field(dialog, "path").fill("src")
    verdict = dialog.locator(".nbtools-form-verdict")
    await expect(verdict).to_have_attribute("data-action", "allow")
    await expect(dialog.locator(".nbtools-new-call-panes")).to_have_css(
        "display", "grid"
    )  # its style is there
    await tab.look("new-call-search")
    await dialog.get_by_role("button", name="Run").click()
    await tab.done(1)
    await expect(source(tab, 1)).to_have_text("%tool grep --pattern='total = 0' --path=src")
    await expect(tab.status(1)).to_have_text(re.compile("1 match|Done"))

    dialog = await new_call(tab)
    await choose(dialog, "write")
    await field(dialog, "path").fill("new.txt")
    await field(dialog, "content").fill("one\n  'two'\n")
    await expect(verdict).to_have_attribute("data-action", "ask")
    await expect(dialog.locator(".nbtools-form-source")).to_contain_text("%%tool write --path=new.txt")
    await tab.look("new-call-asks")
    await dialog.get_by_role("button", name="Insert as cell").click()
    await expect(source(tab, 2)).to_contain_text("%%tool write --path=new.txt")
    assert not (tab.folder / "new.txt").exists()
    await tab.start(2)
    await tab.approve(2)
    await tab.done(2)
    assert tab.read("new.txt") == "one\n  'two'\n"


async def test_the_form_fits_the_window_shows_texts_of_a_hostile_tool_as_text_and_offers_to_load_nbtools(
    open_notebook,
):
    tab = await open_notebook(HOSTILE, "%unload_ext nbtools")
    await tab.run(1)
    dialog = await new_call(tab)
    await choose(dialog, "hostile")
    await expect(dialog.locator(".nbtools-tool-about").first).to_contain_text("<script>")
    await expect(dialog.locator("img, b, script")).to_have_count(0)
    assert await tab.page.evaluate("window.harmed === undefined")
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)

    dialog = await new_call(tab)
    await choose(dialog, "edit")
    await field(dialog, "path").fill("src/cart.py")
    await field(dialog, "old").fill("total = 0")
    await field(dialog, "new").fill("total = 0.0")
    await expect(dialog.locator(".nbtools-form-verdict")).to_have_attribute("data-action", "ask")
    for width in (380, 800, 1280):
        await tab.page.set_viewport_size({"width": width, "height": 700})
        await eventually(
            True,
            dialog.locator(".nbtools-new-call").evaluate,
            "node => node.scrollWidth <= node.clientWidth + 1",
        )
        for name in ("Run", "Insert as cell"):
            await expect(dialog.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
        await tab.look(f"new-call-{width}")
    await tab.page.set_viewport_size(WINDOW)
    await tab.page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)

    await tab.run(2)
    dialog = await new_call(tab)
    await dialog.get_by_role("button", name="Load nbtools").click()
    await expect(dialog.get_by_role("option").first).to_be_visible()
    await tab.page.keyboard.press("Escape")
