"""Anthropic's SDK against a server on loopback, with a session's tools."""

from __future__ import annotations

from typing import Any

from nbtools import Session
from nbtools.agents.adapters import answer_anthropic, anthropic_tools
from tests.agents.adapters.conftest import PIXEL, REASON
from tests.agents.scripted_http import provider

# Imports of the SDK are in the functions that use it: it takes over a second, and each process of a run
# collects every test.


def message(text: str = "", *uses: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    blocks = [{"type": "tool_use", "id": i, "name": name, "input": arguments} for i, name, arguments in uses]
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "stub-1",
        "content": [*([{"type": "text", "text": text}] if text else []), *blocks],
        "stop_reason": "tool_use" if uses else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    }


async def test_messages(session: Session):
    from anthropic import AsyncAnthropic

    script = [
        message("Let me see.", ("1", "read", {"path": "a.py"}), ("2", "read", {"path": "pixel.png"})),
        message("", ("3", "write", {"path": "a.py", "content": "two = 2\n"})),
        message("I leave it."),
    ]
    said: list[Any] = [{"role": "user", "content": "Change a.py"}]
    with provider(*script) as server:
        async with AsyncAnthropic(base_url=server.url, api_key="k") as client:
            while True:
                answer = await client.messages.create(
                    model="stub-1", max_tokens=99, messages=said, tools=anthropic_tools(session)
                )
                results = await answer_anthropic(session, answer)
                if not results:
                    break
                said += [
                    {"role": "assistant", "content": answer.content},
                    {"role": "user", "content": results},
                ]
    read, picture = server.asked[1]["messages"][-1]["content"]
    assert (read["tool_use_id"], read["is_error"]) == ("1", False)
    assert "one = 1" in read["content"][0]["text"]
    assert picture["content"][-1] == {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }
    (refused,) = server.asked[2]["messages"][-1]["content"]
    assert refused["is_error"]
    assert REASON in refused["content"][0]["text"]
    assert server.asked[0]["tools"][0]["input_schema"]["type"] == "object"


async def test_a_blocking_session_is_called_in_its_own_loop(tmp_path):
    from anthropic.types import Message

    (tmp_path / "a.py").write_text("one = 1\n")
    asked = Message.model_validate(
        message("", ("1", "read", {"path": "a.py"}), ("2", "read", {"path": "b.py"}))
    )
    with Session(tmp_path).sync() as session:
        read, missing = await answer_anthropic(session, asked)
    assert "one = 1" in read["content"][0]["text"]
    assert missing["is_error"]
