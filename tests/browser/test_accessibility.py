"""Accessibility of everything that nbtools draws:
axe-core's rules in all themes, focus, motion, and the width of a narrow window.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from nbtools.cards.card_model import Block, State
from tests.browser import catalogue
from tests.browser.accessibility import (
    cut_buttons,
    in_all_themes,
    is_accessible,
    violations,
    without_visible_focus,
)
from tests.browser.conftest import ZOOMED
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_cart_log
from tests.browser.test_comparison import compare_logs
from tests.browser.test_sessions import list_sessions, logs  # noqa: F401 - the fixture
from tests.browser.test_trace import REAL
from tests.waiting import eventually

CATALOGUE = "import os, sys\nsys.path.insert(0, os.getcwd())\nimport catalogue\ncatalogue.{}()"


def test_the_catalogue_has_every_block_and_every_state():
    types = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(Block)[0])}
    assert set(catalogue.BLOCKS) == types
    for name, blocks in catalogue.BLOCKS.items():
        assert {block.type for block in blocks} == {name}
    assert {card.state for card in catalogue.cards()} == set(get_args(State))


async def test_the_check_finds_faults(open_cells):
    cells = await open_cells("%tool read notes.txt")
    await cells.run(1)
    spoil = """card => {
        card.querySelector('.nbtools-tool').style.color = 'color-mix(in srgb, currentcolor 20%, transparent)';
        card.append(Object.assign(document.createElement('button'), { style: 'outline: none' }));
    }"""
    await cells.card(1).evaluate(spoil)
    found = {one.split()[0] for one in await violations(cells.page)}
    assert found == {"color-contrast", "button-name"}
    assert len(await without_visible_focus(cells.page)) == 1


async def test_cards(open_notebook, project, zoomed):
    shutil.copy(Path(catalogue.__file__), project / "catalogue.py")
    tab = await open_notebook(CATALOGUE.format("show"))
    await tab.run(1)
    await expect(tab.output(1)).to_have_count(len(catalogue.cards()))
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)


async def test_cards_as_html_and_an_explorer_without_its_kernel(open_notebook, project, zoomed):
    """In JupyterLab, whose own style is that of HTML."""
    shutil.copy(REAL, project / "session.jsonl")
    shutil.copy(Path(catalogue.__file__), project / "catalogue.py")
    tab = await open_notebook("%trace session.jsonl", CATALOGUE.format("show_html"))
    await tab.run(1)
    await expect(Explorer(tab, 1).row("Read")).to_be_visible()
    await tab.run(2)
    await expect(tab.output(2)).to_have_count(len(catalogue.cards()))
    await tab.save()
    await tab.close()
    await tab.page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await tab.to_front()
    await expect(Explorer(tab, 1).still).to_be_visible()
    await expect(tab.output(2)).to_have_count(len(catalogue.cards()))
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)


async def test_the_explorer(views):
    explorer = Explorer(views, await views.show(open_trace(REAL)))
    await expect(explorer.row("Read")).to_be_visible()
    await in_all_themes(views)
    await explorer.chip("writes").click()
    await explorer.row("Edit").click()
    await expect(explorer.card.locator(".nbtools-diff")).to_be_visible()
    await in_all_themes(views)
    await explorer.search.fill("no such words")
    await expect(explorer.node).to_contain_text("No steps match the filters.")
    await is_accessible(views.page)
    await explorer.search.fill("")
    await views.page.set_viewport_size(ZOOMED)
    await is_accessible(views.page)
    await eventually([], cut_buttons, views.page)


@pytest.mark.usefixtures("logs")
async def test_the_list_of_sessions(views):
    shown = await list_sessions(views)
    row = shown.row("Fix issue 6")
    await expect(row).to_contain_text("31")
    await row.get_by_role("checkbox").click()
    await expect(row).to_have_attribute("aria-selected", "true")
    await in_all_themes(views)
    await views.page.emulate_media(forced_colors="active")
    await expect(row.locator(".nbtools-sessions-box")).to_have_css("border-left-width", "4px")
    await is_accessible(views.page)
    await views.page.emulate_media(forced_colors="none")
    await views.page.set_viewport_size(ZOOMED)
    await eventually([], cut_buttons, views.page)
    await is_accessible(views.page)
    await expect(row.locator(".nbtools-sessions-project")).to_be_hidden()  # the title has its room


async def test_a_comparison(views, tmp_path):
    write_cart_log(tmp_path / "cart.jsonl")
    shown = await compare_logs(views, [REAL, tmp_path / "cart.jsonl"])
    await expect(shown.node).to_contain_text("shared at the beginning")
    await in_all_themes(views)
    await views.page.set_viewport_size(ZOOMED)
    await eventually([], cut_buttons, views.page)


async def test_the_explorer_of_an_empty_log(views, tmp_path):
    (tmp_path / "empty.jsonl").write_text(
        REAL.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8"
    )
    await views.page.set_viewport_size(ZOOMED)
    await views.show(open_trace("empty.jsonl"))
    await is_accessible(views.page)
