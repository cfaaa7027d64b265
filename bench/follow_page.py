"""Measures an open explorer that follows:
processor time while nothing is written, and the kernel's memory as the log grows.

``python bench/follow_page.py [MEGABYTES] [CALLS]`` opens a log of that size (default 200) and appends as many
calls (default 3,600, one a second for an hour), thirty at a time, as soon as the page shows the last ones.
NBTOOLS_BROWSER names the browser.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import psutil
from idle import IdleMeter
from playwright.async_api import async_playwright, expect

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.browser.conftest import ARGUMENTS, browser_path
from tests.browser.explorer import Explorer
from tests.browser.project import write_notebook
from tests.browser.server import Server
from tests.browser.tab import Tab
from tests.traces.test_generated import chain

SECONDS = 20
QUIET = 65
"""Seconds after which the page asks less often."""
AT_ONCE = 30
WARM_UP = 300
"""Calls that are appended before memory is looked at: the first update reads the log again as a whole."""
_OUTPUT = b"x" * 6_000


async def run(megabytes: int, calls: int) -> None:
    with tempfile.TemporaryDirectory() as served, tempfile.TemporaryDirectory() as home:
        folder = Path(served)
        log, lines = folder / "session.jsonl", chain(_OUTPUT)
        append(log, islice(lines, megabytes * 310 + 1))
        write_notebook(folder / "page.ipynb", ["t = %trace session.jsonl\nt"])
        async with Server(folder, Path(home)) as server, async_playwright() as playwright:
            browser = await playwright.chromium.launch(executable_path=browser_path(), args=ARGUMENTS)
            page = await browser.new_page(viewport={"width": 1200, "height": 900})
            page.set_default_timeout(600_000)
            expect.set_options(timeout=600_000)
            await page.goto(server.address("lab/tree", "page.ipynb"))
            tab = Tab(page, folder / "page.ipynb", folder)
            page.set_default_timeout(600_000)
            await tab.ready()
            await tab.run(0)
            await tab.run(1)
            trace = Explorer(tab, 1)
            button = trace.node.locator(".nbtools-trace-follow")
            await expect(button).to_have_text("Following")
            kernel, meter = kernel_process(), await IdleMeter.of(browser)
            await grow(trace, log, lines, WARM_UP)
            await asyncio.sleep(QUIET)
            await idle("following", kernel, meter)
            await button.click()
            await idle("paused", kernel, meter)
            await button.click()
            before, used, started = memory(kernel), processor(kernel), time.perf_counter()
            await grow(trace, log, lines, calls)
            seconds = time.perf_counter() - started
            print(
                f"log of {log.stat().st_size >> 20} MB, {calls:,} calls in {seconds:.0f} s: kernel {memory(kernel) - before:+.1f} MB"
                f" (of {before:.0f} MB), {1e3 * (processor(kernel) - used) / calls:.1f} ms of the kernel's processor time a call"
            )
            await browser.close()


async def grow(trace: Explorer, log: Path, lines: Iterator[bytes], calls: int) -> None:
    chip = trace.chip("All").first
    for _ in range(calls // AT_ONCE):
        steps = int((await chip.inner_text()).split()[-1].replace(",", ""))
        append(log, islice(lines, 2 * AT_ONCE))
        await expect(chip).to_have_text(f"All {steps + AT_ONCE:,}")


async def idle(state: str, kernel: psutil.Process, meter: IdleMeter) -> None:
    before = processor(kernel)
    page = await meter.percent(SECONDS)
    print(
        f"nothing is written, {state}: kernel {100 * (processor(kernel) - before) / SECONDS:.2f} %, page {page:.2f} % of a processor"
    )


def append(log: Path, lines: Iterator[bytes]) -> None:
    with log.open("ab") as file:
        file.writelines(line + b"\n" for line in lines)


def kernel_process() -> psutil.Process:
    """The only kernel below this process."""
    found = psutil.Process().children(recursive=True)
    return next(process for process in found if "ipykernel_launcher" in " ".join(process.cmdline()))


def processor(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def memory(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / (1 << 20)


if __name__ == "__main__":
    numbers = [int(argument) for argument in sys.argv[1:]]
    asyncio.run(run(*numbers, *(200, 3_600)[len(numbers) :]))
