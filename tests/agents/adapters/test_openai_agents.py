"""OpenAI's Agents SDK against a server on loopback, with a session's tools."""

from __future__ import annotations

import json
from typing import Any

from openai import AsyncOpenAI

from nbtools import Session
from tests.agents.adapters.conftest import PIXEL, REASON
from tests.agents.scripted_http import provider, response


async def test_an_agent(session: Session):
    # here and not above: it takes over a second, and each process of a run collects every test
    from agents import Agent, OpenAIResponsesModel, RunConfig, Runner

    from nbtools.agents.adapters import openai_agents_tools

    script = [
        response(calls=(("1", "read", {"path": "a.py"}), ("2", "read", {"path": "pixel.png"}))),
        response(
            calls=(("3", "write", {"path": "a.py", "content": "two = 2\n"}), ("4", "read", "{not JSON"))
        ),
        response("I leave it."),
    ]
    with provider(*script) as server:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client:
            agent = Agent(
                name="a",
                model=OpenAIResponsesModel("stub-1", client),
                tools=list(openai_agents_tools(session)),
            )
            ended = await Runner.run(agent, "Change a.py", run_config=RunConfig(tracing_disabled=True))
    assert ended.final_output == "I leave it."
    outputs = {
        item["call_id"]: item["output"]
        for item in messages_of(server.asked[-1])
        if item.get("type") == "function_call_output"
    }
    assert "one = 1" in outputs["1"]
    assert {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}"}.items() <= outputs["2"][
        -1
    ].items()
    assert REASON in outputs["3"]
    assert "not valid JSON" in outputs["4"]
    assert (session.workspace.root / "a.py").read_text() == "one = 1\n"
    first = server.asked[0]["tools"][0]
    assert (first["type"], first["name"], first["strict"]) == ("function", "read", False)


def messages_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    return json.loads(json.dumps(request["input"]))
