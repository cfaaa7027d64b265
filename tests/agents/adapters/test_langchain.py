"""LangChain's agent, on a scripted model of LangChain's, with a session's tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable

from nbtools import Session, ToolResult, tool
from nbtools.agents.adapters import langchain_tools
from tests.agents.adapters.conftest import PIXEL, REASON


class Scripted(GenericFakeChatModel):
    """Takes tools, as a model does; what it says is written."""

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> Runnable[Any, Any]:
        return self


def says(*calls: tuple[str, dict[str, Any]]) -> AIMessage:
    return AIMessage(
        "",
        tool_calls=[ToolCall(name=name, args=args, id=f"{name}-{k}") for k, (name, args) in enumerate(calls)],
    )


async def test_an_agent(session: Session):
    script = [
        says(("read", {"path": "a.py"}), ("read", {"path": "pixel.png"})),
        says(
            ("write", {"path": "a.py", "content": "two = 2\n"}),
            ("read", {"path": "c.py"}),
            ("read", {"file": "a.py"}),
        ),
        AIMessage("I leave it."),
    ]
    agent = create_agent(Scripted(messages=iter(script)), langchain_tools(session))
    ended = await agent.ainvoke({"messages": [("user", "Change a.py")]})
    text, picture, refused, missing, wrong = [
        message for message in ended["messages"] if isinstance(message, ToolMessage)
    ]
    assert "one = 1" in text.content
    assert isinstance(text.artifact, ToolResult)
    assert text.status == "success"
    assert {"type": "image", "base64": PIXEL, "mime_type": "image/png"} in picture.content
    assert picture.content_blocks[-1]["type"] == "image"
    assert refused.status == missing.status == wrong.status == "error"
    assert REASON in refused.content
    assert "There is no file c.py" in missing.content
    assert "path" in wrong.content
    assert ended["messages"][-1].content == "I leave it."
    assert (session.workspace.root / "a.py").read_text() == "one = 1\n"


async def test_parameters_that_langchain_uses_itself(session: Session):
    @tool
    def odd(config: str, run_manager: str, self_: str = "") -> str:
        """Joins what it is given."""
        return f"{config}-{run_manager}"

    session.tools.register(odd)
    session.allow("odd")
    found = next(one for one in langchain_tools(session) if one.name == "odd")
    assert await found.ainvoke({"config": "a", "run_manager": "b"}) == "a-b"


def test_without_await(tmp_path):
    (tmp_path / "a.py").write_text("one = 1\n")
    with Session(tmp_path).sync() as session:
        script = [
            says(("read", {"path": "a.py"}), ("write", {"path": "b.py", "content": ""})),
            AIMessage("So it is."),
        ]
        ended = create_agent(Scripted(messages=iter(script)), langchain_tools(session)).invoke(
            {"messages": [("user", "Look")]}
        )
    text, refused = [message for message in ended["messages"] if isinstance(message, ToolMessage)]
    assert "one = 1" in text.content
    assert "nobody to ask" in refused.content


async def test_from_another_loop(tmp_path):
    (tmp_path / "a.py").write_text("one = 1\n")
    with Session(tmp_path).sync() as session:
        read = next(one for one in langchain_tools(session) if one.name == "read")
        assert "one = 1" in await read.ainvoke({"path": "a.py"})


async def test_it_is_awaited(session: Session):
    with pytest.raises(NotImplementedError, match="ainvoke"):
        langchain_tools(session)[0].invoke({"path": "a.py"})
