"""Calls of MCP clients in a notebook: they stand in the cell that serves, long after it has ended,
and a person answers them there.
"""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp.types import Implementation
from playwright.async_api import expect


@asynccontextmanager
async def an_agent(tab, server, name="claude-code"):
    """A client of ``nbtools mcp`` on the story's project."""
    arguments = ["-m", "nbtools", "mcp", "--workspace", str(tab.folder)]
    program = StdioServerParameters(command=sys.executable, args=arguments, env=server.environment)
    async with Client(program, client_info=Implementation(name=name, version="1")) as client:
        yield client


def text(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def test_a_person_answers_the_calls_of_clients_which_the_cell_takes_again_when_it_is_run_again(
    open_notebook, server
):
    tab = await open_notebook("%tools serve", "1 + 1")
    await tab.run(1)
    await expect(tab.output(1).first).to_contain_text("Serving")
    await tab.look("serving", tab.cell(1))
    async with an_agent(tab, server) as agent:
        assert "story.ipynb" in agent.instructions
        write = {"path": "notes.txt", "old": "two", "new": "2"}
        approved = asyncio.ensure_future(agent.call_tool("edit", write))
        await tab.wait_for_questions(1)
        await expect(tab.question(1)).to_contain_text("claude-code asks")
        await expect(tab.output(1).first).to_contain_text("1 call waits for your answer")
        await tab.look("serving-asks", tab.cell(1))
        await tab.run(2)  # the notebook is free for other work meanwhile
        await expect(tab.output(2)).to_have_text("2")
        await tab.approve(1)
        assert not (await approved).is_error
        assert tab.read("notes.txt") == "one\n2\nthree\n"
        await expect(tab.record(1)).to_contain_text("called by claude-code")
        await expect(tab.output(1).first).to_contain_text("1 connected")

        denied = asyncio.ensure_future(agent.call_tool("shell", {"command": "rm -r src"}))
        await tab.wait_for_questions(1)
        await tab.question(1).get_by_placeholder("Reason").fill("move it to the trash instead")
        await tab.look("serving-asks-again", tab.cell(1))
        await tab.deny(1)
        result = await denied
        assert result.is_error
        assert "Reason: move it to the trash instead" in text(result)
        assert tab.read("src/cart.py")
        await expect(tab.status(1).last).to_have_text("Denied")
        await tab.look("serving-done", tab.cell(1))
    await expect(tab.output(1).first).to_contain_text("no client connected")

    async with an_agent(tab, server, "cursor") as agent:
        assert not (await agent.call_tool("read", {"path": "notes.txt"})).is_error
        await expect(tab.record(1).last).to_contain_text("called by cursor")
        asked = asyncio.ensure_future(agent.call_tool("write", {"path": "new.txt", "content": "x"}))
        await tab.wait_for_questions(1)
        await tab.run(1)  # what a person does after a reload: the question stands in the new output
        await expect(tab.question(1)).to_have_count(1)
        await tab.approve(1)
        assert not (await asked).is_error
        assert tab.read("new.txt") == "x"
