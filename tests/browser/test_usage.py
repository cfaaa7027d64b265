"""The distribution of tokens and time in the explorer."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.explorer import Explorer
from tests.browser.long_log import write_long_log
from tests.traces.readers.test_claude_api_requests import session
from tests.traces.readers.test_claude_code import SESSION, write
from tests.traces.recorded import SAMPLES

REAL = SAMPLES / "claude-code" / "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"


@pytest.fixture
def open_log(views):
    async def open_log(log=REAL):
        explorer = Explorer(views, await views.show(open_trace(log)))
        await expect(explorer.rows.first).to_be_visible()
        return explorer

    return open_log


def mode(trace, name):
    return trace.node.get_by_role("group", name="Overview").get_by_role("button", name=name, exact=True)


async def test_the_strip_shows_steps_tokens_and_time(open_log):
    trace = await open_log()
    await expect(mode(trace, "Steps")).to_have_attribute("aria-pressed", "true")
    await mode(trace, "Tokens").click()
    strip = trace.node.get_by_role("slider")
    await expect(strip).to_have_accessible_name(
        "Tokens: arrow keys select a request, Shift and arrow keys select a range"
    )
    await expect(trace.node.locator(".nbtools-trace-legend:visible")).to_contain_text("from the cache")
    await trace.tab.look("usage-tokens", trace.cell)
    await strip.press("Home")
    await expect(strip).to_have_attribute("aria-valuetext", "24 k in (16 k cached), 757 out")
    await expect(trace.panel).to_contain_text("request: 24 k in (16 k cached), 757 out")
    await strip.press("ArrowRight")
    await strip.press("Shift+ArrowRight")
    await expect(trace.found).to_contain_text("of")
    await expect(strip).to_have_attribute("aria-valuetext", re.compile(r" in\b.*, listed: lines"))
    await strip.press("Escape")
    await mode(trace, "Time").click()
    await expect(strip).to_have_accessible_name(
        "Time: arrow keys select a step, Shift and arrow keys select a range"
    )
    await expect(trace.node.locator(".nbtools-trace-legend:visible")).to_contain_text(
        "From the top: turns, calls"
    )
    await trace.tab.look("usage-time", trace.cell)
    await strip.click()
    await expect(trace.chosen).to_have_count(1)
    await drag_and_list_all(trace, strip)
    await mode(trace, "Steps").click()
    await expect(strip).to_have_accessible_name(
        "Timeline: arrow keys select a step, Shift and arrow keys select a range"
    )
    await drag_and_list_all(trace, strip)


async def drag_and_list_all(trace, strip):
    """Lists a range by pointer, and all steps by a double click."""
    mouse = trace.tab.page.mouse
    await strip.hover(position={"x": 60, "y": 20})
    await mouse.down()
    await strip.hover(position={"x": 200, "y": 20})
    await mouse.up()
    await expect(strip).to_have_attribute("aria-valuetext", re.compile("listed: lines"))
    await expect(trace.found).to_contain_text("of")
    await strip.dblclick()
    await expect(strip).not_to_have_attribute("aria-valuetext", re.compile("listed: lines"))


async def test_the_list_is_sorted_by_tokens_and_by_duration(open_log):
    trace = await open_log()
    await trace.choose("Order of the steps", "most tokens first")
    await expect(trace.rows.first).to_contain_text("in (")
    for row in range(5):
        await expect(trace.rows.nth(row)).to_contain_text(" in (")
    await trace.choose("Order of the steps", "slowest first")
    await expect(trace.rows.first).not_to_contain_text("in (")
    await trace.choose("Order of the steps", "in order")
    await expect(trace.rows.first.locator(".nbtools-trace-number")).to_have_text("1")


async def test_the_usage_is_broken_down_and_lists_the_steps_of_a_file(open_log):
    trace = await open_log()
    await trace.node.get_by_role("button", name="Usage", exact=True).click()
    panel = trace.node.get_by_role("region", name="Usage")
    await expect(panel.get_by_role("table", name="Added to the context")).to_be_visible()
    await expect(panel.get_by_role("rowheader", name="files read")).to_be_visible()
    await expect(panel).not_to_contain_text("genai-prices")
    await trace.tab.look("usage-panel", trace.cell)
    await panel.get_by_role("button", name="Show prices").click()
    await expect(panel).to_contain_text("by the prices of 2026-03-")
    files = panel.get_by_role("table", name="By file").get_by_role("button")
    name = await files.first.text_content()
    await files.first.click()
    await expect(trace.node.get_by_label("File", exact=True)).to_have_value(
        re.compile("^path:.*" + re.escape(name.removeprefix("…/")) + "$")
    )
    await panel.get_by_role("table", name="Slowest calls").get_by_role("button").first.click()
    await expect(trace.chosen).to_have_count(1)


async def test_a_log_without_tokens_says_so(open_log):
    trace = await open_log(SAMPLES / "swe-agent" / "pydicom__pydicom-1458.traj")
    await mode(trace, "Tokens").click()
    await expect(trace.node.locator(".nbtools-trace-legend:visible")).to_have_text(
        "This log does not record the tokens of its requests."
    )


async def test_the_kernel_adds_up_the_overviews_before_it_looks_for_signals(views):
    await views.show(open_trace(REAL))
    await views.asks_for("trace.review")
    kinds = [one.task["type"] for one in views.asked]
    assert kinds[: kinds.index("trace.review")].count("trace.strip") >= 2


RED = """canvas => {
    const { width, height } = canvas;
    const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);
    let count = 0;
    for (let i = 0; i < data.length; i += 4) {
        count += Number(data[i] > 150 && data[i + 1] < 90 && data[i + 3] > 200);
    }
    return count / (width * height);
}"""
"""Returns the share of red pixels."""
RECTANGLE = (
    "node => { const { top, bottom, width } = node.getBoundingClientRect(); return { top, bottom, width }; }"
)
FITS = "nodes => nodes.every(node => node.scrollWidth <= node.clientWidth + 1 && node.getBoundingClientRect().width > 0)"
CUT = """legend => {
    const { bottom } = legend.getBoundingClientRect();
    const boxes = [...legend.children].map(node => [node.textContent, node.getBoundingClientRect()]);
    return boxes.filter(([, box]) => box.top < bottom - 1 && box.bottom > bottom + 1).map(([text]) => text);
}"""
"""The texts of a legend of which only the upper part is in view."""


@pytest.fixture
def window(views):
    """Changes the size of the window for a test."""

    async def window(width, height):
        await views.page.set_viewport_size({"width": width, "height": height})

    return window


@pytest.mark.parametrize("width", [1280, 800])
async def test_sorted_rows_show_what_they_are_sorted_by(open_log, window, width):
    await window(width, 800)
    trace = await open_log()
    await trace.choose("Order of the steps", "slowest first")
    amounts = trace.rows.locator(".nbtools-trace-amount")
    await expect(amounts.first).to_have_text("6 min 36 s")
    assert await amounts.evaluate_all(FITS)
    await trace.tab.look(f"usage-slowest-{width}", trace.cell)
    await trace.choose("Order of the steps", "most tokens first")
    await expect(amounts.first).to_have_text(re.compile(r"^\d+ k$"))
    assert await amounts.evaluate_all(FITS)


async def test_an_order_that_a_log_has_no_numbers_for_cannot_be_chosen(open_log):
    trace = await open_log(SAMPLES / "swe-agent" / "pydicom__pydicom-1458.traj")
    options = trace.node.get_by_label("Order of the steps", exact=True).locator("option")
    await expect(options.nth(1)).to_have_text("most tokens first: not recorded")
    await expect(options.nth(1)).to_be_disabled()
    await expect(options.nth(2)).to_have_text("slowest first: no times recorded")
    await expect(options.nth(2)).to_be_disabled()


@pytest.mark.parametrize("width", [1280, 800])
async def test_steps_stay_in_view_beside_usage(open_log, window, width):
    await window(width, 800)
    trace = await open_log()
    await trace.node.get_by_role("button", name="Usage", exact=True).click()
    panel = trace.node.get_by_role("region", name="Usage")
    await expect(panel.get_by_role("table", name="By tool")).to_be_visible()
    assert await trace.rows.count() >= 6
    for part in (trace.list, panel):
        assert (await part.evaluate(RECTANGLE))["bottom"] <= 800
    await trace.tab.look(f"usage-beside-{width}", trace.cell)
    await panel.get_by_role("button", name="Read", exact=True).click()
    await expect(trace.node.get_by_label("Tool", exact=True)).to_have_value("tool:Read")
    await expect(trace.rows.first.locator(".nbtools-trace-name")).to_have_text("Read")
    await expect(panel).to_be_visible()


async def test_estimates_are_marked_and_have_their_bounds(open_log):
    trace = await open_log()
    await trace.node.get_by_role("button", name="Usage", exact=True).click()
    panel = trace.node.get_by_role("region", name="Usage")
    row = panel.get_by_role("table", name="Added to the context").locator("tr", has_text="files read")
    cell = row.locator("td").nth(1)
    await expect(cell).to_have_text(re.compile("^≈ \\d+ k$"))
    await expect(cell).to_have_attribute(
        "title", re.compile("^Estimate: .* by the counts of whole requests$")
    )
    head = panel.get_by_role("columnheader", name="sent in all").first
    await expect(head).to_have_attribute("title", re.compile("^Characters × requests"))


async def test_a_log_with_whole_requests_is_proven(views, tmp_path):
    log = write(tmp_path / f"{SESSION}.jsonl", session())
    trace = Explorer(views, await views.show(open_trace(log)))
    await trace.node.get_by_role("button", name="Usage", exact=True).click()
    table = trace.node.get_by_role("table", name="Added to the context")
    await expect(table.get_by_role("note")).to_have_text("proven")
    await expect(table.get_by_role("rowheader", name="system prompt")).to_be_visible()
    await expect(table.get_by_role("rowheader", name="definitions of tools")).to_be_visible()
    await expect(table).not_to_contain_text("not in the log")
    await trace.tab.look("usage-proven", trace.cell)


@pytest.mark.parametrize(("width", "height"), [(1280, 800), (400, 800)])
async def test_the_head_leaves_room_for_the_steps(open_log, window, width, height):
    await window(width, height)
    trace = await open_log()
    top = (await trace.node.evaluate(RECTANGLE))["top"]
    main = (await trace.node.locator(".nbtools-trace-main").evaluate(RECTANGLE))["top"]
    await trace.tab.look(f"usage-head-{width}", trace.cell)
    assert width < 1280 or main - top <= height / 5
    facts = trace.node.locator(".nbtools-trace-facts")
    more = trace.node.get_by_role("button", name="more", exact=True)
    if await more.is_visible():
        await more.click()
        await expect(trace.node.get_by_role("button", name="less", exact=True)).to_be_visible()
    assert await facts.evaluate_all(FITS)
    await trace.tab.look(f"usage-head-open-{width}", trace.cell)


async def test_no_text_of_a_legend_is_cut_in_half(open_log, window):
    await window(620, 800)
    trace = await open_log(SAMPLES / "codex" / "skills--019dd4b9-496d-7581-a780-16f20aecff69.jsonl")
    assert await trace.node.locator(".nbtools-trace-legend:visible").evaluate(CUT) == []


async def test_overviews_of_a_long_log_show_shares(views, tmp_path):
    log = write_long_log(tmp_path / "long.jsonl", 20_000)
    trace = Explorer(views, await views.show(open_trace(log)))
    await expect(trace.rows.first).to_be_visible()
    await trace.tab.look("usage-long-steps", trace.cell)
    await mode(trace, "Time").click()
    await expect(trace.node.locator(".nbtools-trace-legend:visible")).to_contain_text("failed")
    strip = trace.node.locator(".nbtools-trace-strip:visible > canvas")
    assert 0 < await strip.evaluate(RED) < 0.1
    await trace.tab.look("usage-long-time", trace.cell)
    await mode(trace, "Steps").click()
    await trace.chip("failed").click()
    assert 0 < await strip.evaluate(RED) < 0.3
    await trace.tab.look("usage-long-failed", trace.cell)
