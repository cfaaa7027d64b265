"""A click on what a card names opens it."""

from __future__ import annotations

import re

from playwright.async_api import expect

GREP = "%tool grep 'round' src"
CURSOR = "window.jupyterapp.shell.currentWidget?.content?.editor?.getCursorPosition?.().line"
ANALYSIS = """\
import nbformat
kernel = {'name': 'python3', 'display_name': 'Python 3'}
cells = [nbformat.v4.new_code_cell(f'x{n} = {n}\\n# needle', id=f'cell-{n}') for n in range(60)]
nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={'kernelspec': kernel}), 'analysis.ipynb')
"""
IN_ANALYSIS = "%tool grep --context 1 'x47 = 47' analysis.ipynb"


async def test_hits_records_listings_and_trees_have_links_that_open_files(open_notebook):
    """A hit opens the file at its line, and a notebook at its cell."""
    tab = await open_notebook(
        GREP, "%tool ls .", "%tool read src/items.py", "%tool tree", ANALYSIS, IN_ANALYSIS
    )

    async def opens(index, link, text):
        await tab.look(f"links-{index}", tab.cell(index))
        await tab.card(index).get_by_role("button", name=link, exact=True).click()
        await expect(
            tab.page.locator(".jp-FileEditor .cm-content:visible, .jp-MarkdownViewer:visible")
        ).to_contain_text(text)

    await tab.run(1)
    await opens(1, "25", "return round(total(items) * rate, 2)")
    await tab.page.wait_for_function(f"{CURSOR} === 24")
    await tab.command("application:close")
    await tab.run(2)
    await tab.run(3)
    await opens(2, "README.md", "knows what it costs")
    await tab.command("application:close")
    await tab.run(4)
    await expect(tab.card(4).get_by_role("button", name="src", exact=True)).to_have_count(0)
    await opens(4, "items.py", "What is in a cart.")
    await tab.command("application:close")
    await tab.run(5)
    await tab.run(6)
    await tab.look("search-in-a-notebook", tab.cell(6))
    await tab.card(6).get_by_role("button", name="analysis.ipynb cell 48").click()
    await expect(tab.page.locator(".cm-content").filter(has_text=re.compile("^x47 = 47"))).to_be_in_viewport()
