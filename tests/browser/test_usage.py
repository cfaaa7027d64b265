"""The distribution of tokens and time in the explorer."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.explorer import Explorer
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
