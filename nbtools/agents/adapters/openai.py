"""A session's tools for OpenAI's SDK and compatible servers (Chat Completions and Responses API)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from nbtools.agents.adapters.calling import (
    AnySession,
    call_all_json,
    data_url,
    is_pdf,
    is_picture,
    parts_of,
    placeholder_text,
    text_of,
)
from nbtools.core.result import Part, ToolResult
from nbtools.core.schema.json_schema import Json

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam, ChatCompletionToolParam
    from openai.types.responses import FunctionToolParam, Response, ResponseInputItemParam

_IMAGE_BELOW = "[a picture: see the next message]"


def openai_tools(session: AnySession) -> list[ChatCompletionToolParam]:
    """Returns the value for ``chat.completions.create(tools=…)``, in the session's dialect."""
    return cast("list[ChatCompletionToolParam]", session.declarations("openai"))


async def answer_openai(
    session: AnySession, message: ChatCompletionMessage
) -> list[ChatCompletionMessageParam]:
    """Makes the calls of ``message`` and returns the messages to append after it;
    empty if there are no calls.

    Read-only calls run concurrently.  Images, which a tool message cannot contain, follow in a user message.
    """
    calls = [call for call in message.tool_calls or () if call.type == "function"]
    results = await call_all_json(session, [(call.function.name, call.function.arguments) for call in calls])
    answers: list[Json] = [
        {"role": "tool", "tool_call_id": call.id, "content": _text(result)}
        for call, result in zip(calls, results, strict=True)
    ]
    pictures = [{"type": "image_url", "image_url": {"url": data_url(part)}} for part in _pictures(results)]
    return cast(
        "list[ChatCompletionMessageParam]",
        [*answers, *([{"role": "user", "content": pictures}] if pictures else [])],
    )


def openai_responses_tools(session: AnySession) -> list[FunctionToolParam]:
    """Returns the value for ``responses.create(tools=…)``, in the session's dialect."""
    tools = [
        {"type": "function", **one["function"], "strict": False} for one in session.declarations("openai")
    ]
    return cast("list[FunctionToolParam]", tools)


async def answer_openai_responses(session: AnySession, response: Response) -> list[ResponseInputItemParam]:
    """Makes the calls of a Responses API response and returns the items for the next ``input``."""
    calls = [item for item in response.output if item.type == "function_call"]
    results = await call_all_json(session, [(call.name, call.arguments) for call in calls])
    outputs = [
        {"type": "function_call_output", "call_id": call.call_id, "output": _output(result)}
        for call, result in zip(calls, results, strict=True)
    ]
    return cast("list[ResponseInputItemParam]", outputs)


def _text(result: ToolResult) -> str:
    def line(part: Part) -> str:
        if "text" in part:
            return str(part["text"])
        return _IMAGE_BELOW if is_picture(part) else placeholder_text(part)

    return "\n".join(map(line, parts_of(result)))


def _pictures(results: list[ToolResult]) -> Iterator[Part]:
    return (part for result in results for part in parts_of(result) if is_picture(part))


def _output(result: ToolResult) -> str | list[Json]:
    return (
        text_of(result) if isinstance(result.llm_content, str) else [_item(part) for part in parts_of(result)]
    )


def _item(part: Part) -> Json:
    if is_picture(part):
        return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
    if is_pdf(part):
        return {"type": "input_file", "file_data": data_url(part), "filename": "document.pdf"}
    return {"type": "input_text", "text": part["text"] if "text" in part else placeholder_text(part)}
