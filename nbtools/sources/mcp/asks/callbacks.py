"""What servers may ask of us: the person's answers, a text of the model, and where the workspace is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtools.core.errors import ErrorCode
from nbtools.core.result import ToolResult
from nbtools.sources.mcp.asks.elicitation import forms, host_of, values, visit
from nbtools.sources.mcp.asks.sampling import Sampling, Unanswered

if TYPE_CHECKING:
    from mcp.types import CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ErrorData, ListRootsResult

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]
"""Makes a call of the tool ``ask`` with these arguments."""
_TRIES = 3
_REFUSED = -1
"""The code of JSON-RPC for what the person does not want."""


@dataclass(frozen=True, slots=True)
class _Answered:
    """``action``: ``accept``, ``decline`` (the person said no, or nobody is there), ``cancel`` (it came to no answer)."""

    action: Any
    answers: tuple[str, ...] = ()


class Callbacks:
    """For one server.  Its questions are calls of ``ask``: they have cards of their own, and are recorded."""

    def __init__(self, server: str, root: Path, ask: Ask, sampling: Sampling | None = None) -> None:
        self._server = server
        self._root = root
        self._ask = ask
        self._sampling = sampling or Sampling()

    def as_arguments(self) -> dict[str, Any]:
        """Of ``mcp.Client``."""
        return {"elicitation_callback": self.elicit, "sampling_callback": self.sample, "list_roots_callback": self.roots}

    async def elicit(self, _: Any, params: ElicitRequestParams) -> ElicitResult:
        """Declined where nobody is there to answer; asked again, some times, where an answer does not fit."""
        from mcp.types import ElicitResult  # noqa: PLC0415 - it is loaded by now, and not before

        if params.mode == "url":
            host = host_of(params.url)
            if not host:
                return ElicitResult(action="decline")
            agreed = await self._answer(visit(self._server, params.message, params.url, host))
            yes = agreed.action == "accept" and agreed.answers == ("yes",)
            return ElicitResult(action="accept" if yes else "cancel" if agreed.action == "cancel" else "decline")
        message, before = params.message, tuple[str, ...]()
        for _try in range(_TRIES):
            given = await self._form(forms(self._server, message, params.requested_schema, before))
            if given.action != "accept":
                return ElicitResult(action=given.action)
            if not params.requested_schema.get("properties"):
                return ElicitResult(action="accept", content={}) if given.answers == ("yes",) else ElicitResult(action="decline")
            content, problem = values(params.requested_schema, given.answers)
            if not problem:
                return ElicitResult(action="accept", content={**content})
            message, before = f"{params.message}\n{problem}", given.answers
        return ElicitResult(action="cancel")

    async def sample(self, _: Any, params: CreateMessageRequestParams) -> CreateMessageResult | ErrorData:
        """Written by the session's model once the person has agreed."""
        from mcp.types import CreateMessageResult, ErrorData, TextContent  # noqa: PLC0415 - as above

        try:
            written = await _from_nowhere(self._sampling.written(self._server, params))
        except Unanswered as no:
            return ErrorData(code=_REFUSED, message=str(no))
        content = TextContent(text=written.text)
        return CreateMessageResult(
            role="assistant", content=content, model=written.model, stop_reason="maxTokens" if written.cut else "endTurn"
        )

    async def roots(self, _: Any) -> ListRootsResult:
        from mcp.types import ListRootsResult, Root  # noqa: PLC0415 - as above

        return ListRootsResult(roots=[Root(uri=self._root.as_uri(), name=self._root.name)])

    async def _form(self, parts: list[dict[str, Any]]) -> _Answered:
        """All of it, or what ended it."""
        answers: list[str] = []
        for part in parts:
            given = await self._answer(part)
            if given.action != "accept":
                return given
            answers += given.answers
        return _Answered("accept", tuple(answers))

    async def _answer(self, form: Mapping[str, Any]) -> _Answered:
        result = await _from_nowhere(self._ask(form))
        if result.error is None:
            return _Answered("accept", tuple(result.data.answers))
        return _Answered("cancel" if result.error.code in _NO_ANSWER else "decline")


_NO_ANSWER = (ErrorCode.CANCELLED, ErrorCode.INVALID_TOOL_PARAMS)


async def _from_nowhere(asked: Awaitable[Any]) -> Any:
    """What is asked here belongs to no call that waits for another one."""
    return await asyncio.create_task(_awaited(asked), context=Context())


async def _awaited(asked: Awaitable[Any]) -> Any:
    return await asked
