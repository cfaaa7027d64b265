"""The samples of an evaluation are listed with their scores, and opened from there."""

from __future__ import annotations

from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.accessibility import in_all_themes
from tests.browser.explorer import Explorer
from tests.traces.readers.inspect.test_log import archive, sample, tool


def write_samples(path):
    """An archive with a correct sample, an incorrect one, and one that ended with an error."""
    scored = [
        sample(
            tool(f"t{number}", number, "bash", arguments={"command": f"echo {number}"}),
            id_=f"sample {number}",
            scores={"match": {"value": value}},
        )
        for number, value in enumerate("CI")
    ]
    failed = sample(
        tool("t", 5, "bash"), id_="<b>third</b>", error={"message": "out of memory"}, limit={"type": "token"}
    )
    return archive(path, *scored, failed)


async def test_samples_are_listed_with_their_scores_and_errors_and_opened(views, tmp_path):
    trace = Explorer(views, await views.show(open_trace(write_samples(tmp_path / "log.eval"))))
    panel = await opened(trace)
    await expect(panel.get_by_role("row")).to_have_count(4)
    await expect(panel.get_by_role("row").nth(1)).to_contain_text("correct")
    await expect(panel.get_by_role("row").nth(2)).to_contain_text("incorrect")
    await expect(panel.get_by_role("row").nth(2)).to_contain_text("match: I")
    await expect(panel.get_by_role("row").nth(3)).to_contain_text("out of memory")
    await in_all_themes(views, '[aria-label="Samples"]')
    await views.look("samples", trace.cell)
    await samples_button(trace).click()
    await opened(trace)
    await expect(panel.get_by_role("button", name="sample 0")).to_be_focused()
    await panel.get_by_role("button", name="sample 1").click()
    await expect(trace.chosen).to_have_count(1)
    await views.page.keyboard.press("j")
    await expect(trace.chosen).to_contain_text("echo 1")
    await samples_button(trace).click()
    await expect(panel).to_have_count(0)


def samples_button(trace):
    return trace.node.get_by_role("button", name="samples", exact=True)


async def opened(trace):
    """Opens the table by the keyboard."""
    await samples_button(trace).focus()
    await trace.tab.page.keyboard.press("Enter")
    return trace.node.get_by_role("region", name="Samples")
