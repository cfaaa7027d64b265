"""Handles requests of MCP servers: elicitation (forms and pages), sampling and roots."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

from nbtools.core.errors import ErrorCode
from nbtools.core.result import ToolResult
from nbtools.mcp.client.form_fields import Field, Value, fields_of
from nbtools.mcp.client.sampling import Sampling, SamplingDeclined

if TYPE_CHECKING:
    from mcp.types import (
        CreateMessageRequestParams,
        CreateMessageResult,
        ElicitRequestParams,
        ElicitResult,
        ErrorData,
        ListRootsResult,
    )

_MOST_QUESTIONS = 4
"""Maximum number of questions in one call of ``ask``."""
_LONGEST = 2_000
"""Maximum length of a question of ``ask``, in characters."""
_MOST_CHOICES = 20
_LONGEST_MESSAGE = 600
"""Maximum length of the server's message, in characters, so that what follows it is never cut off."""
_LONGEST_URL = 1_000
_SECRET = re.compile(
    r"pass[\W_]?(?:word|phrase|code)|secret|api[\W_]?key|token|credential|private key|\bpin\b|one.time"
    r" code|credit card",
    re.IGNORECASE,
)
_WARNING = "⚠ Your answer is sent to {}. Servers must not ask for passwords or keys in this way."


def ask_arguments(
    server: str, message: str, schema: Mapping[str, Any], before: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Returns the arguments of calls of ``ask`` for a form; a form without fields becomes a yes/no question.

    ``before`` are previous answers to correct, offered as defaults.
    """
    if not schema.get("properties"):
        return [
            {
                "questions": [
                    {"text": f"{server} asks: {message}"[:_LONGEST], "header": "Agree?", "kind": "yesno"}
                ]
            }
        ]
    answers = (*before, *[""] * len(schema.get("properties") or ()))
    fields = enumerate(zip(fields_of(schema), answers, strict=False))
    questions = [
        _question(server, message, field, answer, first=at % _MOST_QUESTIONS == 0)
        for at, (field, answer) in fields
    ]
    return [
        {"questions": questions[first : first + _MOST_QUESTIONS]}
        for first in range(0, len(questions), _MOST_QUESTIONS)
    ]


def form_values(schema: Mapping[str, Any], answers: Sequence[str]) -> tuple[dict[str, Value], str]:
    """Returns values by field and a problem in one line, or ""; an empty answer is the default."""
    content: dict[str, Value] = {}
    for field, answer in zip(fields_of(schema), answers, strict=False):
        if not answer and "default" in field.schema:
            content[field.name] = field.schema["default"]
        elif not answer and field.required:
            return {}, f"{field.title} is required."
        elif answer:
            try:
                content[field.name] = field.value(answer)
            except ValueError as problem:
                return {}, f"{field.title}: {problem}."
    return content, ""


def host_of(url: str) -> str:
    """Returns the ASCII host of a URL that a person may be asked to open; empty for any other."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:
        return ""
    is_allowed = (
        parts.scheme in ("http", "https")
        and parts.username is None
        and url.isascii()
        and url.isprintable()
        and len(url) <= _LONGEST_URL
    )
    return host if is_allowed else ""


def page_question(server: str, message: str, url: str, host: str) -> dict[str, Any]:
    """Returns the question about a page to open; nbtools itself neither opens nor sees it."""
    text = (
        f"{server} asks you to open a page on {host}: {message[:_LONGEST_MESSAGE]}\n{url}\nOpen it if you"
        f" trust {host}, then answer yes."
    )
    return {"questions": [{"text": text, "header": "Open a page?", "kind": "yesno"}]}


def _question(server: str, message: str, field: Field, before: str, *, first: bool) -> dict[str, Any]:
    """Returns a field's question, with its title as header; the ``first`` states who asks and why."""
    warning = (
        _WARNING.format(server)
        if _SECRET.search(f"{field.name} {field.title} {field.description} {message}")
        else ""
    )
    heading = f"{server} asks: {message[:_LONGEST_MESSAGE]}" if first else ""
    lines = [heading, warning, field.description or ("" if first else field.title), field.hint]
    question: dict[str, Any] = {
        "header": field.title[:40],
        "kind": "text",
        "default": before or field.default,
        "optional": not field.required,
    }
    if field.is_yes_or_no:
        question["kind"] = "yesno"
    elif 1 < len(field.choices) <= _MOST_CHOICES:
        labels = [
            {"label": label, "description": "" if label == value else value}
            for label, value in field.choices.items()
        ]
        question |= {"kind": "choice", "choices": labels, "several": field.takes_several}
    elif field.choices:
        lines.append(f"One of: {', '.join(field.choices)}")
    return {**question, "text": "\n".join(filter(None, lines))[:_LONGEST]}


Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]
"""Calls the tool ``ask`` with these arguments."""
_MOST_ATTEMPTS = 3
_REFUSED = -1
"""The JSON-RPC error code for a request that the person rejected."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    """A form's outcome: ``accept``, ``decline`` (refused, nobody to ask) or ``cancel`` (no answer)."""

    action: Any
    answers: tuple[str, ...] = ()


