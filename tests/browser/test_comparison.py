"""Several runs side by side: outcomes, totals, aligned steps;
opened from a cell, from an explorer and from the list of sessions.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from playwright.async_api import expect

from nbtools import open_trace, traces
from nbtools.traces.comparison.view import ComparisonDisplay
from nbtools.traces.session_list.session_messages import SessionFilter
from nbtools.traces.session_list.view import SessionList, session_catalog
from tests.browser.accessibility import cut_buttons, is_accessible
from tests.browser.run_logs import MARKUP, PROMPT, RUNS, shell, write_run, write_runs
from tests.waiting import eventually

COMPARISON = "application/vnd.nbtools.comparison.v1+json"


class Comparison:
    """A comparison on a page."""

    def __init__(self, page, node):
        self.page, self.node = page, node
        self.runs = node.locator(".nbtools-compare-runs tbody tr")
        self.steps = node.get_by_role("grid", name="Aligned steps")
        self.rows = self.steps.locator(".nbtools-table-rows [role=row]")
        self.active = self.steps.locator(".nbtools-compare-active")
        self.heads = node.locator(".nbtools-compare-runs thead th")

    def row(self, text):
        return self.rows.filter(has_text=text).first

    def run(self, letter):
        return self.runs.filter(has=self.page.get_by_role("rowheader", name=re.compile(f"^{letter}: ")))


@pytest.fixture
def logs():
    """The runs as sessions of Claude Code on this machine, for this test only."""
    session_catalog.cache_clear()  # a kernel begins with an empty one
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "-work-runs"
    folder.mkdir(parents=True)
    write_runs(folder)
    yield folder
    shutil.rmtree(folder)


async def compare_logs(views, paths, **options):
    """Shows the comparison of these logs alone."""
    index = await views.show(ComparisonDisplay(traces.compare(*map(traces.load, paths), **options)))
    return Comparison(views.page, views.cell(index).locator(".nbtools-compare"))


async def open_runs(open_notebook):
    """Opens a notebook that compares the runs, with the usual one as the baseline."""
    tab = await open_notebook(f"%trace {' '.join(f'{name}.jsonl' for name in RUNS)} --baseline A")
    write_runs(tab.folder)
    await tab.run(1)
    return tab, Comparison(tab.page, tab.cell(1).locator(".nbtools-compare"))


async def test_runs_are_compared_in_a_notebook_saved_as_html_and_opened_where_they_part(open_notebook):
    tab, shown = await open_runs(open_notebook)
    await expect(shown.node).to_contain_text("5 runs · 3 steps shared at the beginning")
    await expect(shown.runs).to_have_count(6)  # with the rates
    await expect(shown.run("C")).to_contain_text("at step 8 (A: 8)")
    await expect(shown.run("C")).to_contain_text("✗ exit code 1")
    await expect(shown.run("E")).to_contain_text("? its own exit code is not recorded")
    await expect(shown.runs.last).to_contain_text("2 of 3 (21–94 %)")
    assert await tab.page.evaluate("window.pwned") is None
    data = (await tab.save())["cells"][1]["outputs"][0]["data"]
    assert set(data) == {COMPARISON, "text/html", "text/plain"}
    assert "<script" not in "".join(data["text/html"])
    assert MARKUP not in "".join(data["text/html"])
    await shown.steps.focus()
    await tab.page.keyboard.press("p")
    await expect(shown.active).to_contain_text("parts here: D")
    await expect(shown.active).to_contain_text(MARKUP)
    await tab.page.keyboard.press("j")
    await expect(shown.active).to_contain_text("ls -la")
    await tab.page.keyboard.press("P")
    await tab.page.keyboard.press("ArrowRight")
    await tab.page.keyboard.press("ArrowRight")
    await tab.page.keyboard.press("ArrowRight")
    await tab.look("comparison", tab.cell(1))
    await tab.page.keyboard.press("Enter")
    explorer = tab.cell(1).locator(".nbtools-trace")
    await expect(explorer.locator(".nbtools-trace-row[aria-selected=true]")).to_contain_text(MARKUP)
    await tab.cell(1).get_by_role("button", name="← Comparison").click()
    await expect(shown.steps).to_be_focused()
    await expect(shown.active).to_contain_text(MARKUP)
    await shown.row("git stash").locator("[data-run='2']").click()
    await expect(explorer.locator(".nbtools-trace-row[aria-selected=true]")).to_contain_text("git stash")


async def test_checks_are_added_in_place(views, tmp_path):
    shown = await compare_logs(views, [tmp_path / name for name in write_runs(tmp_path)], baseline=0)
    await shown.steps.focus()
    await views.page.keyboard.press("p")
    await expect(shown.active).to_contain_text(MARKUP)
    await is_accessible(views.page)
    check = shown.node.get_by_label("Check", exact=True)
    await shown.node.get_by_label("Kind of check").select_option("file PATH contains TEXT")
    await expect(check).to_be_focused()
    await views.page.keyboard.type("part1.py")  # PATH is selected
    await expect(check).to_have_value("file part1.py contains TEXT")
    await check.fill("file part1.py contains Decimal")
    await views.page.keyboard.press("Enter")
    await expect(shown.heads.filter(has_text="file part1.py contains Decimal")).to_be_visible()
    await expect(shown.run("A")).to_contain_text("✓ contained")
    await expect(shown.run("C")).to_contain_text("? the log has only a part of the file")
    await check.fill("rm -rf /")
    await views.page.keyboard.press("Enter")
    await expect(shown.node.get_by_role("status").filter(has_text="is not a check")).to_be_visible()
    await shown.node.get_by_label("Kind of check").select_option("verdict")
    await expect(shown.heads.filter(has_text="verdict")).to_be_visible()
    await shown.heads.filter(has_text="verdict").get_by_role("button").click()
    await expect(shown.heads.filter(has_text="verdict")).to_have_count(0)


async def test_the_beginning_is_folded_and_the_baseline_chosen(views, tmp_path):
    write_runs(tmp_path)
    shown = await compare_logs(views, [tmp_path / f"{name}.jsonl" for name in ("usual", "careful", "hasty")])
    await expect(shown.row("6 steps the same")).to_be_visible()
    before = await shown.rows.count()
    await shown.row("6 steps the same").click()
    await expect(shown.rows).to_have_count(before + 5)
    await shown.node.get_by_label("Baseline").select_option("2")
    await expect(shown.run("C")).to_contain_text("baseline")
    await expect(shown.run("A")).to_contain_text("at step 8 (C: 8)")


async def test_steps_unfold_and_partings_are_found_while_the_kernel_is_busy(views, tmp_path):
    write_runs(tmp_path)
    shown = await compare_logs(views, [tmp_path / f"{name}.jsonl" for name in ("usual", "careful")])
    await expect(shown.row("6 steps the same")).to_be_visible()
    before = await shown.rows.count()
    await views.settled()
    async with views.held():
        await shown.steps.focus()
        await views.page.keyboard.press("Enter")
        await expect(shown.rows).to_have_count(before + 5)
        await views.page.keyboard.press("p")
        await expect(shown.active).to_contain_text("parts here: B")
        await views.page.keyboard.press("Home")
        await expect(shown.active).not_to_contain_text("parts here")


def measure(log, tokens):
    """Gives the model's messages of a log token usage."""
    records = [json.loads(line) for line in log.read_text().splitlines()]
    for record in records:
        if record["type"] == "assistant":
            record["message"]["usage"] = {"input_tokens": tokens, "output_tokens": tokens // 10}
    log.write_text("".join(json.dumps(record) + "\n" for record in records))
    return log


def write_twenty(folder):
    """Writes twenty runs of two tasks, of which the tests are read from the output in every fifth."""
    tailed = (*shell("python -m pytest -q 2>&1 | tail -2")[:2], "....\n4 passed in 0.12s", False)
    kinds = [*list(RUNS.values())[:4], [*RUNS["usual"][:7], tailed]]
    kinds[3] = [*kinds[3], *(shell(f"ls part{number}") for number in range(12))]
    logs = []
    for number in range(20):
        log = measure(write_run(folder / f"{number:02}.jsonl", kinds[number % 5]), 1_000 * (number + 1))
        if number % 2:
            log.write_text(log.read_text().replace(PROMPT, "Round the prices of the shop to whole cents."))
        logs.append(log)
    return logs


@pytest.mark.parametrize("width", [1280, 800, 400])
async def test_twenty_runs_beside_their_steps(views, tmp_path, width):
    await views.page.set_viewport_size({"width": width, "height": 800})
    shown = await compare_logs(views, write_twenty(tmp_path))
    await expect(shown.runs).to_have_count(20 + 2 + 3)  # with tasks and rates
    await eventually(True, shown.node.evaluate, "node => node.scrollWidth <= node.clientWidth")
    await eventually([], cut_buttons, views.page, ".nbtools-compare-form")
    steps, box = await shown.steps.bounding_box(), shown.node.locator(".nbtools-compare-box")
    top = await shown.node.bounding_box()
    assert steps["height"] >= 400
    assert steps["y"] - top["y"] < 120  # they come first
    assert (await box.bounding_box())["height"] <= 260
    heads = ("Tokens in", "Tokens out", "Duration") if width > 400 else ("Tokens in",)
    for name in heads:  # without scrolling to the right
        head, edge = await shown.heads.filter(has_text=name).bounding_box(), await box.bounding_box()
        assert head["x"] + head["width"] <= edge["x"] + edge["width"] + 1
    await expect(shown.heads.first).to_have_text("Run")
    await expect(shown.heads.filter(has_text="Tokens in")).to_have_attribute(
        "title", re.compile("^Tokens sent")
    )
    await views.look(f"comparison-20-{width}")
    await shown.node.get_by_role("button", name="all 20 runs at once").click()
    await eventually(True, box.evaluate, "box => box.scrollHeight <= box.clientHeight + 20")
    await views.look(f"comparison-20-all-{width}")
    await shown.node.get_by_role("button", name="few runs at once").click()
    await box.evaluate("box => box.scrollTo(10000, 0)")
    await expect(shown.run("A").get_by_role("button").first).to_be_in_viewport()
    await is_accessible(views.page)


async def test_inferred_outcomes_are_marked_and_say_why(views, tmp_path):
    shown = await compare_logs(views, write_twenty(tmp_path)[:6])
    run = shown.run("E")
    await expect(run).to_contain_text("✓ ≈ 4 passed in 0.12s")
    why = "Inferred from the last lines of pytest: its own exit code is not recorded, only that of tail after it"
    await expect(run.get_by_text("✓ ≈")).to_have_attribute("title", why)
    await expect(shown.run("A")).to_contain_text("✓ succeeded")
    await expect(shown.runs.last).to_contain_text("4 of 5 (38–96 %), 1 inferred")


@pytest.mark.parametrize("width", [1280, 800])
async def test_the_run_that_took_most_is_seen_at_once(views, logs, width):
    await views.page.set_viewport_size({"width": width, "height": 800})
    for number, name in enumerate(("usual", "careful")):
        measure(logs / f"{name}.jsonl", 2_000 * (number + 1))
    cell = views.cell(await views.show(SessionList(SessionFilter(project="cart"))))
    listed = cell.locator(".nbtools-sessions")
    rows = listed.locator(".nbtools-table-rows [role=row]")
    await expect(rows).to_have_count(5)
    for name in ("20 k", "44 k"):  # tokens in and out
        await rows.filter(has_text=name).get_by_role("checkbox").click()
    await listed.get_by_role("button", name="Compare", exact=True).click()
    shown = Comparison(views.page, cell.locator(".nbtools-compare"))
    await expect(shown.node).to_contain_text(re.compile(r"most tokens in: [AB] \(40 k\)"))
    largest = shown.runs.locator("td", has_text="40 k")
    await expect(largest.locator("b")).to_be_in_viewport()
    await expect(largest).to_have_attribute("title", "The largest")
    await expect(shown.runs.locator("td", has_text="18 k").locator("b")).to_have_count(0)
    for name in ("A", "B"):
        await expect(shown.run(name)).to_contain_text(f"{name}: {PROMPT}")
    await views.look(f"comparison-2-{width}", cell)


async def test_an_open_explorer_is_compared_with_listed_sessions(views, logs, tmp_path):
    cell = views.cell(await views.show(open_trace(write_run(tmp_path / "mine.jsonl", RUNS["usual"]))))
    await cell.get_by_role("button", name="compare…").click()
    listed = cell.locator(".nbtools-sessions")
    await listed.get_by_role("searchbox").fill("make the total")
    projects = listed.locator("select").nth(1)
    await projects.select_option(
        await projects.locator("option", has_text="cart").first.get_attribute("value")
    )
    rows = listed.locator(".nbtools-table-rows [role=row]")
    await expect(rows).to_have_count(5)
    await rows.nth(0).get_by_role("checkbox").click()
    await rows.nth(1).get_by_role("checkbox").click()
    await listed.get_by_role("button", name="Compare", exact=True).click()
    await expect(cell.locator(".nbtools-compare")).to_contain_text("3 runs")
    await views.look("comparison-picked", cell)
    await cell.get_by_role("button", name="Back to the log").click()
    await expect(cell.locator(".nbtools-trace-row").first).to_be_visible()


async def test_more_than_two_sessions_of_the_list_are_compared(views, logs):
    cell = views.cell(await views.show(SessionList(SessionFilter(project="cart"))))
    listed = cell.locator(".nbtools-sessions")
    rows = listed.locator(".nbtools-table-rows [role=row]")
    await expect(rows).to_have_count(5)
    for number in range(3):
        await rows.nth(number).get_by_role("checkbox").click()
    await expect(listed).to_contain_text("3 selected")
    await listed.get_by_role("button", name="Compare", exact=True).click()
    await expect(cell.locator(".nbtools-compare")).to_contain_text("3 runs")
