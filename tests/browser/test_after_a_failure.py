"""The state that a story finds after one that has failed."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.conftest import SHOTS, WINDOW, SharedPages
from tests.browser.project import write_notebook
from tests.browser.tab import THEMES, Tab

KERNELS = """async () => {
    const { kernels } = window.jupyterapp.serviceManager;
    await kernels.refreshRunning();
    return [...kernels.running()].length;
}"""


async def test_the_next_story_inherits_no_dialog_no_theme_and_no_kernel(browser, server, project):
    write_notebook(project / "story.ipynb", ("import time; time.sleep(600)",))
    context = await browser.new_context(
        viewport=WINDOW
    )  # two tabs of one context cannot have the same workspace
    pages = SharedPages(context, server)
    lab = (await pages.after(0)).lab
    tab = Tab(lab, project / "story.ipynb", SHOTS)
    await lab.bring_to_front()
    await tab.command("docmanager:open", path=f"{project.name}/story.ipynb")
    await tab.ready()
    await tab.start(1)
    await tab.is_busy(1)
    await tab.theme("dark")
    await tab.command("nbtools:keys", wait=False)
    await expect(lab.locator(".jp-Dialog")).to_be_visible()
    assert (await pages.after(0)).lab is lab

    fresh = (await pages.after(1)).lab
    assert lab.is_closed()
    await expect(fresh.locator("body")).to_have_attribute("data-jp-theme-name", THEMES["light"])
    await expect(fresh.locator(".jp-Dialog, .jp-NotebookPanel")).to_have_count(0)
    assert await fresh.evaluate(KERNELS) == 0
    await context.close()