class ClientCallbacks:
    """Callbacks for one server's requests; questions are calls of ``ask`` with cards and records."""

    def __init__(self, server: str, root: Path, ask: Ask, sampling: Sampling | None = None) -> None:
        self._server = server
        self._root = root
        self._ask = ask
        self._sampling = sampling or Sampling()

    def as_arguments(self) -> dict[str, Any]:
        """Returns the callbacks as keyword arguments of ``mcp.Client``."""
        return {
            "elicitation_callback": self.elicit,
            "sampling_callback": self.sample,
            "list_roots_callback": self.roots,
        }

    async def elicit(self, _: Any, params: ElicitRequestParams) -> ElicitResult:
        """Asks the person. Declines if nobody can answer; repeats a few times if invalid."""
        from mcp.types import ElicitResult  # noqa: PLC0415 - imported already with the connection

        if params.mode == "url":
            host = host_of(params.url)
            if not host:
                return ElicitResult(action="decline")
            page_outcome = await self._ask_form(page_question(self._server, params.message, params.url, host))
            action = page_outcome.action
            if action == "accept" and page_outcome.answers != ("yes",):
                action = "decline"
            return ElicitResult(action=action)
        message, before = params.message, tuple[str, ...]()
        for _try in range(_MOST_ATTEMPTS):
            outcome = await self._form(ask_arguments(self._server, message, params.requested_schema, before))
            if outcome.action != "accept":
                return ElicitResult(action=outcome.action)
            if not params.requested_schema.get("properties"):
                return (
                    ElicitResult(action="accept", content={})
                    if outcome.answers == ("yes",)
                    else ElicitResult(action="decline")
                )
            content, problem = form_values(params.requested_schema, outcome.answers)
            if not problem:
                return ElicitResult(action="accept", content={**content})
            message, before = f"{params.message}\n{problem}", outcome.answers
        return ElicitResult(action="cancel")

    async def sample(self, _: Any, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Lets the session's model write a text after the person has approved it."""
        from mcp.types import CreateMessageResult, ErrorData, TextContent  # noqa: PLC0415 - as above

        try:
            written = await _detached(self._sampling.write(self._server, params))
        except SamplingDeclined as declined:
            return ErrorData(code=_REFUSED, message=str(declined))
        content = TextContent(text=written.text)
        return CreateMessageResult(
            role="assistant",
            content=content,
            model=written.model,
            stop_reason="maxTokens" if written.is_truncated else "endTurn",
        )

    async def roots(self, _: Any) -> ListRootsResult:
        from mcp.types import ListRootsResult, Root  # noqa: PLC0415 - as above

        return ListRootsResult(roots=[Root(uri=self._root.as_uri(), name=self._root.name)])

    async def _form(self, parts: list[dict[str, Any]]) -> _Outcome:
        """Asks all parts of a form; returns all answers, or the first outcome that is not ``accept``."""
        answers: list[str] = []
        for part in parts:
            outcome = await self._ask_form(part)
            if outcome.action != "accept":
                return outcome
            answers += outcome.answers
        return _Outcome("accept", tuple(answers))

    async def _ask_form(self, form: Mapping[str, Any]) -> _Outcome:
        result = await _detached(self._ask(form))
        if result.error is None:
            return _Outcome("accept", tuple(result.data.answers))
        return _Outcome("cancel" if result.error.code in _CANCELLED_CODES else "decline")


_CANCELLED_CODES = (ErrorCode.CANCELLED, ErrorCode.INVALID_TOOL_PARAMS)


async def _detached(request: Awaitable[Any]) -> Any:
    """Awaits in a task with an empty context, so that the question is not attributed to the running call."""
    return await asyncio.create_task(_awaited(request), context=Context())


async def _awaited(request: Awaitable[Any]) -> Any:
    return await request
