"""OpenAI's SDK against a server on loopback: chat completions and responses, with a session's tools."""

from __future__ import annotations

from typing import Any

from openai import AsyncOpenAI

from nbtools import Session
from nbtools.agents.adapters import (
    answer_openai,
    answer_openai_responses,
    openai_responses_tools,
    openai_tools,
)
from tests.agents.adapters.conftest import PIXEL, REASON
from tests.agents.scripted_http import chat, provider, response

FIRST = (("1", "read", {"path": "a.py"}), ("2", "read", {"path": "pixel.png"}))
SECOND = (("3", "write", {"path": "a.py", "content": "two = 2\n"}), ("4", "read", "[1]"))


async def test_chat_completions(session: Session):
    messages: list[Any] = [{"role": "user", "content": "Change a.py"}]
    with provider(chat(calls=FIRST), chat(calls=SECOND), chat("I leave it.")) as server:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client:
            while True:
                done = await client.chat.completions.create(
                    model="stub-1", messages=messages, tools=openai_tools(session)
                )
                answers = await answer_openai(session, done.choices[0].message)
                if not answers:
                    break
                messages += [done.choices[0].message, *answers]
    told = {
        message["tool_call_id"]: message["content"]
        for message in server.asked[-1]["messages"]
        if message["role"] == "tool"
    }
    assert "one = 1" in told["1"]
    assert "see the next message" in told["2"]
    assert REASON in told["3"]
    assert "not a JSON object" in told["4"]
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}
    assert server.asked[1]["messages"][-1] == {"role": "user", "content": [picture]}


async def test_responses(session: Session):
    items: list[Any] = [{"role": "user", "content": "Change a.py"}]
    with provider(response(calls=FIRST), response(calls=SECOND), response("I leave it.")) as server:
        async with AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k") as client:
            while True:
                done = await client.responses.create(
                    model="stub-1", input=items, tools=openai_responses_tools(session)
                )
                answers = await answer_openai_responses(session, done)
                if not answers:
                    break
                items += [*done.output, *answers]
    assert done.output_text == "I leave it."
    told = {
        item["call_id"]: item["output"]
        for item in server.asked[-1]["input"]
        if item.get("type") == "function_call_output"
    }
    assert "one = 1" in told["1"]
    assert told["2"][-1] == {
        "type": "input_image",
        "image_url": f"data:image/png;base64,{PIXEL}",
        "detail": "auto",
    }
    assert REASON in told["3"]
