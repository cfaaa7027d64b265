"""One run of the notebook's agent: its servers connected, the run followed on its stage, ended by whoever wants it ended."""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

from nbtools.agents.happenings import Answer
from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import AgentError
from nbtools.notebook.agent.handle import RunError
from nbtools.notebook.agent.stage import STOPPING, Stage
from nbtools.notebook.phrases import counted
from nbtools.notebook.waits import PATIENCE

if TYPE_CHECKING:
    from nbtools.agents.agent import Agent
    from nbtools.notebook.bridge import Bridge
    from nbtools.notebook.places import Place

WHY = "you stopped it"


class Playing:
    """``id`` is what the Stop button sends.  A ``Guest`` of the workbench while it lasts."""

    def __init__(self, bridge: Bridge, agent_for: Callable[[], Awaitable[Agent]], prompt: str) -> None:
        self.id = f"run-{uuid.uuid4().hex}"
        self._bridge = bridge
        self._agent_for = agent_for
        self._prompt = prompt
        self._agent: Agent | None = None
        self._stage: Stage | None = None
        self._preparing: asyncio.Task[Agent] | None = None
        self._is_stopped = False
        self._is_over = threading.Event()

    def at(self, name: str, limits: Limits) -> Callable[[Place], Coroutine[Any, Any, Answer]]:
        """What is to be done in the session's loop, shown in a place.  Raises ``AgentError``."""

        async def play(place: Place) -> Answer:
            stage = self._stage = Stage(self.id, name, limits, place, self._bridge.show_at)
            stage.open()
            end = self._bridge.blocking.session.observe(stage)
            try:
                answer = await self._answer(stage)
            except AgentError as error:
                stage.fail(str(error))
                raise RunError(str(error)) from error
            except BaseException as error:
                stage.fail(f"{type(error).__name__}: {error}")
                raise
            finally:
                end()
                self._is_over.set()
            stage.close(answer)
            return answer

        return play

    async def _answer(self, stage: Stage) -> Answer:
        self._preparing = asyncio.ensure_future(self._prepared(stage))
        try:
            agent = await self._preparing
        except asyncio.CancelledError:
            if not self._is_stopped:
                raise
            return Answer("", Usage(), WHY)
        if self._is_stopped:
            return Answer("", Usage(), WHY)
        stage.say("Thinking")
        self._agent = agent
        return await agent.run(self._prompt, heard=stage.hear)

    async def _prepared(self, stage: Stage) -> Agent:
        servers = self._bridge.blocking.session.mcp
        waiting = [one for one in servers.connections.values() if not one.server.disabled and one.state != "connected"]
        if waiting:
            stage.say(f"Connecting {counted(len(waiting), 'server')}")
            await servers.connect()
        return await self._agent_for()

    def stop(self) -> None:
        """From any thread, without waiting for its end."""

        async def stop() -> None:
            self._is_stopped = True
            if self._stage is not None:
                self._stage.say(STOPPING)
            if self._agent is not None:
                self._agent.stop(WHY)
            elif self._preparing is not None:
                self._preparing.cancel()

        self._bridge.blocking.submit(stop())

    def cancel(self, call_id: str) -> None:
        if call_id == self.id:
            self.stop()

    def leave(self) -> None:
        """The session in which it calls is about to end."""
        self.close()

    def close(self) -> None:
        """Stops it and waits until it has ended, for its loop is about to end."""
        self.stop()
        self._is_over.wait(PATIENCE)


def must_be_installed() -> None:
    """Raises ``AgentError`` without pydantic-ai; loads nothing."""
    if importlib.util.find_spec("pydantic_ai") is None:
        raise AgentError('An agent needs pydantic-ai, which is not installed: pip install "nbtools-agent[agents]".')
