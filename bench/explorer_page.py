"""Measures the explorer of short and long logs in the browser: from running the cell to its rows, filters and
orders, the page's memory, and frames while the list scrolls.

python bench/explorer_page.py [CALLS…]   (NBTOOLS_BROWSER names the browser; the front end must be built:
make lab)
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.async_api import async_playwright, expect
from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_long_log
from tests.browser.project import write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab

CALLS = (600, 40_000, 100_000)
"""Logs of 150 kB, 10 MB and 25 MB."""
ROUNDS = 3
STEPS = 300
"""Frames in which the list is drawn from its top to its end."""
TURNS = 120
"""Turns of the wheel."""
OPEN = """async index => {
    const { content, sessionContext } = window.jupyterapp.shell.currentWidget;
    const { kernel } = sessionContext.session;
    let arrived = 0;
    const listen = (_, message) => {
        if (['execute_result', 'display_data'].includes(message.header.msg_type)) arrived ||= performance.now();
    };
    kernel.iopubMessage.connect(listen);
    content.activeCellIndex = index;
    const cell = content.widgets[index];
    cell.outputArea.model.clear();
    const painted = new Promise(resolve => {
        const look = () => {
            const name = cell.node.querySelector('.nbtools-trace-row:not([hidden]) .nbtools-trace-subject');
            if (!name?.textContent) return requestAnimationFrame(look);
            requestAnimationFrame(() => {
                const channel = new MessageChannel();
                channel.port1.onmessage = () => resolve(performance.now());
                channel.port2.postMessage(null);
            });
        };
        look();
    });
    const start = performance.now();
    void window.jupyterapp.commands.execute('notebook:run-cell');
    const end = await painted;
    kernel.iopubMessage.disconnect(listen);
    return [end - start, arrived - start, end - arrived];
}"""
"""Milliseconds until the rows are painted; until the bundle has come; from then on."""
WATCH = """() => {
    const seen = window.seen = { frames: [], tasks: [0] };
    let last = null;
    const frame = now => {
        if (last !== null) seen.frames.push(now - last);
        last = now;
        seen.watching = requestAnimationFrame(frame);
    };
    seen.watching = requestAnimationFrame(frame);
    seen.observer = new PerformanceObserver(list => list.getEntries().forEach(({ duration }) => seen.tasks.push(duration)));
    seen.observer.observe({ type: 'longtask' });
}"""
SEEN = "() => { cancelAnimationFrame(seen.watching); seen.observer.disconnect(); return [seen.frames, seen.tasks]; }"
DRAG = """(list, steps) => new Promise(resolve => {
    const height = list.scrollHeight - list.clientHeight;
    let step = 0;
    const frame = () => {
        list.scrollTop = height * ++step / steps;
        step < steps ? requestAnimationFrame(frame) : resolve();
    };
    requestAnimationFrame(frame);
})"""


SWITCH = """(trace, name) => new Promise(resolve => {
    const button = [...trace.querySelectorAll('.nbtools-trace-mode')].find(one => one.textContent === name);
    const start = performance.now();
    button.click();
    const look = () => {
        if (button.getAttribute('aria-pressed') !== 'true') return requestAnimationFrame(look);
        requestAnimationFrame(() => resolve(performance.now() - start));
    };
    look();
})"""
"""Milliseconds from the click until the overview is painted."""
USAGE = """trace => new Promise(resolve => {
    const button = [...trace.querySelectorAll('button')].find(one => one.textContent === 'Usage');
    const start = performance.now();
    button.click();
    const look = () => trace.querySelector('.nbtools-trace-usage table')
        ? requestAnimationFrame(() => { button.click(); resolve(performance.now() - start); })
        : requestAnimationFrame(look);
    look();
})"""
CHIP = """(trace, key) => new Promise(resolve => {
    const chip = trace.querySelector(`.nbtools-trace-chip[data-key="${key}"]`);
    const start = performance.now();
    chip.click();
    const look = () => chip.getAttribute('aria-pressed') === 'true'
        ? requestAnimationFrame(() => resolve(performance.now() - start))
        : requestAnimationFrame(look);
    look();
})"""
"""Milliseconds from the click on a chip until the list under it is painted."""
ORDER = """(trace, order) => new Promise(resolve => {
    const menu = trace.querySelector('select[aria-label="Order of the steps"]');
    const start = performance.now();
    menu.value = order;
    menu.dispatchEvent(new Event('change'));
    requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
})"""
"""Milliseconds until the list in another order is painted."""
KEY = """trace => new Promise(resolve => {
    const number = () => trace.querySelector('.nbtools-trace-row[aria-selected="true"] .nbtools-trace-number')?.textContent;
    const opened = () => trace.querySelector('.nbtools-trace-panel')?.textContent.match(/step ([\\d.]+)/)?.[1];
    const before = number();
    let marked = 0;
    const start = performance.now();
    trace.querySelector('.nbtools-trace-list').dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true, cancelable: true }));
    const look = () => {
        marked ||= number() !== before ? performance.now() : 0;
        if (!marked || opened() !== number()) return requestAnimationFrame(look);
        requestAnimationFrame(() => resolve([marked - start, performance.now() - start]));
    };
    look();
})"""
"""Milliseconds from ``j`` until the next row is marked, and until its step is painted."""
KEYS = 30
"""How often ``j`` is pressed."""


@dataclass
class Frames:
    """Milliseconds, a value for each round."""

    worst: list[float] = field(default_factory=list)
    p95: list[float] = field(default_factory=list)
    task: list[float] = field(default_factory=list)

    def add(self, frames: list[float], tasks: list[float]) -> None:
        ordered = sorted(frames)
        self.worst.append(ordered[-1])
        self.p95.append(ordered[int(len(ordered) * 0.95)])
        self.task.append(max(tasks))

    def figures(self, name: str) -> list[Figure]:
        return [
            Figure(f"{name}: worst frame", self.worst, "ms", "≤ 50 ms"),
            Figure(f"{name}: 95 % of frames", self.p95, "ms"),
            Figure(f"{name}: longest task", self.task, "ms"),
        ]


@dataclass
class Taken:
    """The measurements; ``opened`` are milliseconds until painted, until arrived,
    from arrival until painted.
    """

    opened: list[list[float]] = field(default_factory=list)
    filtered: list[float] = field(default_factory=list)
    ordered: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    dragged: Frames = field(default_factory=Frames)
    wheeled: Frames = field(default_factory=Frames)
    switched: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    keys: list[list[float]] = field(default_factory=list)


async def measure(tab: Tab) -> Taken:
    """Opens the log as often as there are rounds in a kernel that has opened one before, and scrolls."""
    taken = Taken()
    await tab.run(0)
    devtools = await tab.page.context.new_cdp_session(tab.page)
    before = await heap(devtools)
    await tab.page.evaluate(OPEN, 1)
    for _ in range(ROUNDS):
        taken.opened.append(await tab.page.evaluate(OPEN, 1))
        trace = Explorer(tab, 1)
        for _ in range(2):  # chosen and removed
            taken.filtered.append(await trace.node.evaluate(CHIP, "end:failed"))
            await trace.node.evaluate(CHIP, "")
        taken.ordered += [await trace.node.evaluate(ORDER, order) for order in ("duration", "tokens", "")]
        await switch(trace, taken)
        taken.dragged.add(*await watched(tab, trace, drag))
        taken.wheeled.add(*await watched(tab, trace, wheel))
        taken.memory.append(await heap(devtools) - before)
    return taken


async def heap(devtools: Any) -> float:
    """Returns the memory of the page's scripts and typed arrays, in MB."""
    await devtools.send("HeapProfiler.collectGarbage")
    used = await devtools.send("Runtime.getHeapUsage")
    return float(used["usedSize"] + used.get("backingStorageSize", 0)) / 1e6


