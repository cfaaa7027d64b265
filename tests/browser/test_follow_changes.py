"""Open files are read again after a tool changed them on disk."""

from __future__ import annotations

import pytest_asyncio
from playwright.async_api import expect

from tests.waiting import eventually

EDIT = '%tool edit src/cart.py --old "total = 0" --new "total = 0.0"'


async def open_source(tab):
    served = tab.path.parent.name
    await tab.command(
        "docmanager:open", path=f"{served}/src/cart.py", factory="Editor", options={"mode": "split-right"}
    )
    editor = tab.page.locator(".jp-FileEditor .cm-content")
    await expect(editor).to_contain_text("total = 0")
    await tab.page.wait_for_function("window.jupyterapp.shell.currentWidget.content.editor !== undefined")
    return editor


async def run_cell(tab, index):
    """Runs a cell without bringing the notebook to the front."""
    code = """([name, index]) => {
        const panel = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.title.label === name);
        window.jupyterapp.shell.activateById(panel.id);
        panel.content.activeCellIndex = index;
        window.jupyterapp.commands.execute('notebook:run-cell');
    }"""
    await tab.page.evaluate(code, [tab.path.name, index])


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def no_notifications(lab):
    yield
    await lab.evaluate(
        "window.jupyterapp.commands.execute('apputils:dismiss-all-notifications').catch(() => null)"
    )


async def test_an_editor_shows_the_edit_and_keeps_its_cursor(open_notebook):
    tab = await open_notebook("%tools mode auto_edit", EDIT, "%tools undo")
    await tab.run(1)
    editor = await open_source(tab)
    await tab.page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.editor.setCursorPosition({ line: 9, column: 4 })"
    )
    await run_cell(tab, 2)
    await expect(editor).to_contain_text("total = 0.0")
    position = """() => {
        const cart = [...window.jupyterapp.shell.widgets('main')].find(widget => widget.title.label === 'cart.py');
        const { line, column } = cart.content.editor.getCursorPosition();
        return [line, column];
    }"""
    await eventually([9, 4], tab.page.evaluate, position)  # it is set after the text
    await run_cell(tab, 3)
    await expect(editor).not_to_contain_text("total = 0.0")


async def test_unsaved_changes_stay_and_a_notification_offers_to_reload(open_notebook):
    tab = await open_notebook("%tools mode auto_edit", EDIT)
    await tab.run(1)
    editor = await open_source(tab)
    await tab.page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.model.sharedModel.updateSource(0, 0, '# mine\\n')"
    )
    await run_cell(tab, 2)
    notice = tab.page.locator(".Toastify__toast").filter(has_text="changed on disk")
    await expect(notice).to_be_visible()
    await expect(editor).to_contain_text("# mine")
    await tab.look("changed-on-disk")
    await notice.get_by_role("button", name="Reload").click()
    await expect(editor).to_contain_text("total = 0.0")
    await expect(editor).not_to_contain_text("# mine")
