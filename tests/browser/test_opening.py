"""A click on what a card names opens it."""

from __future__ import annotations

import re

from playwright.async_api import expect

GREP = "%tool grep 'round' src"
CURSOR = "window.jupyterapp.shell.currentWidget?.content?.editor?.getCursorPosition?.().line"


async def test_a_hits_line_opens_the_file_there(open_notebook):
    tab = await open_notebook(GREP)
    await tab.run(1)
    await tab.look("search", tab.cell(1))
    await tab.card(1).get_by_role("button", name="25", exact=True).click()
    await expect(tab.page.locator(".jp-FileEditor .cm-content:visible")).to_contain_text("return round(total(items) * rate, 2)")
    await tab.page.wait_for_function(f"{CURSOR} === 24")


async def test_a_hits_line_opens_the_file_in_notebook_7(open_notebook, context):
    tab = await open_notebook(GREP, app="notebook")
    await tab.run(1)
    async with context.expect_page() as opening:
        await tab.card(1).get_by_role("button", name="25", exact=True).click()
    page = await opening.value
    await expect(page.locator(".jp-FileEditor .cm-content")).to_contain_text("return round(total(items) * rate, 2)")
    await page.close()


async def test_a_hit_in_a_notebook_opens_its_cell(open_notebook):
    tab = await open_notebook(
        "import nbformat\nkernel = {'name': 'python3', 'display_name': 'Python 3'}\n"
        "cells = [nbformat.v4.new_code_cell(f'x{n} = {n}\\n# needle', id=f'cell-{n}') for n in range(60)]\n"
        "nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata={'kernelspec': kernel}), 'analysis.ipynb')",
        "%tool grep --context 1 'x47 = 47' analysis.ipynb",
    )
    await tab.run(1)
    await tab.run(2)
    await tab.look("search-in-a-notebook", tab.cell(2))
    await tab.card(2).get_by_role("button", name="analysis.ipynb cell 48").click()
    await expect(tab.page.locator(".cm-content").filter(has_text=re.compile("^x47 = 47"))).to_be_in_viewport()


async def test_the_links_of_a_record_and_a_listing_open_files(open_notebook):
    tab = await open_notebook("%tool ls .", "%tool read src/items.py")
    await tab.run(1)
    await tab.run(2)
    await tab.look("listing-and-text", tab.panel)
    await tab.card(1).get_by_role("button", name="README.md").click()
    await expect(tab.page.locator(".jp-FileEditor .cm-content:visible, .jp-MarkdownViewer:visible")).to_contain_text("knows what it costs")


async def test_the_files_of_a_tree_are_links(open_notebook):
    tab = await open_notebook("%tool tree")
    await tab.run(1)
    await tab.look("tree", tab.cell(1))
    await expect(tab.card(1).get_by_role("button", name="src", exact=True)).to_have_count(0)
    await tab.card(1).get_by_role("button", name="items.py").click()
    await expect(tab.page.locator(".jp-FileEditor .cm-content:visible")).to_contain_text("What is in a cart.")
