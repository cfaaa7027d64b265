"""Measures the front end: its size, its work while nothing happens,
and the time until a notebook of 200 cards is seen.

python bench/front_end.py     (NBTOOLS_BROWSER names the browser; the front end must be built: make lab)

Compared with the same JupyterLab whose user has switched the extension off, where cards are HTML.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from pathlib import Path

import nbformat
from idle import SECONDS, IdleMeter
from playwright.async_api import Browser, async_playwright
from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from nbtools.cards.card import bundle
from tests.browser.catalogue import cards
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.server import Server, disable_extension
from tests.browser.tab import Tab, open_lab

BUILT = Path(__file__).resolve().parents[1] / "nbtools" / "labextension" / "static"
CARDS = 200
OPENINGS = 5
PAINTED = """async ([path, selector]) => {
    const begin = performance.now();
    window.jupyterapp.commands.execute('docmanager:open', { path });
    const frame = () => new Promise(requestAnimationFrame);
    while (!document.querySelector(selector)) {
        if (performance.now() - begin > 60_000) {
            throw new Error(`No ${selector} appeared.`);
        }
        await frame();
    }
    await frame();
    return performance.now() - begin;
}"""


def write(path: Path) -> None:
    """A notebook with a card under each of its cells."""
    made = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    drawn = [card for card in cards() if card.state == "success"]
    for n in range(CARDS):
        output = nbformat.v4.new_output("display_data", bundle(drawn[n % len(drawn)]))  # type: ignore[no-untyped-call]
        made.cells.append(
            nbformat.v4.new_code_cell(f"%tool read {n}", outputs=[output], execution_count=n + 1)
        )  # type: ignore[no-untyped-call]
    made.metadata.kernelspec = {
        "name": "python3",
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
    }
    nbformat.write(made, path)  # type: ignore[no-untyped-call]


async def measure(browser: Browser, *, extension: bool) -> tuple[list[float], float]:
    """Milliseconds to the first card, opening by opening,
    and the percent of a processor that the idle page takes.
    """
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        write(Path(served, "cards.ipynb"))
        if not extension:
            disable_extension(Path(home), "nbtools-agent")
        async with Server(Path(served), Path(home)) as server:
            page = await browser.new_page(viewport={"width": 1200, "height": 900})
            await open_lab(page, server.address("lab"))
            tab = Tab(page, Path(served, "cards.ipynb"), Path(served))
            times = []
            for _ in range(OPENINGS):
                times.append(
                    await page.evaluate(
                        PAINTED, ["cards.ipynb", ".nbtools-card" if extension else ".nbtools-html"]
                    )
                )
                await tab.ready()
                await tab.close()
            await tab.command("docmanager:open", path="cards.ipynb")
            await tab.ready()
            meter = await IdleMeter.of(browser)
            await meter.settle()
            share = await meter.percent()
            await page.close()
    return times, share


async def main() -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
        without, idle_without = await measure(browser, extension=False)
        times, idle = await measure(browser, extension=True)
        await browser.close()
    limits = {"explorer": 130, "editor": 30}
    sizes = dict.fromkeys(("every page", *limits), 0)
    for file in BUILT.glob("*.js"):
        sizes[next((name for name in limits if file.name.startswith(name)), "every page")] += (
            file.stat().st_size
        )
    table(
        "size",
        [Figure(name, [size / 1000], "kB", f"≤ {limits.get(name, 218)} kB") for name, size in sizes.items()],
    )
    names = ("without the extension, HTML", "with the extension")
    table(
        f"{CARDS} cards, until the first is painted",
        [Figure(name, values, "ms") for name, values in zip(names, (without, times), strict=True)],
    )
    table(
        f"{CARDS} cards, idle for {SECONDS} s, percent of a processor",
        [Figure(names[0], [idle_without], "%"), Figure(names[1], [idle], "%", "≤ 1 % more")],
    )


if __name__ == "__main__":
    asyncio.run(main())
