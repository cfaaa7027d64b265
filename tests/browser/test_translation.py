"""JupyterLab in German: the front end's strings come from nbtools' own catalogue,
next to a language pack's.
"""

from __future__ import annotations

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.browser.conftest import SHOTS
from tests.browser.project import make_project, write_notebook
from tests.browser.server import Server, write_json
from tests.browser.tab import Tab, open_lab

LOCALE = "de_DE"


@pytest.fixture(scope="module")
def language_pack(tmp_path_factory):
    """A language pack without any translation:
    JupyterLab reads packages' catalogues only where a pack of the locale is installed.
    """
    folder = tmp_path_factory.mktemp("pack")
    (folder / "empty_pack").mkdir()
    (folder / "empty_pack" / "__init__.py").touch()
    about = folder / "empty_pack-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: empty-pack\nVersion: 1.0\n", encoding="utf-8"
    )
    (about / "entry_points.txt").write_text(
        f"[jupyterlab.languagepack]\n{LOCALE} = empty_pack\n", encoding="utf-8"
    )
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def german(browser, tmp_path, language_pack):
    """A page of a JupyterLab whose language is German, with a notebook of cells that read and edit."""
    home = tmp_path / "home"
    folder = tmp_path / "served"
    folder.mkdir()
    make_project(folder)
    write_notebook(
        folder / "story.ipynb",
        ["%tool read notes.txt", "%tool edit notes.txt --old two --new zwei", "%tool read absent.txt"],
    )
    server = Server(folder, home)
    write_json(
        home / "settings" / "@jupyterlab" / "translation-extension" / "plugin.jupyterlab-settings",
        {"locale": LOCALE},
    )
    server.environment["PYTHONPATH"] = f"{language_pack}:{server.environment.get('PYTHONPATH', '')}"
    async with server:
        page = await browser.new_page(viewport={"width": 1200, "height": 900})
        await open_lab(page, server.address("lab"))
        tab = Tab(page, folder / "story.ipynb", SHOTS)
        await tab.command("docmanager:open", path="story.ipynb")
        await tab.ready()
        yield tab
        await page.close()


async def test_cards_questions_and_commands_are_german(german):
    tab = german
    await tab.run(0)
    offer = tab.page.locator(".Toastify__toast").filter(has_text="nbtools")
    await expect(offer).to_be_visible()
    await tab.run(1)
    await expect(tab.card(1).get_by_role("button", name="Datei öffnen")).to_be_visible()
    await tab.run(3)
    await expect(tab.status(3)).to_have_text("Datei nicht gefunden")
    label = await tab.page.evaluate("window.jupyterapp.commands.label('nbtools:open-log')")
    assert label == "Als Agentenprotokoll öffnen"
    await tab.look("german", tab.panel)
    await tab.start(2)
    await tab.wait_for_questions(2)
    await expect(offer).to_have_count(0)  # it would cover the buttons
    await expect(tab.question(2).get_by_role("button", name="Einmal")).to_be_visible()
    await tab.look("german-question", tab.panel)
