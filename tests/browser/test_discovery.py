"""The launcher, the menus and the tour lead to nbtools."""

from __future__ import annotations

import nbformat
from markdown_it import MarkdownIt
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.async_api import expect

from nbtools.cards.card_model import MIME
from tests.browser.test_log_address import copied

EDIT = '%tool edit src/cart.py --old "total = 0" --new "total = 0.0"'


async def menu_of(tab, index):
    await tab.card(index).locator(".nbtools-head").click(button="right")
    menu = tab.page.locator(".lm-Menu")
    await expect(menu).to_be_visible()
    return menu


async def test_the_launcher_has_tiles(open_notebook):
    tab = await open_notebook()
    await tab.command("launcher:create")
    launcher = tab.page.locator(".jp-Launcher:visible")
    await expect(launcher.get_by_text("Notebook with Tools")).to_be_visible()
    await expect(launcher.get_by_text("nbtools", exact=True)).to_be_visible()
    await tab.look("launcher")
    await launcher.get_by_text("Notebook with Tools").click()
    await expect(tab.panel.locator(".jp-CodeCell .cm-content").first).to_have_text("%load_ext nbtools")
    await expect(tab.panel.locator(".jp-CodeCell")).to_have_count(5)
    await expect(tab.panel.locator(".jp-MarkdownCell")).to_have_count(2)
    await tab.look("magics-starter", themes=("light",))


async def test_the_menu_of_a_card(open_notebook):
    tab = await open_notebook("%tools mode auto_edit", EDIT, "%tool ls")
    for index in (1, 2, 3):
        await tab.run(index)
    menu = await menu_of(tab, 2)
    for label in ("Undo This Call", "Allow from Now On…", "Copy as Markdown", "Open File"):
        await expect(menu.get_by_text(label)).to_be_visible()
    await tab.look("card-menu", themes=("light",))
    await menu.get_by_text("Undo This Call").click()
    await expect(tab.card(2).first).to_contain_text("ndone")
    assert "total = 0.0" not in tab.read("src/cart.py")
    await (await menu_of(tab, 3)).get_by_text("Allow from Now On…").click()
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text("%tools allow ls")
    await tab.look("allow")
    await dialog.get_by_role("button", name="Insert as cell").click()
    await expect(tab.cell(4).locator(".cm-content")).to_have_text("%tools allow ls")
    await (await menu_of(tab, 2)).get_by_text("Open File").click()
    await expect(tab.page.locator(".jp-FileEditor .cm-content:visible")).to_contain_text("total = 0")


async def test_a_card_is_copied_without_markdown_of_its_own(open_file, project):
    """An untrusted notebook says what it likes in every field of a card."""
    markup = "![x](http://example.org/x)\n\n<img src=x>\n```\n# a"
    card = {"id": "a", "state": "success", "tool": markup, "icon": "", "subject": markup, "status": markup}
    made = new_notebook(
        metadata={
            "kernelspec": {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
        }
    )
    made.cells = [
        new_code_cell("pass", outputs=[new_output("display_data", data={MIME: card, "text/plain": markup})])
    ]
    path = project / "copied.ipynb"
    nbformat.write(made, path)
    tab = await open_file(path)
    menu = await menu_of(tab, 0)
    text = await copied(tab.page, menu.get_by_text("Copy as Markdown"))
    kinds = [token.type for token in MarkdownIt().parse(text)]
    assert kinds == ["paragraph_open", "inline", "paragraph_close", "fence"], text
    inline = MarkdownIt().parse(text)[1].children or []
    assert {token.type for token in inline} == {"text", "strong_open", "strong_close"}, text


async def test_the_tour_by_keyboard_and_in_small_windows(open_notebook):
    tab = await open_notebook()
    await tab.command("nbtools:tour")
    box = tab.page.get_by_role("dialog", name="Tour of nbtools")
    for title in ("A first call", "The question", "The panel", "A session log"):
        await expect(box.get_by_role("heading", name=title)).to_be_visible()
        await expect(tab.page.locator(".nbtools-tour-target")).to_be_visible()
        await tab.look(f"tour-{title.split()[-1]}")
        await expect(box.locator(".jp-mod-accept")).to_be_focused()
        await tab.page.keyboard.press("Enter")
    await expect(box).to_have_count(0)
    await expect(tab.page.locator(".nbtools-tour-target")).to_have_count(0)
    await tab.command("nbtools:tour")
    await tab.page.keyboard.press("Escape")
    await expect(box).to_have_count(0)
    for width in (380, 800):
        await tab.page.set_viewport_size({"width": width, "height": 700})
        await tab.command("nbtools:tour")
        await expect(box.get_by_role("button", name="Skip")).to_be_in_viewport(ratio=1)
        await tab.look(f"tour-{width}")
        await box.get_by_role("button", name="Skip").click()
        await expect(box).to_have_count(0)
