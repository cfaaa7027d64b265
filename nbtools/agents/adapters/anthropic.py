"""A session's tools for Anthropic's SDK (Messages API)."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from nbtools.agents.adapters.calling import (
    AnySession,
    call_all,
    is_pdf,
    is_picture,
    parts_of,
    placeholder_text,
)
from nbtools.core.result import Part, ToolResult
from nbtools.core.schema.json_schema import Json

if TYPE_CHECKING:
    from anthropic.types import Message, ToolParam, ToolResultBlockParam
    from anthropic.types.beta import BetaMessage


def anthropic_tools(session: AnySession) -> list[ToolParam]:
    """Returns the value for ``messages.create(tools=…)``, in the session's dialect."""
    return cast("list[ToolParam]", session.declarations("anthropic"))


async def answer_anthropic(session: AnySession, message: Message | BetaMessage) -> list[ToolResultBlockParam]:
    """Makes the calls of ``message`` and returns the content of the next user message;
    empty if there are no calls.

    Read-only calls run concurrently.  A failed or denied call has ``is_error`` and the reason.
    """
    uses = [block for block in message.content if block.type == "tool_use"]
    results = await call_all(session, [(use.name, cast("Json", use.input)) for use in uses])
    return [_block(use.id, result) for use, result in zip(uses, results, strict=True)]


def _block(id_: str, result: ToolResult) -> ToolResultBlockParam:
    content = [_part(part) for part in parts_of(result)]
    return cast(
        "ToolResultBlockParam",
        {"type": "tool_result", "tool_use_id": id_, "content": content, "is_error": not result.ok},
    )


def _part(part: Part) -> Json:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    if not is_picture(part) and not is_pdf(part):
        return {"type": "text", "text": placeholder_text(part)}
    data = part["inline_data"]
    source = {"type": "base64", "media_type": data["mime_type"], "data": data["data"]}
    return {"type": "image" if is_picture(part) else "document", "source": source}
