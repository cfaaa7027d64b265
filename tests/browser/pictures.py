"""Takes the pictures of the README, crisp and cropped to their cells.

python -m tests.browser.pictures
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path

from playwright.async_api import Browser, Locator, async_playwright, expect

from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.project import git, make_project, write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab
from tests.notebook.agent.scripts import PLAYING

IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTH = 1040
BARE = ".jp-cell-toolbar, .jp-Collapser { visibility: hidden !important; }"
"""What a picture does without: the buttons and bars of the selected cell."""
TESTS = """\
import time, unittest


class Test(unittest.TestCase):
    pass

def slow(n):
    def test(self):
        time.sleep(0.5)
    test.__doc__ = None
    return test

for n in range(60):
    setattr(Test, f"test_total_of_{n:02}_items", slow(n))
"""
THOUGHT = ("think", "The total is a float. Where does it begin?")
LOOK = "I look at where the sum begins."
READ = ("read", json.dumps({"path": "src/cart.py", "start": 17, "end": 21}))
FOUND = "It begins with `0`, and **every total is rounded twice**. I begin it as a decimal; the rounding stays in `items.py`."
CHANGE = (
    "edit",
    json.dumps({"path": "src/cart.py", "old": "    total = 0", "new": "    total = Decimal(0)"}),
)
CELLS = (
    '%tool edit src/cart.py --old "total = 0" --new "total = Decimal(0)"',
    '%tool edit src/items.py --old "price: float" --new "price: Decimal"',
    '%tools allow "shell(python3 -m unittest:*)"',
    "%tool shell python3 -m unittest --verbose",
    '%tool grep "round\\(" src --type py',
    PLAYING,
    f"agent.model = playing([{THOUGHT!r}, {LOOK!r}, {READ!r}], [{FOUND!r}, {CHANGE!r}])",
    "%%agent\nPrices have cents. Make the total a decimal.",
)


async def take(name: str, *cells: Locator) -> None:
    """One picture of cells that stand one below the other."""
    boxes = [box for cell in cells if (box := await cell.bounding_box()) is not None]
    top = min(box["y"] for box in boxes)
    bottom = max(box["y"] + box["height"] for box in boxes)
    clip = {"x": boxes[0]["x"], "y": top, "width": boxes[0]["width"], "height": bottom - top}
    await cells[0].page.screenshot(path=IMAGES / f"{name}.png", clip=clip, animations="disabled", style=BARE)


async def visit(tab: Tab, suffix: str) -> None:
    """Takes the picture that both themes have."""
    await tab.run(0)
    await tab.start(2)
    await tab.approve(2)
    await tab.done(2)
    await tab.start(1)
    await expect(tab.question(1).locator(".nbtools-cancel")).to_be_focused()
    await take(f"edit-asking{suffix}", tab.cell(1), tab.cell(2))
    await tab.approve(1)
    await tab.done(1)


async def visit_agent(tab: Tab, suffix: str) -> None:
    """An agent's run that waits for an answer."""
    git(tab.folder, "checkout", "--quiet", "src")
    await tab.run(6)
    await tab.run(7)
    await tab.start(8)
    await expect(tab.question(8).locator(".nbtools-cancel")).to_be_focused()
    await take(f"agent-asking{suffix}", tab.cell(8))
    await tab.cell(8).get_by_role("button", name="Stop").click()
    await tab.done(8)


async def visit_more(tab: Tab) -> None:
    await tab.run(3)
    await tab.start(4)
    await expect(tab.card(4).locator(".nbtools-lines")).to_contain_text("test_total_of_07_items")
    await take("running", tab.cell(4))
    await tab.card(4).get_by_role("button", name="Cancel").click()
    await tab.done(4)
    await tab.run(5)
    await take("search", tab.cell(5))


async def picture(browser: Browser, server: Server, theme: str, suffix: str) -> None:
    page = await browser.new_page(viewport={"width": WIDTH, "height": 1500}, device_scale_factor=2)
    await page.goto(server.address("lab/tree", "cart.ipynb"))
    tab = Tab(page, server.root / "cart.ipynb", server.root)
    await tab.ready()
    await page.evaluate("window.jupyterapp.shell.collapseLeft()")
    await tab.theme(theme)
    await visit(tab, suffix)
    if not suffix:
        await visit_more(tab)
    await visit_agent(tab, suffix)
    await tab.end()
    await page.close()


async def main() -> None:
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = make_project(Path(served))
        (folder / "test_cart.py").write_text(TESTS, encoding="utf-8")
        async with Server(folder, Path(home)) as server, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            for theme, suffix in (("light", ""), ("dark", "-dark")):
                git(folder, "checkout", "--quiet", "src")
                write_notebook(folder / "cart.ipynb", CELLS)
                await picture(browser, server, theme, suffix)
            await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
