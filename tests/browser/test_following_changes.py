"""An open explorer whose log is cut, rewritten, deleted and replaced, and whose kernel or tab ends."""

from __future__ import annotations

import json
import random
from itertools import islice

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.explorer import Explorer
from tests.browser.test_following import IS_AT_END
from tests.browser.test_log_tabs import KEPT, LINES
from tests.traces.test_generated import SESSION, chain
from tests.waiting import eventually, falls_silent

SAME = json.loads(LINES[KEPT])["sessionId"].encode()
ASKED = """() => {
    window.asked = 0;
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    kernel.anyMessage.connect((_, { msg, direction }) => {
        window.asked += direction === 'send' && JSON.stringify(msg.content).includes('"trace.follow"');
    });
}"""
HOSTILE = [
    (
        b'{"type":"user","uuid":"x","parentUuid":null,"sessionId":"s","timestamp":"now","message":{"role":"user","content":'
        b'"<img src=x onerror=window.broken=true>\\u202e\\u0000 [a](javascript:window.broken=true)"}}\n'
    ),
    (
        b'{"type":"assistant","uuid":"y","parentUuid":"x","sessionId":"s","message":{"role":"assistant","content":[{"type":"tool_use",'
        b'"id":"<b>","name":"<img src=x onerror=window.broken=true>","input":{"file_path":"../../etc/passwd"}}]}}\n'
    ),
    b"<script>window.broken = true</script>\n",
    b"\xff\xfe\x00" * 100 + b"\n",
    b"[" * 5_000 + b"\n",
    b'{"type":"user","uuid":"z","parentUuid":"y","sessionId":"s","message":{"role":"user","content":"'
    + b"a" * 2_000_000
    + b'"}}\n',
]


@pytest.fixture
def growing(tmp_path):
    """The beginning of a log."""
    log = tmp_path / "session.jsonl"
    log.write_bytes(b"".join(LINES[:KEPT]))
    return log


async def show_following(views, log):
    """Shows a log in an explorer of its own."""
    trace = Explorer(views, await views.show(open_trace(log)))
    await expect(trace.node.locator(".nbtools-trace-follow")).to_have_text("Following")
    return trace


async def test_pieces_of_any_size_two_explorers_and_a_thousand_lines_at_once(views, growing):
    trace, other = await show_following(views, growing), await show_following(views, growing)
    await trace.rows.nth(3).click()
    chosen = await trace.chosen.inner_text()
    chance, rest = random.Random(17), b"".join(LINES[KEPT:])
    at = 0
    with growing.open("ab") as file:
        while at < len(rest):
            size = chance.choice((1, 7, 300, 5_000, 60_000))
            file.write(rest[at : at + size])
            file.flush()
            at += size
            await trace.tab.page.evaluate("null")
    for one in (trace, other):
        await expect(one.chip("All")).to_have_text("All 133")
    await other.to_end()
    with growing.open("ab") as file:
        file.writelines(line.replace(SESSION.encode(), SAME) + b"\n" for line in islice(chain(), 1_001))
    for one in (trace, other):
        await expect(one.chip("All").first).to_have_text("All 634")
    await expect(trace.chosen).to_have_text(chosen, use_inner_text=True)
    await eventually(True, other.list.evaluate, IS_AT_END)
    await expect(trace.node.locator(".nbtools-trace-new-steps button")).to_have_text("579 new steps")


async def test_a_log_that_is_cut_deleted_and_replaced(views, growing):
    trace, log, page = await show_following(views, growing), growing, views.page
    await trace.to_end()
    await trace.rows.last.click()
    log.write_bytes(b"".join(LINES[:60]))
    await expect(trace.node).to_contain_text("60 records")
    await expect(trace.card).to_be_visible()
    count = await trace.chip("All").inner_text()
    await expect(trace.rows.first).to_be_visible()
    log.unlink()
    await views.asks_for("trace.follow", len(views.asked_for("trace.follow")) + 3)
    await views.settled()
    await expect(trace.chip("All")).to_have_text(count)
    await trace.rows.first.click()
    await expect(trace.panel).to_contain_text("No such file")
    log.write_bytes(b"".join(LINES[:KEPT]))
    await expect(trace.node).to_contain_text(f"{KEPT} records")
    await trace.rows.first.click()
    await expect(trace.card).to_be_visible()
    log.write_bytes(b"".join(HOSTILE))
    await expect(trace.chip("All")).to_have_text("All 3")
    for row in range(3):
        await trace.list.locator(f'[data-index="{row}"]').click()
        await expect(trace.card).to_be_visible()
    await trace.tab.look("following-hostile", trace.cell)
    assert await page.evaluate("window.broken") is None
    new = log.with_suffix(".new")
    new.write_bytes(b"".join(LINES))
    new.rename(log)
    await expect(trace.chip("All")).to_have_text("All 133")
    assert await page.evaluate("window.broken") is None


async def test_after_a_restart_the_cell_is_to_be_run_again_and_a_closed_tab_ends_the_requests(
    open_notebook, project
):
    log = project / "session.jsonl"
    log.write_bytes(b"".join(LINES[:KEPT]))
    tab = await open_notebook("t = %trace session.jsonl\nt")
    await tab.run(1)
    trace, page = Explorer(tab, 1), tab.page
    await expect(trace.node.locator(".nbtools-trace-follow")).to_have_text("Following")
    await page.evaluate(ASKED)
    await trace.tab.press("restart")
    await page.locator(".jp-Dialog").get_by_role("button", name="Confirm").click()
    await expect(trace.notice).to_contain_text("Run the cell again")
    await trace.tab.ready()
    await falls_silent(lambda: page.evaluate("window.asked"), 4)
    await trace.chip("writes").click()
    await expect(trace.notice).to_contain_text("Run the cell again")
    await trace.tab.run(0)
    await trace.tab.run(1)
    await trace.chip("writes").click()
    await expect(trace.found).to_contain_text("of 55")
    await expect(trace.notice).to_be_empty()
    with log.open("ab") as file:
        file.writelines(LINES[KEPT:])
    await expect(trace.chip("All")).to_have_text("All 133")
    await page.evaluate("window.asked = 0")
    await page.wait_for_function("window.asked > 1")
    await trace.tab.close()
    await falls_silent(lambda: page.evaluate("window.asked"), 1.5)
