"""The tools of a recorded model, as a pydantic-ai toolset."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pydantic_ai import RunContext
from pydantic_ai.toolsets import ToolsetTool

from nbtools.agents.toolset import SessionToolset, content_of
from nbtools.core.errors import ErrorCode
from nbtools.lesson.recorded_result import NotRun
from nbtools.replay.replay import replay_in_copy
from nbtools.session import Session

if TYPE_CHECKING:
    from nbtools.lesson.recorded_model import RecordedModel


class RecordedToolset(SessionToolset):
    """Runs the recorded call that the model has just made, and compares its result with the recorded one."""

    def __init__(
        self, session: Session, recorded: RecordedModel, on_call: Callable[[str, str], None]
    ) -> None:
        super().__init__(session, on_call=on_call)
        self._recorded = recorded

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        pending, call_id = self._recorded.pending, self._session.new_id()
        self._on_call(call_id, name)
        if pending is None or isinstance(pending, NotRun):
            result = await self._session.call(name, tool_args, id=call_id)
            self.stopped = self._recorded.finish(None)
            return content_of(result)
        place = self._recorded.place
        replayed = await replay_in_copy(
            pending.call,
            place.ground,
            place.copy,
            self._session,
            detail=pending.detail,
            meaning=pending.meaning,
            id=call_id,
        )
        error = replayed.result.error
        if error is not None and error.code is ErrorCode.STOP_EXECUTION:
            self._recorded.finish(replayed)
            self.stopped = error.message
        elif error is not None and error.code is ErrorCode.CANCELLED:
            self.stopped = "the call was cancelled; it is the next one when you continue"
        else:
            self.stopped = self._recorded.finish(replayed)
        return content_of(replayed.result)
