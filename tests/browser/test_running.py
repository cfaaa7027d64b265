"""Calls that run: output in place, a tab that stays alive, and an end when the person wants one."""

from __future__ import annotations

import asyncio
import os
import re

import psutil
from playwright.async_api import expect

from tests.browser.tab import PATIENCE

STREAM = r"%tool shell n=0; until [ -e typed ]; do n=$((n+1)); printf '\033[32mstep %s\033[0m of many\n' $n; sleep 0.1; done; echo the end"
LONG = "%tool shell bash -c 'echo $$ > inner.pid; exec sleep 300' & echo $$ > outer.pid; sleep 301"
WATCH_FRAMES = """() => {
    window.gaps = [];
    let last = performance.now();
    const frame = now => { window.gaps.push(now - last); last = now; window.watching = requestAnimationFrame(frame); };
    window.watching = requestAnimationFrame(frame);
}"""
LONGEST_GAP = "() => { cancelAnimationFrame(window.watching); return Math.max(...window.gaps); }"


def is_alive(pid: int) -> bool:
    """Whether a process still runs; one that is dead and only waits for its parent to look does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


async def have_ended(tab):
    """Waits until both commands have ended; both sleep for longer than this waits."""
    async with asyncio.timeout(PATIENCE / 1000):
        while any(is_alive(int(tab.read(name))) for name in ("inner.pid", "outer.pid")):
            await asyncio.sleep(0.05)


async def test_a_streaming_command_leaves_the_tab_responsive_and_a_failing_one_shows_its_exit_code(
    open_notebook, record_property
):
    """The command ends only when the text typed in between is shown;
    how long that took is printed with the test.
    """
    fails = "%tool shell printf '\\033[1;31mE\\033[0m  1 failed\\n'; exit 3"
    tab = await open_notebook("%tools allow shell", STREAM, "", fails, "%tool shell true")
    await tab.run(1)
    await tab.start(2)
    await expect(tab.status(2)).to_have_text("Running")
    card = await tab.card(2).element_handle()
    await tab.page.evaluate(WATCH_FRAMES)
    detail = tab.card(2).locator(".nbtools-detail")
    seen = await detail.inner_text()
    await expect(detail).not_to_have_text(seen)
    await expect(tab.card(2).locator(".nbtools-lines")).to_contain_text(
        re.compile(r"step ([2-9]\d|\d{3,}) of many")
    )
    await tab.cell(3).locator(".cm-content").click()
    before = await tab.page.evaluate("performance.now()")
    await tab.page.keyboard.type("still = 'here'")
    await expect(tab.cell(3).locator(".cm-content")).to_have_text("still = 'here'")
    typed = await tab.page.evaluate("performance.now()") - before
    gap = await tab.page.evaluate(LONGEST_GAP)
    await expect(tab.status(2)).to_have_text("Running")
    await tab.look("running", tab.cell(2))
    (tab.folder / "typed").touch()
    await tab.done(2)
    await expect(tab.status(2)).to_have_text("Done")
    await expect(tab.card(2).locator(".nbtools-lines")).to_contain_text("the end")
    assert await card.evaluate(
        "(old, now) => old.isConnected && old === now", await tab.card(2).element_handle()
    )
    await tab.look("ran", tab.cell(2))
    record_property("longest_frame_gap_ms", gap)
    record_property("typed_ms", typed)
    print(f"longest frame gap {gap:.0f} ms, 14 keys shown after {typed:.0f} ms")
    await tab.run(4)
    await tab.run(5)
    await expect(tab.status(4)).to_have_text("Exit 3")
    await expect(tab.status(5)).to_have_text("Done")
    await tab.look("exit-code", tab.panel)


async def test_cancel_and_the_stop_button_end_a_call_that_runs_or_waits(open_notebook):
    """Every process of the command ends, and the kernel runs the next cell."""
    waiting = (
        "%tool edit notes.txt --old two --new 2",
        "await tools.edit.start('notes.txt', old='two', new='2')",
    )
    running = (LONG, "await tools.shell.start('echo $$ > inner.pid; echo $$ > outer.pid; sleep 301')", LONG)
    cells = [waiting[0], "'after 1'", waiting[1], "'after 3'", "%tools allow shell"]
    tab = await open_notebook(
        *cells, running[0], "'after 6'", running[1], "'after 8'", running[2], "'after 10'"
    )
    for index in (1, 3):
        await tab.start(index)
        await expect(tab.question(index)).to_be_visible()
        await tab.press("interrupt")
        await is_cancelled(tab, index)
        await expect(tab.question(index)).to_have_count(0)
        await expect(tab.cell(index)).to_contain_text("KeyboardInterrupt")
        assert tab.read("notes.txt") == "one\ntwo\nthree\n"

    await tab.run(5)
    for index in (6, 8, 10):
        for name in ("inner.pid", "outer.pid"):
            (tab.folder / name).unlink(missing_ok=True)
        await tab.start(index)
        await tab.exists("inner.pid", "outer.pid")
        await expect(tab.status(index)).to_have_text("Running")
        if index == 10:
            await tab.card(index).get_by_role("button", name="Cancel").click()
        else:
            await tab.press("interrupt")
        await have_ended(tab)
        await is_cancelled(tab, index)


async def is_cancelled(tab, index):
    await tab.done(index)
    await expect(tab.status(index)).to_have_text("Cancelled")
    await tab.look(f"cancelled-{index}", tab.cell(index))
    await tab.run(index + 1)
    await expect(tab.output(index + 1)).to_have_text(f"'after {index}'")


async def test_a_background_call_goes_on_while_another_cell_blocks(open_notebook):
    steps = "job = tools.shell.background('for n in 1 2 3; do echo step $n; sleep 0.4; done')"
    tab = await open_notebook("%tools allow shell", steps, "open('go').read()", "job")
    os.mkfifo(tab.folder / "go")  # the opener waits for the other
    await tab.run(1)
    await tab.run(2)
    await tab.start(3)
    await expect(tab.status(2)).to_have_text("Done")
    await expect(tab.card(2)).to_contain_text("step 3")
    await tab.is_busy(3)
    (tab.folder / "go").write_text("now")
    await tab.done(3)
    await tab.run(4)
    await expect(tab.output(4)).to_contain_text(re.compile("shell .*: done"))
