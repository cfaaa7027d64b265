"""Controls one run of the notebook's agent:
connects MCP servers, runs the agent with its display, and stops it.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from nbtools.agents.events import Answer
from nbtools.agents.usage import Limits, Usage
from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import AgentError, RunError
from nbtools.core.message import counted
from nbtools.notebook.agent.run_messages import RunAction
from nbtools.notebook.agent.run_view import ACTIONS, STOPPING, RunDisplay
from nbtools.notebook.runtime import SourceWork
from nbtools.notebook.waits import PATIENCE

if TYPE_CHECKING:
    from nbtools.agents.agent import Agent
    from nbtools.notebook.agent.recorded_source import RecordedSource
    from nbtools.notebook.call_bridge import Bridge
    from nbtools.notebook.display_target import DisplayTarget
    from nbtools.notebook.state.state_messages import FileChange

STOP_REASON = "you stopped it"


class RunController:
    """One run.  ``id`` is what the Stop button sends.  A ``CallSource`` of the runtime while it lasts."""

    def __init__(
        self,
        bridge: Bridge,
        agent_for: Callable[[], Awaitable[Agent]],
        prompt: str,
        recorded: RecordedSource | None = None,
    ) -> None:
        self.id = f"run-{uuid.uuid4().hex}"
        self._bridge = bridge
        self._agent_for = agent_for
        self._prompt = prompt
        self._recorded = recorded
        self._agent: Agent | None = None
        self._display: RunDisplay | None = None
        self._preparing: asyncio.Task[Agent] | None = None
        self._is_stopped = False
        self._is_over = threading.Event()
        self._started = time.time()
        self._cell_id = ""
        self._unsubscribe: Callable[[], None] = lambda: None
        self._status = ""
        self._failed = False

    def work(self) -> SourceWork:
        return SourceWork(
            self.id, one_line(self._prompt, 200), self._started, self._cell_id, self._status, self._failed
        )

    def runner(self, name: str, limits: Limits) -> Callable[[DisplayTarget], Coroutine[Any, Any, Answer]]:
        """Returns a coroutine function that performs the run in the session's loop and displays it at a
        target.  Raises ``AgentError``.
        """

        async def run(target: DisplayTarget) -> Answer:
            self._cell_id = target.cell_id
            set_target = self._bridge.set_target if self._recorded is None else self._recorded.set_target
            display = self._display = RunDisplay(
                self.id, name, limits, target, set_target, self._actions, self._changes
            )
            display.open()
            try:
                answer = await self._answer(display)
            except AgentError as error:
                self._failed = True
                display.fail(str(error))
                raise RunError(str(error)) from error
            except BaseException as error:
                self._failed = True
                display.fail(f"{type(error).__name__}: {error}")
                raise
            finally:
                self._unsubscribe()
                if self._failed:
                    self._status = "Failed"
                else:
                    self._status = "Stopped" if self._is_stopped else "Done"
                self._is_over.set()
            display.close(answer)
            return answer

        return run

    async def _answer(self, display: RunDisplay) -> Answer:
        self._preparing = asyncio.ensure_future(self._prepare(display))
        try:
            agent = await self._preparing
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            return Answer("", Usage(), STOP_REASON)
        if self._is_stopped:
            return Answer("", Usage(), STOP_REASON)
        display.set_status("Thinking")
        self._agent = agent
        return await agent.run(self._prompt, heard=display.on_event)

    async def _prepare(self, display: RunDisplay) -> Agent:
        servers = self._bridge.blocking.session.mcp
        unconnected = [
            one
            for one in servers.connections.values()
            if not one.server.disabled and one.state != "connected"
        ]
        if unconnected:
            display.set_status(f"Connecting {counted(len(unconnected), 'server')}")
            await servers.connect()
        agent = await self._agent_for()
        if self._recorded is not None and self._recorded.playback.root is None:
            display.set_status("Copying the project")
        self._unsubscribe = (await agent.open()).observe(display)
        return agent

    def _actions(self) -> tuple[RunAction, ...]:
        if self._recorded is None:
            return ACTIONS
        return ("open-trace",) if self._recorded.playback.is_over else ("play-on", "open-trace")

    def _changes(self, calls: frozenset[str]) -> Sequence[FileChange]:
        """Returns what these calls changed and is not undone.
        A recorded session works in a copy, of which nothing is listed.
        """
        from nbtools.notebook.state.snapshot import (  # noqa: PLC0415 - loaded when a run has ended
            file_changes,
        )

        if self._recorded is not None:
            return ()
        return [
            change
            for change in file_changes(self._bridge.blocking.session)
            if change.id in calls and not change.undone_by
        ]

    def stop(self) -> None:
        """Ends the run, from any thread, without waiting."""

        async def stop() -> None:
            self._is_stopped = True
            if self._display is not None:
                self._display.set_status(STOPPING)
            if self._agent is not None:
                self._agent.stop(STOP_REASON)
            elif self._preparing is not None:
                self._preparing.cancel()

        self._bridge.blocking.submit(stop())

    def cancel(self, call_id: str) -> None:
        if call_id == self.id:
            self.stop()

    def leave(self) -> None:
        """Stops the run, because the session in which it calls tools is about to end."""
        self.close()

    def close(self) -> None:
        """Stops the run and waits until it has ended, because its event loop is about to end."""
        self.stop()
        self._is_over.wait(PATIENCE)


def require_pydantic_ai() -> None:
    """Raises ``AgentError`` if pydantic-ai is not installed; imports nothing."""
    if importlib.util.find_spec("pydantic_ai") is None:
        raise AgentError(
            'Agents need pydantic-ai, which is not installed: pip install "nbtools-agent[agents]".'
        )
