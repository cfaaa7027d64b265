"""Measures a click: from the click on *Approve once* in the browser to the start of the tool in the kernel.

python bench/button.py     (NBTOOLS_BROWSER names the browser; the front end must be built: make lab)
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from playwright.async_api import async_playwright, expect
from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.project import make_project, write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab

ROUNDS = 30
FLOOR = "import time; floor = []"
COMM = """\
import anywidget
class Bare(anywidget.AnyWidget):
    _esm = "export default { render({ model, el }) { const button = document.createElement('button'); button.className = 'bare'; " \\
        "button.textContent = 'bare'; button.onclick = () => model.send('click'); el.append(button); } }"
button = Bare()
button.on_msg(lambda *_: floor.append(time.time()))
button"""
EDITS = f"""\
for n in range({ROUNDS}):
    tools.edit("notes.txt", old=f"line {{n}}", new=f"line {{n + 1}}")"""
AWAITED = EDITS.replace("tools.edit(", "await tools.edit.start(").replace("notes.txt", "awaited.txt")
LISTEN = """() => {
    window.clicks = [];
    const note = event => event.target.closest('.bare, .nbtools-choice') && window.clicks.push(Date.now() / 1000);
    window.addEventListener('click', note, true);
}"""
STARTS = "__import__('json').dumps([call.last.at for call in tools._runtime.session.history])"


async def press(tab: Tab, cell: int, label: str) -> None:
    """Clicks as many rounds as there are, each when the question of the round has come."""
    for done in range(ROUNDS):
        await expect(tab.card(cell)).to_have_count(done)
        await tab.answer(cell, label)
    await tab.done(cell)


async def measure(tab: Tab) -> dict[str, list[float]]:
    """Milliseconds from click to start, round by round, for a bare button and for both kinds of cell."""
    for cell in (0, 1, 2):
        await tab.run(cell)
    await tab.page.evaluate(LISTEN)
    for done in range(ROUNDS):
        await tab.cell(2).get_by_role("button", name="bare").click()
        while int(await tab.value("len(floor)")) <= done:
            continue
    taken = {
        "a bare anywidget, one custom message": json.loads(await tab.value("__import__('json').dumps(floor)"))
    }
    seen = 0
    for name, cell in (("Approve once, a blocking cell", 3), ("Approve once, an awaiting cell", 4)):
        await tab.start(cell)
        await press(tab, cell, "Approve once")
        starts = json.loads(await tab.value(STARTS))
        taken[name] = starts[seen:]
        seen = len(starts)
    clicks = iter(await tab.page.evaluate("window.clicks"))
    return {name: [(start - next(clicks)) * 1e3 for start in starts] for name, starts in taken.items()}


async def run() -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = make_project(Path(served))
        for name in ("notes.txt", "awaited.txt"):
            (folder / name).write_text("line 0\n", encoding="utf-8")
        write_notebook(folder / "click.ipynb", [FLOOR, COMM, EDITS, AWAITED])
        async with Server(folder, Path(home)) as server, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page()
            await page.goto(server.address("lab/tree", "click.ipynb"))
            tab = Tab(page, folder / "click.ipynb", folder)
            await tab.ready()
            taken = await measure(tab)
            await browser.close()
    return taken


def main() -> None:
    taken = asyncio.run(run())
    bars = {name: "≤ 50 ms" for name in taken if name.startswith("Approve")}
    table(
        f"click → start: ms, {ROUNDS} rounds",
        [Figure(name, values, "ms", bars.get(name, "")) for name, values in taken.items()],
    )


if __name__ == "__main__":
    main()
