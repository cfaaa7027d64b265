"""Tool providers: what an MCP server serves, independent of where the calls run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nbtools.core.call import AwaitingApprovalCall, CallEvent, OutputEvent
from nbtools.core.errors import SessionError
from nbtools.core.result import CommandOutput, ToolResult, ToolResultDisplay
from nbtools.core.schema.json_schema import Json, convert_to_function_response, declarations
from nbtools.core.terminal_text import plain_text
from nbtools.dialects import Dialect
from nbtools.session.session import Session

ProgressCallback: TypeAlias = Callable[[str], None]
"""Called with one line of a running call's progress, in the event loop that awaits the call."""


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A client's tool call; ``client`` is the name that the client reports (not verified)."""

    name: str
    arguments: Mapping[str, Any]
    client: str


class ToolProvider(Protocol):
    """Tools for clients, with declarations and results in MCP's format."""

    @property
    def about(self) -> str:
        """Explains to a model, in one or two sentences, who approves calls."""
        ...

    async def tools(self) -> list[Json]: ...

    async def call(self, request: ClientCall, on_progress: ProgressCallback) -> Json:
        """Runs the call and returns its result; a failure is a result, too.
        Cancelling it cancels the call.
        """
        ...

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Calls ``watcher`` in the event loop each time the tools change,
        until the returned function is called.
        """
        ...


def failure_result(text: str) -> Json:
    """Returns the result of a call that could not be made."""
    return {"content": [{"type": "text", "text": f"Error: {text}"}], "isError": True}


_LONGEST = 200
"""Maximum length of a progress line, in characters."""


class SessionToolProvider:
    """A session's tools in one dialect; the session's confirmer answers approval requests.

    ``expect`` is called with each call's id and the client's name before the call is made.
    """

    def __init__(
        self,
        session: Session,
        dialect: Dialect,
        about: str,
        expect: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        self.about = about
        self._session = session
        self._dialect = dialect
        self._expect = expect
        self._tools = session.tools_in(dialect)

    async def tools(self) -> list[Json]:
        return declarations(self._tools.values(), "mcp")

    async def call(self, request: ClientCall, on_progress: ProgressCallback) -> Json:
        call_id = self._session.new_id()
        self._expect(call_id, request.client)
        stop_observing = self._session.observe(_ProgressObserver(call_id, on_progress))
        try:
            result = await self._session.call(
                request.name, request.arguments, id=call_id, dialect=self._dialect
            )
        except SessionError as error:
            return failure_result(str(error))
        finally:
            stop_observing()
        return mcp_result(call_id, request.name, result)

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        loop = asyncio.get_running_loop()

        def notify() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(watcher)

        return self._session.watch_tools(notify)


def mcp_result(call_id: str, name: str, result: ToolResult) -> Json:
    """Returns the result in MCP's format, with the tool's data as structured content if it is JSON."""
    response = convert_to_function_response(call_id, name, result, "mcp")
    data = result.data
    return {**response, "structuredContent": data} if isinstance(data, dict) and _is_json(data) else response


def _is_json(data: Mapping[Any, Any]) -> bool:
    """Returns whether the data survives a JSON round trip: string keys only, no NaN or infinity."""
    try:
        return bool(json.loads(json.dumps(data, allow_nan=False)) == data)
    except (TypeError, ValueError, RecursionError):
        return False


class _ProgressObserver:
    """Observer that reports the progress of one call."""

    def __init__(self, call_id: str, on_progress: ProgressCallback) -> None:
        self._call_id = call_id
        self._on_progress = on_progress

    def notice(self, event: CallEvent) -> None:
        call = event.call if isinstance(event, OutputEvent) else event
        if call.request.id != self._call_id:
            return
        if isinstance(event, OutputEvent):
            self._on_progress(_last_line(event.display))
        elif isinstance(event, AwaitingApprovalCall):
            self._on_progress("waiting for approval")


def _last_line(display: ToolResultDisplay) -> str:
    if isinstance(display, CommandOutput):
        display = display.text
    text = display if isinstance(display, str) else ""
    lines = plain_text(text[-_LONGEST * 10 :]).strip().splitlines()
    return lines[-1][:_LONGEST] if lines else "running"