async def switch(trace: Explorer, taken: Taken) -> None:
    """Chooses the overviews, the first time as soon as the rows are there, opens the usage,
    and moves by keys.
    """
    for name, kind in (
        ("Time", "first"),
        ("Tokens", "first"),
        ("Steps", "later"),
        ("Time", "later"),
        ("Tokens", "later"),
    ):
        taken.switched[f"{name}, {kind}"].append(await trace.node.evaluate(SWITCH, name))
    for kind in ("first", "later"):
        taken.switched[f"Usage, {kind}"].append(await trace.node.evaluate(USAGE))
    await trace.rows.first.click()
    await expect(trace.chosen).to_be_visible()
    await trace.node.evaluate(KEY)  # loads the tools
    taken.keys += [await trace.node.evaluate(KEY) for _ in range(KEYS)]


async def watched(tab: Tab, trace: Explorer, scroll: Any) -> tuple[list[float], list[float]]:
    """Frames and long tasks while the list scrolls from its top, and until its last rows have come."""
    await trace.list.evaluate("list => { list.scrollTop = 0; }")
    await expect(trace.row("Now make part 0 exact.")).to_be_visible()
    await tab.page.evaluate(WATCH)
    await scroll(tab, trace)
    await expect(trace.list.locator(".nbtools-trace-empty:visible")).to_have_count(0)
    frames, tasks = await tab.page.evaluate(SEEN)
    return frames, tasks


