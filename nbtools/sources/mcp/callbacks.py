"""What servers may ask of us: the person's answers, and where the workspace is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from nbtools.core.result import ToolResult
from nbtools.sources.mcp.elicitation import forms, values

if TYPE_CHECKING:
    from mcp.types import ElicitRequestParams, ElicitResult, ListRootsResult

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[ToolResult]]
"""Makes a call of the tool ``ask`` with these arguments."""
_TRIES = 3


class Callbacks:
    """For one server.  Its questions are calls of ``ask``: they have cards of their own, and are recorded."""

    def __init__(self, server: str, root: Path, ask: Ask) -> None:
        self._server = server
        self._root = root
        self._ask = ask

    def as_arguments(self) -> dict[str, Any]:
        """Of ``mcp.Client``."""
        return {"elicitation_callback": self.elicit, "list_roots_callback": self.roots}

    async def elicit(self, _: Any, params: ElicitRequestParams) -> ElicitResult:
        """Declined where nobody is there to answer; asked again, some times, where an answer does not fit."""
        from mcp.types import ElicitResult  # noqa: PLC0415 - it is loaded by now, and not before

        if params.mode == "url":
            agreed = await self._answers({"questions": [_visit(self._server, params.message, params.url)]})
            return ElicitResult(action="accept" if agreed == ("yes",) else "decline")
        message = params.message
        for _try in range(_TRIES):
            answers = [answer for form in forms(self._server, message, params.requested_schema) for answer in await self._answers(form)]
            if not answers:
                return ElicitResult(action="decline")
            content, problem = values(params.requested_schema, answers)
            if not problem:
                return ElicitResult(action="accept", content=content)
            message = f"{params.message}\n{problem}"
        return ElicitResult(action="cancel")

    async def roots(self, _: Any) -> ListRootsResult:
        from mcp.types import ListRootsResult, Root  # noqa: PLC0415 - as above

        return ListRootsResult(roots=[Root(uri=self._root.as_uri(), name=self._root.name)])

    async def _answers(self, form: Mapping[str, Any]) -> tuple[str, ...]:
        """None where nobody answered.  Asked from nowhere: what is asked here belongs to no call that waits for another one."""
        result = await asyncio.create_task(_awaited(self._ask(form)), context=Context())
        return tuple(result.data.answers) if result.ok else ()


async def _awaited(asked: Awaitable[ToolResult]) -> ToolResult:
    return await asked


def _visit(server: str, message: str, url: str) -> dict[str, Any]:
    return {"text": f"{server} asks you to open a page: {message}\n{url}", "header": "Open a page?", "kind": "yesno"}
