"""A run with a provider's model, over HTTP, as a person steers it:
denied with a reason, approved, changed, stopped.
"""

from __future__ import annotations

from playwright.async_api import expect

from tests.agents.openai_stub import Says, stub

LOADED = 150_000
"""Milliseconds."""
TASK = "%%agent --model openai-chat:gpt-4o-mini\nMend the notes."
NOTES = "one\ntwo\nthree\n"


def edit(call_id, new):
    arguments = f'{{"path": "notes.txt", "old": "two", "new": "{new}"}}'
    return Says((f"I make it {new}.",), ((call_id, "edit", arguments),))


def back(server, number):
    """Returns the message of a request about the last call."""
    return str(server.messages_of(number)[-1]["content"])


async def test_a_run_is_steered(open_notebook):
    script = (
        edit("a", "zwo"),
        edit("b", "2"),
        Says(("It is 2.",)),
        edit("c", "four"),
        Says(("And so it goes ", "on."), waits_at=1),
    )
    with stub(*script) as server:
        key = f"%env OPENAI_BASE_URL={server.url}\n%env OPENAI_API_KEY=sk-test"
        tab = await open_notebook(f"%load_ext nbtools\n{key}", TASK, "%tools undo", TASK)
        await tab.run(1)
        await tab.start(2)
        await expect(tab.question(2)).to_be_visible(timeout=LOADED)
        await tab.question(2).get_by_placeholder("Reason").fill("write it as a number")
        await tab.deny(2)
        await expect(tab.cell(2)).to_contain_text("I make it 2.")
        assert "write it as a number" in back(server, 1)
        assert tab.read("notes.txt") == NOTES
        await tab.approve(2)
        await tab.done(2)
        assert tab.read("notes.txt") == NOTES.replace("two", "2")

        await tab.run(3)
        await tab.start(4)
        await tab.modify(4)
        await tab.question(4).locator(".nbtools-merge .cm-content").fill("one\nfive\nthree\n")
        await tab.answer(4, "Update proposal")
        await tab.approve(4)
        await expect(tab.cell(4)).to_contain_text("And so it goes")
        assert "five" in back(server, 4)
        await tab.cell(4).get_by_role("button", name="Stop").click()
        await tab.done(4)
        await expect(tab.cell(4)).to_contain_text("You stopped it")
        assert server.left.wait(60)
    assert tab.read("notes.txt") == "one\nfive\nthree\n"
