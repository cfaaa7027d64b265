"""An agent: a model that works with a session's tools and can be watched and stopped by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.agents.events import AgentEvent, Answer
from nbtools.agents.instructions import instructions_for
from nbtools.agents.playback import Playback, playback_of
from nbtools.agents.provider_errors import provider_failure
from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import AgentError
from nbtools.session.session import Session

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from nbtools.agents.events import EventEmitter
    from nbtools.agents.run import Run
    from nbtools.traces.recording.agent_log import AgentLog

_CONNECT_SECONDS = 10.0
"""Seconds to wait for servers to connect; the tools of a slower one become available when it is connected."""


async def connect_servers(session: Session, ending: asyncio.Event) -> None:
    """Connects the session's MCP servers.
    Returns when all have connected or failed, when ``ending`` is set, or after a timeout.
    """
    servers = session.mcp
    names = [
        name
        for name, one in servers.connections.items()
        if one.state == "disconnected" and not one.server.disabled
    ]
    if not names:
        return
    connecting = asyncio.ensure_future(servers.connect(*names))
    stopped = asyncio.ensure_future(ending.wait())
    try:
        await asyncio.wait(
            {connecting, stopped}, timeout=_CONNECT_SECONDS, return_when=asyncio.FIRST_COMPLETED
        )
    finally:
        stopped.cancel()


_LIMITS = Limits()


def ignore_event(_: AgentEvent) -> None:
    """Ignores the event."""


def _do_nothing() -> None:
    return None


class Agent:
    """Runs a model with a session's tools.

    ``model`` is a name of pydantic-ai (``openai:gpt-5``, ``test``) or a ``Model``, or a recorded session
    (``recorded:session.jsonl``); ``instructions`` precede those of nbtools.  Every tool call is decided,
    approved and recorded by the session.  ``messages`` is the history of all runs and ``usage`` their sum;
    ``limits`` apply to each run; ``logs`` says whether runs are recorded.  The latter two may be changed
    between runs.
    """

    # pydantic-ai takes seconds to load: the first run loads it, in a thread.

    def __init__(
        self,
        session: Session,
        model: str | Model | Playback,
        *,
        instructions: str = "",
        limits: Limits = _LIMITS,
        log: bool = True,
    ) -> None:
        self.session = session
        self.model = model
        self.instructions = instructions
        self.limits = limits
        self.messages: list[ModelMessage] = []
        self.usage = Usage()
        self.logs = log
        self._log: AgentLog | None = None
        self._running = False
        self._cancel: Callable[[], None] = _do_nothing
        self._stopped = ""
        self._resolved_model: tuple[str | Model, Model] | None = None
        self._found_playback: tuple[str | Model | Playback, Playback | None] | None = None

    @property
    def model_name(self) -> str:
        if isinstance(self.model, str):
            return self.model
        return self.model.name if isinstance(self.model, Playback) else self.model.model_id

    @property
    def log(self) -> Path | None:
        """The log of its runs (``nbtools.traces.load`` reads it);
        None before the first run or without logging.
        """
        return None if self._log is None else self._log.path

    async def run(self, prompt: str, *, heard: Callable[[AgentEvent], None] = ignore_event) -> Answer:
        """Runs until the model gives its answer, is stopped or reaches a limit;
        await it in the session's event loop.

        ``heard`` is called with all events in order, a ``Called`` before the call's first event.  Raises
        ``AgentError`` if the model cannot be used; what was done until then stays in the history.  Cancelling
        the awaiting task ends the run and propagates.
        """
        if self._running:
            raise AgentError("This agent is already running. Stop it first, or wait until it has finished.")
        self._running, self._stopped = True, ""
        try:
            return await self._run_with_log(prompt, heard)
        except Exception as error:
            failure = provider_failure(error, self.model_name)
            if failure is None:
                raise
            raise AgentError(failure.message) from error
        finally:
            self._running, self._cancel = False, _do_nothing

    def stop(self, why: str = "you stopped it") -> None:
        """Stops the current run, from any thread: cancels the model request and the tool calls;
        completed changes stay.
        """
        if self._running:
            self._stopped = self._stopped or why
            self._cancel()

    def new(self) -> None:
        """Clears the history; ``usage`` is kept.  A recorded session begins again, in a new copy."""
        self.messages = []
        if playback := self._playback():
            playback.rewind()

    async def open(self) -> Session:
        """Returns the session in which the calls run:
        its own or, of a recorded session, one in a temporary copy.

        ``run`` does the same.  Raises ``AgentError`` if the recorded session cannot be played.
        """
        playback = self._playback()
        return self.session if playback is None else await playback.open(self.session)

    async def close(self) -> None:
        """Removes the copy of a recorded session, which otherwise stays until the process ends."""
        if playback := self._playback():
            await playback.close()

    async def _run_with_log(self, prompt: str, heard: Callable[[AgentEvent], None]) -> Answer:
        log = await asyncio.to_thread(self._open_log)
        await self._connect_servers()
        session = await self.open()
        if playback := self._playback():
            prompt = playback.begin(prompt, heard)
        if log is None:
            return await self._run(session, prompt, heard, None)
        stop_observing = session.observe(log)
        log.write_message("user", prompt)
        try:
            answer = await self._run(session, prompt, heard, log)
        except BaseException as error:
            log.write_end(self._error_text(error), failed=True)
            raise
        finally:
            stop_observing()
        if answer.stopped:
            log.write_end(answer.stopped)
        return answer

    async def _run(
        self, session: Session, prompt: str, heard: Callable[[AgentEvent], None], log: AgentLog | None
    ) -> Answer:
        run, emitter = await asyncio.to_thread(self._new_run, session, heard, log)
        self._cancel = run.token.cancel
        if self._stopped:
            return Answer("", Usage(), self._stopped)
        try:
            ended = await run.execute(prompt, self.messages)
        finally:
            self.messages, self.usage = run.messages, self.usage + run.usage
        return Answer(emitter.text, run.usage, ended and (self._stopped or ended))

    async def _connect_servers(self) -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            loop.call_soon_threadsafe(ending.set)

        self._cancel = end
        await connect_servers(self.session, ending)

    def _new_run(
        self, session: Session, heard: Callable[[AgentEvent], None], log: AgentLog | None
    ) -> tuple[Run, EventEmitter]:
        from nbtools.agents.events import EventEmitter  # noqa: PLC0415 - as above
        from nbtools.agents.run import Run  # noqa: PLC0415 - pydantic-ai takes seconds to load
        from nbtools.agents.toolset import SessionToolset  # noqa: PLC0415 - as above

        emitter, playback = EventEmitter(heard, log), self._playback()
        model = self._resolve() if playback is None else playback.model()
        tools = (SessionToolset if playback is None else playback.toolset)(session, on_call=emitter.add_call)
        return (
            Run(tools, model, lambda: instructions_for(session, self.instructions), self.limits, emitter),
            emitter,
        )

    def _resolve(self) -> Model:
        """Returns the model object for a name; the same one as long as the name stays."""
        from nbtools.agents.run import model_of  # noqa: PLC0415 - as above

        if isinstance(self.model, Playback):
            return self.model.model()
        if self._resolved_model is None or self._resolved_model[0] != self.model:
            self._resolved_model = self.model, model_of(self.model)
        return self._resolved_model[1]

    def _playback(self) -> Playback | None:
        """Returns the recorded session that is the model; None for other models."""
        if self._found_playback is None or self._found_playback[0] != self.model:
            self._found_playback = self.model, playback_of(self.model)
        return self._found_playback[1]

    def _error_text(self, error: BaseException) -> str:
        if isinstance(error, asyncio.CancelledError):
            return "it was cancelled"
        failure = provider_failure(error, self.model_name) if isinstance(error, Exception) else None
        return failure.message if failure else repr(error)

    def _open_log(self) -> AgentLog | None:
        """Returns the log of all runs, created on first use; None without logging."""
        if not self.logs:
            return None
        if self._log is None:
            from nbtools.traces.recording.agent_log import (  # noqa: PLC0415 - loaded with the first run
                AgentLog,
            )

            workspace, limit = self.session.workspace, self.session.settings.record_bytes
            self._log = AgentLog(workspace.root, workspace.journal.session, self.session.dialect.name, limit)
        return self._log
