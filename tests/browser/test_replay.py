"""Recorded calls run again in the browser:
a question with its buttons, then what was recorded beside what came.
"""

from __future__ import annotations

from playwright.async_api import expect

from nbtools import to_notebook
from tests.replay.samples import bash, edit, log, shop

CALLS = (
    edit("price = 1", "price = 3"),
    bash("cat price.py; echo took 0.25s", "price = 3\ntax = 2\ntook 0.31s"),
    edit("tax = 9", "tax = 10"),
    bash("cat price.py", "price = 3\ntax = 10"),
)


async def test_one_call_and_a_range(open_notebook, project):
    shop(project / "shop")
    log(project / "log.jsonl", *CALLS)
    tab = await open_notebook(
        "%trace log.jsonl --replay 2 --in shop --at main",
        "%trace log.jsonl --replay 3 --in shop",
        "steps = %trace log.jsonl --replay 2-5 --in shop --at main",
        "steps.again(old='tax = 2', new='tax = 10')",
        "steps.run()",
        "steps.close()\nsteps",
        "%trace log.jsonl --replay 2",
    )
    await tab.run(1)
    await expect(tab.status(1)).to_have_text("Same as recorded")
    await tab.start(2)
    await tab.approve(2)
    await tab.done(2)
    await expect(tab.status(2)).to_have_text("Different from recorded")
    await tab.start(3)
    await tab.approve(3)
    await tab.done(3)
    await expect(tab.output(3).first).to_contain_text("2 same · 1 different")
    await expect(tab.status(3)).to_have_text("Different from recorded")
    await tab.run(4)
    await tab.start(5)
    await tab.approve(5)
    await tab.done(5)
    await expect(tab.output(5).first).to_contain_text("3 same · 1 different")
    await tab.run(6)
    await expect(tab.output(6)).to_contain_text("is deleted")
    await tab.run(7)
    await expect(tab.status(7)).to_have_text("Cannot be run again")
    for index in range(1, 8):
        await tab.look(f"replay-{index}", tab.cell(index))


async def test_a_log_as_a_notebook_in_a_copy(open_file, project):
    folder = shop(project / "shop")
    to_notebook(log(project / "log.jsonl", *CALLS, cwd="/home/sam/shop"), folder / "out.ipynb")
    tab = await open_file(folder / "out.ipynb")
    await expect(tab.panel).to_contain_text("4 calls, each as a cell that runs it again")
    await expect(tab.panel.locator(".nbtools-card")).to_have_count(4)
    await tab.look("log-notebook-lab")
    await tab.run(1)
    await tab.start(4)
    await tab.approve(4)
    await tab.done(4)
    await expect(tab.card(4)).to_contain_text("price = 5")
