"""Calls as models write them, and what of a result each can be given."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from nbtools.blocking import BlockingSession
from nbtools.core.errors import AgentError, ErrorCode, ToolError
from nbtools.core.result import Part, ToolResult, failed
from nbtools.session import Session

AnySession: TypeAlias = Session | BlockingSession
"""A blocking one is called in its own loop, whichever loop or thread asks."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every provider's models look at."""


def without(package: str, error: ImportError) -> AgentError | ImportError:
    """What to raise in place of ``error``, which an adapter meets that needs ``package``."""
    missing = (error.name or "").partition(".")[0]
    return error if missing == "nbtools" else AgentError(f"This needs the package {package}: pip install {package}.")


def arguments_in(text: str) -> Mapping[str, Any] | ToolError:
    """The arguments of a call, which models write as JSON; or what is wrong with them, for the model to read."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except ValueError as error:
        return ToolError(ErrorCode.INVALID_TOOL_PARAMS, f"The arguments are no JSON: {error}. Nothing has happened. Call again.")
    if not isinstance(arguments, dict):
        return ToolError(ErrorCode.INVALID_TOOL_PARAMS, "The arguments are no JSON object. Nothing has happened. Call again.")
    return arguments


async def call_one(session: AnySession, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    if isinstance(session, BlockingSession):
        return await asyncio.wrap_future(session.submit(session.session.call(name, arguments)))
    return await session.call(name, arguments)


async def call_all(session: AnySession, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolResult]:
    """Those of one message, side by side where that is safe; the results in their order."""
    if isinstance(session, BlockingSession):
        return await asyncio.wrap_future(session.submit(session.session.call_many(calls)))
    return await session.call_many(calls)


async def call_written(session: AnySession, name: str, text: str) -> ToolResult:
    """A call whose arguments are JSON."""
    arguments = arguments_in(text)
    return failed(arguments) if isinstance(arguments, ToolError) else await call_one(session, name, arguments)


async def call_all_written(session: AnySession, calls: Iterable[tuple[str, str]]) -> list[ToolResult]:
    """The same for those of one message, by name and arguments."""
    read = [(name, arguments_in(text)) for name, text in calls]
    done = iter(await call_all(session, [(name, arguments) for name, arguments in read if not isinstance(arguments, ToolError)]))
    return [failed(arguments) if isinstance(arguments, ToolError) else next(done) for _, arguments in read]


def parts_of(result: ToolResult) -> tuple[Part, ...]:
    return ({"text": result.llm_content},) if isinstance(result.llm_content, str) else result.llm_content


def text_of(result: ToolResult) -> str:
    """The texts of a result, and a line for each part that is none."""
    return "\n".join(str(part["text"]) if "text" in part else unseen(part) for part in parts_of(result))


def unseen(part: Part) -> str:
    """What stands for a part that a model cannot be given."""
    data = part["inline_data"]
    return f"[{data['mime_type']}, {len(data['data']) * 3 // 4:,} bytes: not shown here]"


def data_url(part: Part) -> str:
    return f"data:{part['inline_data']['mime_type']};base64,{part['inline_data']['data']}"


def is_picture(part: Part) -> bool:
    return "inline_data" in part and part["inline_data"]["mime_type"] in PICTURES


def is_pdf(part: Part) -> bool:
    return "inline_data" in part and part["inline_data"]["mime_type"] == "application/pdf"