async def drag(_: Tab, trace: Explorer) -> None:
    await trace.list.evaluate(DRAG, STEPS)


async def wheel(tab: Tab, trace: Explorer) -> None:
    await trace.list.hover()
    for _ in range(TURNS):
        await tab.page.mouse.wheel(0, 400)


async def run(calls: int) -> Taken:
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = Path(served)
        write_long_log(folder / "long.jsonl", calls)
        write_notebook(folder / "page.ipynb", ["%trace long.jsonl"])
        async with Server(folder, Path(home)) as server, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page(viewport={"width": 1200, "height": 900})
            await page.goto(server.address("lab/tree", "page.ipynb"))
            tab = Tab(page, folder / "page.ipynb", folder)
            await tab.ready()
            taken = await measure(tab)
            await browser.close()
    return taken


def main() -> None:
    for calls in [int(calls) for calls in sys.argv[1:]] or CALLS:
        report(calls, asyncio.run(run(calls)))


def report(calls: int, taken: Taken) -> None:
    painted, arrived, drawn = zip(*taken.opened, strict=True)
    table(
        f"explorer, {calls:,} calls: ms from running the cell, warm kernel, {ROUNDS} rounds",
        [
            Figure("to the rows on the page", painted, "ms", "≤ 1000 ms" if calls == 100_000 else ""),
            Figure("… to the bundle's arrival", arrived, "ms"),
            Figure("… from there to the rows", drawn, "ms", "≤ 300 ms"),
            Figure("memory of the page", taken.memory, "MB"),
        ],
    )
    table(
        "its list: ms from the click until it is painted",
        [
            Figure("filter", taken.filtered, "ms", "≤ 50 ms"),
            Figure("order", taken.ordered, "ms", "≤ 50 ms"),
        ],
    )
    marked, opened = zip(*taken.keys, strict=True)
    table(
        "its overviews, usage and keys: ms until painted",
        [
            *(
                Figure(name, times, "ms", "≤ 100 ms" if "later" in name else "")
                for name, times in taken.switched.items()
            ),
            Figure("j to the marked row", marked, "ms", "≤ 100 ms"),
            Figure("j to the opened step", opened, "ms"),
        ],
    )
    table(
        f"its list: ms, {STEPS} steps from top to end; {TURNS} turns of the wheel",
        [*taken.dragged.figures("top to end"), *taken.wheeled.figures("wheel")],
    )


if __name__ == "__main__":
    main()
