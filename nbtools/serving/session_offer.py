"""A session's tools in one dialect, each call on the way that every call takes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from nbtools.core.ansi import plain
from nbtools.core.call import AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.core.errors import SessionError
from nbtools.core.result import CommandOutput, ToolResult, ToolResultDisplay
from nbtools.core.schema import Json, convert_to_function_response, declarations
from nbtools.dialects import Dialect
from nbtools.serving.offer import Heard, Wanted, failure
from nbtools.session import Session

_LONGEST = 200
"""Characters of what is told of a running call."""


class SessionOffer:
    """What is asked is asked by the session's confirmer.  ``expect`` is told a call's id and who makes it, before it is made."""

    def __init__(self, session: Session, dialect: Dialect, about: str, expect: Callable[[str, str], None] = lambda *_: None) -> None:
        self.about = about
        self._session = session
        self._dialect = dialect
        self._expect = expect
        self._tools = session.tools_in(dialect)

    async def tools(self) -> list[Json]:
        return declarations(self._tools, "mcp")

    async def call(self, wanted: Wanted, heard: Heard) -> Json:
        call_id = self._session.new_id()
        self._expect(call_id, wanted.client)
        end = self._session.observe(_Ear(call_id, heard))
        try:
            result = await self._session.call(wanted.name, wanted.arguments, id=call_id, dialect=self._dialect)
        except SessionError as error:
            return failure(str(error))
        finally:
            end()
        return answer(call_id, wanted.name, result)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended: nobody is to be told
                loop.call_soon_threadsafe(watcher)

        return self._session.watch_tools(tell)


def answer(call_id: str, name: str, result: ToolResult) -> Json:
    """The result as MCP has it, with the tool's data where that is JSON already."""
    told = convert_to_function_response(call_id, name, result, "mcp")
    data = result.data
    return {**told, "structuredContent": data} if isinstance(data, dict) and _is_json(data) else told


def _is_json(data: Mapping[Any, Any]) -> bool:
    """Whether a client reads exactly this: no key that JSON would make a text of, no number that it has no word for."""
    try:
        return bool(json.loads(json.dumps(data, allow_nan=False)) == data)
    except (TypeError, ValueError, RecursionError):
        return False


class _Ear:
    """Passes on what one call has to show."""

    def __init__(self, call_id: str, heard: Heard) -> None:
        self._call_id = call_id
        self._heard = heard

    def notice(self, event: CallEvent) -> None:
        call = event.call if isinstance(event, OutputEvent) else event
        if call.request.id != self._call_id:
            return
        if isinstance(event, OutputEvent):
            self._heard(_last_line(event.display))
        elif isinstance(event, AwaitingApprovalCall):
            self._heard("waits for a person's answer")


def _last_line(display: ToolResultDisplay) -> str:
    text = display.text if isinstance(display, CommandOutput) else display if isinstance(display, str) else ""
    lines = plain(text[-_LONGEST * 10 :]).strip().splitlines()
    return lines[-1][:_LONGEST] if lines else "runs"
