"""The samples of an evaluation: a table to sort and filter, each sample with its whole texts,
and its steps, in which the scorer is a scorer.
"""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.accessibility import in_all_themes
from tests.browser.explorer import Explorer
from tests.traces.readers.inspect.test_log import HEADER, archive, sample, tool
from tests.traces.readers.inspect.test_scorers import IN_SPANS, RESULTS

HOSTILE = "<img src=x onerror=window.broken=true> \u202e\x1b[31m"
LONG = "\n".join(f"Line {number} of the input." for number in range(300))


def write_samples(path):
    """An archive with a correct sample, an incorrect one, and one that ended with an error."""
    scored = [
        sample(
            *IN_SPANS,
            id_=f"sample {number}",
            input=f"What is {number} + 2?\n{LONG}",
            target=str(number + 2),
            total_time=10.5 - number,
            scores={
                "graded": {"value": value, "answer": f"{number + 2} or so", "explanation": "As it says."},
                "length": {"value": number * 9},
            },
        )
        for number, value in enumerate("CI")
    ]
    failed = sample(
        tool("t", 5, "bash"),
        id_="<b>third</b>",
        input=HOSTILE,
        error={"message": "out of memory"},
        limit={"type": "token"},
        model_usage={"m": {"input_tokens": 5_000, "output_tokens": 2}},
        scores={"parts": {"value": {HOSTILE: [1, {"x": None}]}}},
    )
    return archive(path, *scored, failed, header=HEADER | {"results": RESULTS})


@pytest.fixture
def show(views, tmp_path):
    async def show(path=None):
        log = path or write_samples(tmp_path / "log.eval")
        return Explorer(views, await views.show(open_trace(log)))

    return show


async def test_samples_are_sorted_filtered_read_and_opened(views, show):
    trace = await show()
    await expect(trace.node).to_contain_text("accuracy 0.83 ± 0.038")
    panel = await opened(trace)
    rows = panel.locator(".nbtools-table-rows [role=row]")
    await expect(rows).to_have_count(3)
    await expect(trace.list).to_be_hidden()
    await expect(rows.nth(0)).to_contain_text("correct")
    await expect(trace.card).to_contain_text("Explanation of graded")
    await expect(trace.card).to_contain_text("more lines")
    for width in (1280, 800, 400):
        await views.page.set_viewport_size({"width": width, "height": 800})
        await views.look(f"samples-{width}", trace.cell)
    await views.page.set_viewport_size({"width": 1280, "height": 800})
    await in_all_themes(views, '[aria-label="Samples"]')
    tokens = panel.get_by_role("columnheader", name="Tokens")
    await tokens.get_by_role("button").click()
    await expect(tokens).to_have_attribute("aria-sort", "descending")
    await expect(rows_in_order(panel).first).to_contain_text("5,002")
    await tokens.get_by_role("button").click()
    await expect(rows_in_order(panel).last).to_contain_text("5,002")
    await panel.get_by_role("columnheader", name="length").get_by_role("button").click()
    await expect(rows_in_order(panel).first).to_contain_text("sample 1")
    await panel.get_by_role("button", name="incorrect").click()
    await expect(rows).to_have_count(1)
    await expect(panel.get_by_role("status")).to_have_text("1 of 3 samples")
    await panel.get_by_role("button", name="errors").click()
    await expect(rows).to_contain_text(["out of memory"])
    await expect(rows).to_contain_text(["<b>third</b>"])
    await rows.first.click()
    await expect(trace.card).to_contain_text("onerror=window.broken")
    await expect(trace.card).to_contain_text("token limit reached")
    await panel.get_by_role("button", name="errors").click()
    await panel.get_by_role("searchbox").fill("Sample incorrect")
    await expect(rows).to_have_count(1)
    await views.page.keyboard.press("Enter")
    await expect(trace.card).to_contain_text("What is 1 + 2?")
    await views.page.keyboard.press("Enter")
    await expect(panel).to_have_count(0)
    await expect(trace.chosen).to_contain_text("session")
    await expect(trace.chosen).to_contain_text("What is 1 + 2?")
    await views.page.keyboard.press("j")
    await expect(trace.chosen).to_contain_text("The answer is 4.")
    assert await views.page.evaluate("window.broken") is None


async def test_the_keyboard_goes_through_samples_and_back_to_the_steps(views, show):
    trace = await show()
    panel = await opened(trace)
    await expect(panel.get_by_role("grid")).to_be_focused()
    await views.page.keyboard.press("j")
    await expect(trace.card).to_contain_text("What is 1 + 2?")
    await views.page.keyboard.press("End")
    await expect(trace.card).to_contain_text("out of memory")
    await views.page.keyboard.press("/")
    await views.page.keyboard.type("sample 1")
    await views.page.keyboard.press("ArrowDown")
    await expect(panel.get_by_role("grid")).to_be_focused()
    await trace.panel.focus()
    await views.page.keyboard.press("Escape")
    await expect(panel.get_by_role("grid")).to_be_focused()
    await views.page.keyboard.press("Escape")
    await expect(panel).to_have_count(0)
    await expect(trace.list).to_be_visible()
    await samples_button(trace).click()
    await expect(panel).to_be_visible()
    await samples_button(trace).click()
    await expect(panel).to_have_count(0)


async def test_a_scorers_step_is_not_the_agents(views, show):
    trace = await show()
    await trace.chip("scorers").click()
    await expect(trace.rows).to_have_count(4)
    await expect(trace.rows.first).to_contain_text("scorer")
    await trace.rows.first.click()
    await expect(trace.card).to_contain_text("scorer")
    await expect(trace.card).not_to_contain_text("Agent")
    await views.look("scorer", trace.cell)


async def test_ten_thousand_samples_are_sorted_and_filtered_at_once(views, show, tmp_path):
    one = {"scores": {"match": {"value": "C"}}, "total_time": 1.5}
    many = [
        sample(id_=number, input=f"Question {number}?" * 5, **one, target="a", events=[])
        for number in range(10_000)
    ]
    trace = await show(archive(tmp_path / "many.eval", *many))
    panel = await opened(trace)
    await expect(panel.get_by_role("status")).to_have_text("10,000 samples")
    await panel.get_by_role("columnheader", name="Sample").get_by_role("button").click()
    await panel.get_by_role("columnheader", name="Sample").get_by_role("button").click()
    await expect(rows_in_order(panel).first).to_contain_text("Question 9999?")
    await panel.get_by_role("searchbox").fill("9876")
    await expect(panel.get_by_role("status")).to_have_text("1 of 10,000 samples")


def rows_in_order(panel):
    """The rows, which settle into their order in the page."""
    return panel.locator(".nbtools-table-rows [role=row]")


def samples_button(trace):
    return trace.node.get_by_role("button", name="samples", exact=True)


async def opened(trace):
    """Opens the table by the keyboard."""
    await samples_button(trace).focus()
    await trace.tab.page.keyboard.press("Enter")
    return trace.node.get_by_role("region", name="Samples")
