"""The samples of an evaluation are listed with their scores, and opened from there."""

from __future__ import annotations

import shutil

import pytest
from playwright.async_api import expect

from nbtools import open_trace
from tests.browser.accessibility import in_all_themes
from tests.browser.explorer import Explorer
from tests.traces.readers.inspect.test_log import archive, sample, tool


@pytest.fixture
def samples(tmp_path):
    """An archive with a correct sample, an incorrect one, and one that ended with an error."""
    scored = [
        sample(
            tool(f"t{number}", number, "bash", arguments={"command": f"echo {number}"}),
            id_=f"sample {number}",
            scores={"match": {"value": value}},
        )
        for number, value in enumerate("CI")
    ]
    failed = sample(tool("t", 5, "bash"), id_="<b>third</b>", error={"message": "out of memory"}, limit={"type": "token"})
    path = tmp_path / "log.eval"
    archive(path, *scored, failed)
    return path


async def test_samples_are_listed_with_their_scores_and_errors(views, samples):
    trace = Explorer(views, await views.show(open_trace(samples)))
    panel = await opened(trace)
    await expect(panel.get_by_role("row")).to_have_count(4)
    await expect(panel.get_by_role("row").nth(1)).to_contain_text("correct")
    await expect(panel.get_by_role("row").nth(2)).to_contain_text("incorrect")
    await expect(panel.get_by_role("row").nth(2)).to_contain_text("match: I")
    await expect(panel.get_by_role("row").nth(3)).to_contain_text("out of memory")
    await in_all_themes(views)
    await views.look("samples", trace.cell)


async def test_a_sample_is_opened_from_the_table_of_samples(open_notebook, project, samples):
    shutil.copy(samples, project / "log.eval")
    tab = await open_notebook("%trace log.eval")
    await tab.run(1)
    trace = Explorer(tab, 1)
    panel = await opened(trace)
    await expect(panel.get_by_role("button", name="sample 0")).to_be_focused()
    await panel.get_by_role("button", name="sample 1").click()
    await expect(trace.chosen).to_have_count(1)
    await tab.page.keyboard.press("j")
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
