"""Bad input: one card each that says what to do, and nothing changed."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.project import git

MISTAKES = {
    "%tool grpe round": ("No such tool", "grep"),
    "%tool grep round --ignorecase": ("Invalid parameters", "--ignore-case"),
    "%tool read src/cart.py --start soon": ("Invalid parameters", "start"),
    "%tool read src/crat.py": ("File not found", "src/cart.py"),
    "%tool read src": ("Is a folder", "ls"),
    "%tool read logo.bin": ("Could not read", "binary"),
    "%tool read ../../etc/passwd": ("Outside the workspace", "workspace"),
    "%tool edit src/cart.py --old 'total += 0' --new 1": ("Text not found", "total = 0"),
    "%tool edit src/cart.py --old 'items' --new 1": ("Text found more than once", "line"),
    "%tool ls nowhere": ("not found", "nowhere"),
}


async def test_each_mistake_has_one_clear_card(open_notebook):
    tab = await open_notebook(*MISTAKES)
    wrong = []
    for index, (cell, (status, word)) in enumerate(MISTAKES.items(), start=1):
        await tab.run(index)
        await expect(tab.card(index)).to_have_count(1)
        said = (await tab.status(index).inner_text(), await tab.card(index).inner_text())
        print(f"--- {cell}\n{said[1]}")
        if (
            status not in said[0]
            or word not in said[1]
            or await tab.card(index).get_attribute("data-state") != "error"
        ):
            wrong.append((cell, *said))
        await tab.look(f"mistake-{index:02}", tab.cell(index))
    assert not wrong
    assert git(tab.folder, "status", "--short", "--untracked-files=no") == ""
