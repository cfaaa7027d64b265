"""A session's tools for Google's Gen AI SDK."""

from __future__ import annotations

import base64

from nbtools.agents.adapters.calling import (
    AnySession,
    call_all,
    is_pdf,
    is_picture,
    missing_package,
    parts_of,
    placeholder_text,
)
from nbtools.core.result import Part, ToolResult
from nbtools.core.schema.json_schema import describe_media, is_recording, recording_parts

try:
    from google.genai import types
except ImportError as error:
    raise missing_package("google-genai", error) from error


def google_tools(session: AnySession) -> list[types.Tool]:
    """Returns the value for ``GenerateContentConfig(tools=…)``, in the session's dialect."""
    return [
        types.Tool(
            function_declarations=[
                types.FunctionDeclaration.model_validate(one) for one in session.declarations("gemini")
            ]
        )
    ]


async def answer_google(session: AnySession, response: types.GenerateContentResponse) -> list[types.Content]:
    """Makes the calls of ``response`` and returns the contents to append after it;
    empty if there are no calls.

    Read-only calls run concurrently.  A failed or denied call has ``error`` with the reason.
    """
    calls = response.function_calls or []
    if not calls:
        return []
    results = await call_all(session, [(call.name or "", call.args or {}) for call in calls])
    answers = [
        types.Part(function_response=_response(call, result))
        for call, result in zip(calls, results, strict=True)
    ]
    recordings = [types.Part.model_validate(part) for result in results for part in recording_parts(result)]
    return [types.Content(role="user", parts=[*answers, *recordings])]


def _response(call: types.FunctionCall, result: ToolResult) -> types.FunctionResponse:
    media = [part for part in parts_of(result) if is_picture(part) or is_pdf(part)]
    text = "\n".join(
        str(part["text"]) if "text" in part else _described(part)
        for part in parts_of(result)
        if part not in media
    )
    return types.FunctionResponse(
        id=call.id,
        name=call.name,
        response={"output": text} if result.ok else {"error": text},
        parts=[_part(part) for part in media] or None,
    )


def _described(part: Part) -> str:
    """Describes a medium that the response cannot hold; audio and video stand beside it."""
    return describe_media(part["inline_data"]) if is_recording(part) else placeholder_text(part)


def _part(part: Part) -> types.FunctionResponsePart:
    data = part["inline_data"]
    return types.FunctionResponsePart(
        inline_data=types.FunctionResponseBlob(
            mime_type=data["mime_type"], data=base64.b64decode(data["data"])
        )
    )
