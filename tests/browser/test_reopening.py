"""What stays: after a restart, after closing and opening, in a stranger's hands, and without the extension."""

from __future__ import annotations

import json

from playwright.async_api import expect

from tests.browser.project import CART, make_project
from tests.browser.tab import Tab

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
ERROR = "Error displaying widget"


async def test_a_restart_while_asking_changes_nothing(open_notebook):
    tab = await open_notebook(EDIT)
    await tab.start(1)
    await expect(tab.question(1)).to_be_visible()
    await tab.press("restart")
    await tab.page.locator(".jp-Dialog").get_by_role("button", name="Confirm").click()
    await expect(tab.cell(1).locator(".jp-InputPrompt")).not_to_have_text("[*]:")
    await tab.ready()
    await expect(tab.status(1)).to_have_text("Not answered")
    assert tab.read("src/cart.py") == CART
    await expect(tab.page.get_by_text(ERROR)).to_have_count(0)
    await tab.look("restarted", tab.panel)
    await tab.run(0)
    await tab.start(1)
    await tab.answer(1, "Approve once")
    await tab.done(1)
    assert "Decimal(0)" in tab.read("src/cart.py")


async def test_a_saved_notebook_reopens_with_its_records(open_notebook, open_file, app):
    tab = await open_notebook(EDIT, "%tool edit notes.txt --old two --new 2", app=app)
    await tab.start(1)
    await tab.answer(1, "Approve once")
    await tab.done(1)
    await tab.start(2)
    await expect(tab.question(2)).to_be_visible()
    saved = await tab.save()
    assert all("text/html" in output["data"] for cell in saved["cells"][1:] for output in cell["outputs"])
    await tab.press("interrupt")
    await tab.close()
    again = await open_file(tab.path, app)
    await expect(again.record(1)).to_contain_text("Approved once by you")
    await expect(again.card(2)).to_contain_text("Not answered")
    await expect(again.card(2)).to_contain_text("run the cell again")
    await expect(again.page.get_by_text(ERROR)).to_have_count(0)
    await again.look(f"reopened-{app}", again.panel)


CELLS = (EDIT, "%tool grep round src", "%tools allow shell", "%tool shell printf '\\033[32mgreen\\033[0m\\n'; false", "%tool read nots.txt")
SHOWN = {1: ("edit", "src/cart.py", "Approved once by you"), 2: ("grep", "round(total, 2)", "items.py"), 4: ("shell", "green", "Exit 1")}


async def _foreign(open_notebook) -> Tab:
    """A notebook that nobody here has run: other bytes, so no signature."""
    tab = await open_notebook(*CELLS)
    await tab.start(1)
    await tab.answer(1, "Approve once")
    await tab.done(1)
    for index in (2, 3, 4, 5):
        await tab.run(index)
    content = await tab.save()
    for cell in content["cells"]:
        cell["metadata"]["from"] = "a stranger"
        cell["id"] = cell["id"][::-1]
    tab.path.with_name("foreign.ipynb").write_text(json.dumps(content), encoding="utf-8")
    return tab


async def test_an_untrusted_notebook_shows_its_cards(open_notebook, open_file, app):
    tab = await _foreign(open_notebook)
    foreign = await open_file(tab.path.with_name("foreign.ipynb"), app)
    assert await foreign.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.some(cell => cell.model.trusted)") is False
    for index, words in SHOWN.items():
        for word in words:
            await expect(foreign.card(index)).to_contain_text(word)
    await foreign.look(f"untrusted-{app}", foreign.panel)


async def test_without_the_extension_the_html_shows_the_same(open_notebook, plain_server, context):
    tab = await _foreign(open_notebook)
    folder = plain_server.root / "project"
    folder.mkdir()
    path = make_project(folder) / "foreign.ipynb"
    path.write_bytes(tab.path.with_name("foreign.ipynb").read_bytes())
    page = await context.new_page()
    await page.goto(plain_server.address("lab/tree", f"project/{path.name}"))
    plain = Tab(page, path, tab.shots)
    await plain.ready()
    await expect(plain.card(1)).to_have_count(0)
    for index, words in SHOWN.items():
        for word in words:
            await expect(plain.output(index)).to_contain_text(word)
    await plain.look("without-extension-untrusted", plain.panel)
    await plain.command("notebook:trust", wait=False)
    await page.locator(".jp-Dialog").get_by_role("button", name="Trust").click()
    await plain.look("without-extension-trusted", plain.panel)
    await plain.run(0)
    await plain.start(1)
    await expect(plain.cell(1).get_by_role("button", name="Cancel")).to_be_visible()
    await plain.look("without-extension-asking", plain.cell(1))
    await plain.cell(1).get_by_role("button", name="Approve once").click()
    await plain.done(1)
    await expect(plain.output(1)).to_contain_text("Approved once by you")
    assert "Decimal(0)" in (folder / "src/cart.py").read_text()
    await plain.cell(2).locator(".cm-content").fill("%tool ask 'Which name?'")
    await plain.start(2)
    await plain.cell(2).get_by_title("Which name?").fill("money")
    await plain.cell(2).get_by_role("button", name="Answer").click()
    await plain.done(2)
    await expect(plain.output(2)).to_contain_text("→ money")
    await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await page.close()
