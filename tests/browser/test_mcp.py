"""MCP servers in a browser: added, asked about, called with a card that follows them,
and what a person reads when one fails.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from playwright.async_api import expect

CONNECTING = 90_000
"""Milliseconds: a server starts, and the SDK is loaded on both sides."""
SHOP = Path(__file__).parents[1] / "notebook" / "shop_server.py"
ADD = f"%tools mcp add --project shop -- {sys.executable} {SHOP}"


CELLS = (
    *("%tools mcp", "%tools mcp tools shop", "%tools prompt"),
    *(
        "%tool mcp__shop__price pears --count 3",
        "%tool mcp__shop__price figs",
        "%tool mcp__shop__price plums",
    ),
    *("%tool mcp__shop__label", "%tool mcp__shop__refuse"),
    *("%tool mcp__shop__pack 4000 --seconds 0.25", "%tool mcp__shop__deliver"),
    *(
        "%tools mcp add --project gone -- no-such-program-at-all",
        "%tools mcp add --project late -- sleep 60",
        "%tools mcp",
    ),
)
"""What the notebook does with the server that cell 1 has added."""


async def test_a_server_is_added_listed_called_and_seen_beside_those_that_fail(open_notebook):
    tab = await open_notebook(ADD, *CELLS)
    await tab.start(1)
    await expect(tab.output(1).get_by_text("connected", exact=True)).to_be_visible(timeout=CONNECTING)
    await tab.done(1)
    await is_listed(tab)
    await is_asked_about(tab)
    await is_approved_as_a_whole(tab)
    await tells_how_far_it_is(tab)
    await has_its_form_answered(tab)
    await others_fail(tab)


async def is_listed(tab):
    await tab.run(2)
    await expect(tab.output(2).last).to_contain_text(".mcp.json")
    await tab.look("mcp-list", tab.cell(2))
    await tab.run(3)
    await expect(tab.output(3).last).to_contain_text("only reads")
    await tab.look("mcp-tools", tab.cell(3))
    await tab.run(4)
    await expect(tab.output(4).last).to_contain_text("shop:review")
    await tab.look("mcp-prompts", tab.cell(4))


async def is_asked_about(tab):
    """A call is approved once, then its tool always."""
    await tab.start(5)
    await expect(tab.question(5)).to_contain_text("only reads")
    await tab.look("mcp-asking", tab.cell(5))
    await tab.approve(5)
    await tab.done(5)
    await expect(tab.card(5)).to_contain_text("3 pears: 1.20 €")
    await expect(tab.record(5)).to_contain_text("Approved once by you")
    await tab.look("mcp-called", tab.cell(5))
    await tab.start(6)
    await tab.always(6, "this tool")
    await tab.done(6)
    await expect(tab.record(6)).to_contain_text("Approved by you, and always from now on")
    await tab.run(7)
    await expect(tab.card(7)).to_contain_text("1 plums: 0.40 €")


async def is_approved_as_a_whole(tab):
    """From here on the server's tools are called without a question."""
    await tab.start(8)
    await tab.question(8).get_by_role("button", name=re.compile("this server")).click()
    await tab.done(8)
    await expect(tab.record(8)).to_contain_text("Approved by you, and always for this server")
    await expect(tab.card(8).locator("img")).to_be_visible()
    await tab.look("mcp-picture", tab.cell(8))
    await tab.run(9)
    await expect(tab.card(9)).to_contain_text("The shop is closed until Monday.")
    await tab.look("mcp-failed", tab.cell(9))


async def tells_how_far_it_is(tab):
    await tab.start(10)
    await expect(tab.card(10)).to_contain_text(re.compile(r"box ([2-9]|\d\d+) is packed"))
    await tab.look("mcp-progress", tab.cell(10), themes=["light"])
    await tab.press("interrupt")
    await tab.done(10)
    await expect(tab.status(10)).to_contain_text("ancelled")


async def has_its_form_answered(tab):
    await tab.start(11)
    form = tab.question(11)
    await expect(form).to_contain_text("Where does the parcel go?")
    await form.get_by_role("textbox").first.fill("Ada")
    await form.get_by_text("tomorrow", exact=True).click()
    await form.get_by_text("Yes", exact=True).click()
    await tab.look("mcp-form", tab.cell(11))
    await tab.answer(11, "Answer")
    await tab.done(11)
    await expect(tab.cell(11)).to_contain_text("It goes to Ada tomorrow, as a gift.")
    await tab.look("mcp-form-answered", tab.cell(11))


async def others_fail(tab):
    """They say what to do, and the list has them and the one that runs."""
    await tab.run(12)
    await expect(tab.output(12).last).to_contain_text("there is no program no-such-program-at-all")
    await tab.look("mcp-gone", tab.cell(12))
    await tab.start(13)
    await expect(tab.output(13).last).to_contain_text("connecting…")
    await tab.press("interrupt")
    await tab.done(13)
    await tab.start(14)
    await expect(tab.output(14).last).to_contain_text("shop")
    await tab.look("mcp-states", tab.cell(14))


async def test_a_project_s_server_is_trusted_by_a_click(open_notebook, project):
    entry = {"command": sys.executable, "args": [str(SHOP)], "env": {"LEVEL": "high"}}
    (project / ".mcp.json").write_text(json.dumps({"mcpServers": {"shop": entry}}), encoding="utf-8")
    tab = await open_notebook("%tools mcp", "%tools allow mcp__shop__*", "%tool mcp__shop__price figs")
    await tab.run(1)
    await expect(tab.output(1).last).to_contain_text("not trusted")
    await tab.look("mcp-untrusted", tab.cell(1))
    await tab.run(2)
    await tab.start(3)
    form = tab.question(3)
    await expect(form).to_contain_text("LEVEL=high")
    await tab.look("mcp-trust", tab.cell(3))
    await form.get_by_text("Yes", exact=True).click()
    await tab.answer(3, "Answer")
    await expect(tab.cell(3)).to_contain_text("1 figs: 0.40 €", timeout=CONNECTING)
    await tab.done(3)
    await tab.look("mcp-trusted", tab.cell(3))
