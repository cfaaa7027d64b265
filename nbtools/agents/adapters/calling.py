"""Helpers for adapters: parse and make models' calls, and convert results to what each model accepts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from nbtools.core.errors import AgentError, ErrorCode, ToolError
from nbtools.core.result import Part, ToolResult, failed
from nbtools.session import Session
from nbtools.session.sync import BlockingSession

AnySession: TypeAlias = Session | BlockingSession
"""A blocking session is called in its own event loop, from any loop or thread."""

PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Image types that all providers accept."""


def missing_package(package: str, error: ImportError) -> AgentError | ImportError:
    """Returns the exception to raise for an import error of an adapter that needs ``package``."""
    missing = (error.name or "").partition(".")[0]
    return (
        error
        if missing == "nbtools"
        else AgentError(f"This needs the package {package}: pip install {package}.")
    )


def parse_arguments(text: str) -> Mapping[str, Any] | ToolError:
    """Parses a call's JSON arguments; returns an error for the model if they are invalid."""
    try:
        arguments = json.loads(text) if text.strip() else {}
    except ValueError as error:
        return ToolError(
            ErrorCode.INVALID_TOOL_PARAMS,
            f"The arguments are not valid JSON: {error}. The call was not made. Correct them and call again.",
        )
    if not isinstance(arguments, dict):
        return ToolError(
            ErrorCode.INVALID_TOOL_PARAMS,
            "The arguments are not a JSON object. The call was not made. Correct them and call again.",
        )
    return arguments


async def call_one(session: AnySession, name: str, arguments: Mapping[str, Any]) -> ToolResult:
    if isinstance(session, BlockingSession):
        return await asyncio.wrap_future(session.submit(session.session.call(name, arguments)))
    return await session.call(name, arguments)


async def call_all(session: AnySession, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[ToolResult]:
    """Makes the calls of one message, concurrently where that is safe;
    returns the results in the same order.
    """
    if isinstance(session, BlockingSession):
        return await asyncio.wrap_future(session.submit(session.session.call_many(calls)))
    return await session.call_many(calls)


async def call_json(session: AnySession, name: str, text: str) -> ToolResult:
    """Makes a call whose arguments are JSON text."""
    arguments = parse_arguments(text)
    return failed(arguments) if isinstance(arguments, ToolError) else await call_one(session, name, arguments)


async def call_all_json(session: AnySession, calls: Iterable[tuple[str, str]]) -> list[ToolResult]:
    """Makes the calls of one message, given as names and JSON texts."""
    parsed = [(name, parse_arguments(text)) for name, text in calls]
    done = iter(
        await call_all(
            session, [(name, arguments) for name, arguments in parsed if not isinstance(arguments, ToolError)]
        )
    )
    return [failed(arguments) if isinstance(arguments, ToolError) else next(done) for _, arguments in parsed]


def parts_of(result: ToolResult) -> tuple[Part, ...]:
    return ({"text": result.llm_content},) if isinstance(result.llm_content, str) else result.llm_content


def text_of(result: ToolResult) -> str:
    """Returns the texts of a result, with a line in place of each other part."""
    return "\n".join(
        str(part["text"]) if "text" in part else placeholder_text(part) for part in parts_of(result)
    )


def placeholder_text(part: Part) -> str:
    """Returns the text that replaces a part which the model cannot accept."""
    data = part["inline_data"]
    return f"[{data['mime_type']}, {len(data['data']) * 3 // 4:,} bytes: not shown here]"


def data_url(part: Part) -> str:
    return f"data:{part['inline_data']['mime_type']};base64,{part['inline_data']['data']}"


def is_picture(part: Part) -> bool:
    return "inline_data" in part and part["inline_data"]["mime_type"] in PICTURES


def is_pdf(part: Part) -> bool:
    return "inline_data" in part and part["inline_data"]["mime_type"] == "application/pdf"
