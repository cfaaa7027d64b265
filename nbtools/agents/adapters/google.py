"""A session's tools for Google's Gen AI SDK."""

from __future__ import annotations

import base64

from nbtools.agents.adapters.calling import AnySession, call_all, is_pdf, is_picture, parts_of, unseen, without
from nbtools.core.result import Part, ToolResult

try:
    from google.genai import types
except ImportError as error:
    raise without("google-genai", error) from error


def google_tools(session: AnySession) -> list[types.Tool]:
    """What ``GenerateContentConfig(tools=…)`` takes, in the session's dialect."""
    return [types.Tool(function_declarations=[types.FunctionDeclaration.model_validate(one) for one in session.declarations("gemini")])]


async def answer_google(session: AnySession, response: types.GenerateContentResponse) -> list[types.Content]:
    """Makes the calls of ``response`` and returns what goes behind its content; empty where there were none: the model is done.

    Calls that change nothing run side by side.  One that failed or was refused answers with ``error`` and the reason.
    """
    calls = response.function_calls or []
    if not calls:
        return []
    results = await call_all(session, [(call.name or "", call.args or {}) for call in calls])
    answers = [types.Part(function_response=_response(call, result)) for call, result in zip(calls, results, strict=True)]
    return [types.Content(role="user", parts=answers)]


def _response(call: types.FunctionCall, result: ToolResult) -> types.FunctionResponse:
    seen = [part for part in parts_of(result) if is_picture(part) or is_pdf(part)]
    text = "\n".join(str(part["text"]) if "text" in part else unseen(part) for part in parts_of(result) if part not in seen)
    return types.FunctionResponse(
        id=call.id,
        name=call.name,
        response={"output": text} if result.ok else {"error": text},
        parts=[_part(part) for part in seen] or None,
    )


def _part(part: Part) -> types.FunctionResponsePart:
    data = part["inline_data"]
    return types.FunctionResponsePart(
        inline_data=types.FunctionResponseBlob(mime_type=data["mime_type"], data=base64.b64decode(data["data"]))
    )
