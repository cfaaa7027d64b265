"""Accessibility of everything that nbtools draws: axe-core's rules in all themes, focus, motion, and the width of a narrow window."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from nbtools.notebook.cards.model import Block, State
from tests.browser import catalogue
from tests.browser.accessibility import cut_buttons, in_all_themes, is_accessible, violations, without_visible_focus
from tests.browser.conftest import ZOOMED
from tests.browser.explorer import Explorer
from tests.browser.test_agent import STORY, TASK
from tests.browser.test_trace import REAL
from tests.notebook.agent.scripts import PLAYING
from tests.waiting import eventually

CATALOGUE = "import os, sys\nsys.path.insert(0, os.getcwd())\nimport catalogue\ncatalogue.{}()"


def test_the_catalogue_has_every_block_and_every_state():
    types = {get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(Block)[0])}
    assert set(catalogue.BLOCKS) == types
    for name, blocks in catalogue.BLOCKS.items():
        assert {block.type for block in blocks} == {name}
    assert {card.state for card in catalogue.cards()} == set(get_args(State))


@pytest.fixture
def open_catalogue(open_notebook, project):
    """Opens a notebook whose cell 1 shows the catalogue of cards."""

    async def open_catalogue(show):
        shutil.copy(Path(catalogue.__file__), project / "catalogue.py")
        tab = await open_notebook(CATALOGUE.format(show))
        await tab.run(1)
        return tab

    return open_catalogue


async def test_the_check_finds_faults(open_notebook):
    tab = await open_notebook("%tool read notes.txt")
    await tab.run(1)
    spoil = """card => {
        card.querySelector('.nbtools-tool').style.color = 'color-mix(in srgb, currentcolor 20%, transparent)';
        card.append(Object.assign(document.createElement('button'), { style: 'outline: none' }));
    }"""
    await tab.card(1).evaluate(spoil)
    found = {one.split()[0] for one in await violations(tab.page)}
    assert found == {"color-contrast", "button-name"}
    assert len(await without_visible_focus(tab.page)) == 1


@pytest.mark.parametrize("show", ["show", "show_html"])
async def test_cards(open_catalogue, zoomed, show):
    tab = await open_catalogue(show)
    await expect(tab.output(1)).to_have_count(len(catalogue.cards()))
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)


async def test_a_run_of_an_agent(open_notebook, zoomed):
    tab = await open_notebook(PLAYING, STORY, TASK)
    await tab.run(1)
    await tab.run(2)
    await tab.start(3)
    await tab.asked(3)
    await tab.approve(3)
    await tab.done(3)
    await in_all_themes(tab)
    await zoomed()
    await eventually([], cut_buttons, tab.page)


async def test_the_explorer(views):
    explorer = Explorer(views, await views.show(open_trace(REAL)))
    await expect(explorer.row("Read")).to_be_visible()
    await in_all_themes(views)
    await explorer.chip("edits").click()
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


async def test_the_explorer_of_an_empty_log(views, tmp_path):
    (tmp_path / "empty.jsonl").write_text(REAL.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    await views.page.set_viewport_size(ZOOMED)
    await views.show(open_trace("empty.jsonl"))
    await is_accessible(views.page)


async def test_an_explorer_without_its_kernel(open_notebook, project):
    shutil.copy(REAL, project / "session.jsonl")
    tab = await open_notebook("%trace session.jsonl")
    await tab.run(1)
    await expect(Explorer(tab, 1).row("Read")).to_be_visible()
    await tab.save()
    await tab.close()
    await tab.page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await tab.command("docmanager:open", path=f"{project.name}/{tab.path.name}")
    await expect(Explorer(tab, 1).still).to_be_visible()
    await in_all_themes(tab)
