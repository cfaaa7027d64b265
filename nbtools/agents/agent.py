"""A model that works with a session's tools, watched and stopped by a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.agents.happenings import Answer, Happening
from nbtools.agents.instructions import instructions_for
from nbtools.agents.servers import connected
from nbtools.agents.troubles import trouble
from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import AgentError
from nbtools.session import Session

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model

    from nbtools.agents.running import Run
    from nbtools.agents.telling import Teller
    from nbtools.traces.agent_log import AgentLog

_LIMITS = Limits()


def nobody(_: Happening) -> None:
    """Hears nothing."""


def _nothing() -> None:
    return None


class Agent:
    """``model`` is one of pydantic-ai's names (``openai:gpt-5``, ``test``) or a ``Model``; ``instructions`` come before what nbtools says.

    Every call goes the session's way: judged, asked, recorded.  ``messages`` is the history, kept from run to run; ``usage`` is that of
    all runs; ``limits`` are of one; ``logs`` says whether they are recorded.  The latter two may be set between runs.  pydantic-ai is
    loaded by the first run, in a thread.
    """

    def __init__(self, session: Session, model: str | Model, *, instructions: str = "", limits: Limits = _LIMITS, log: bool = True) -> None:
        self.session = session
        self.model = model
        self.instructions = instructions
        self.limits = limits
        self.messages: list[ModelMessage] = []
        self.usage = Usage()
        self.logs = log
        self._log: AgentLog | None = None
        self._running = False
        self._end: Callable[[], None] = _nothing
        self._stopped = ""
        self._known: tuple[str | Model, Model] | None = None

    @property
    def model_name(self) -> str:
        return self.model if isinstance(self.model, str) else self.model.model_id

    @property
    def log(self) -> Path | None:
        """Where its runs are recorded (``nbtools.traces.load`` reads it), from the first on; None where they are not."""
        return None if self._log is None else self._log.path

    async def run(self, prompt: str, *, heard: Callable[[Happening], None] = nobody) -> Answer:
        """Runs until the model has its last word, is stopped or reaches a limit; to be awaited in the session's event loop.

        ``heard`` is told everything in its order, a ``Called`` before the call's first event.  Raises ``AgentError`` where the model cannot
        be used; what was done until then stays in the history.  Cancelling the awaiting task ends the run and propagates.
        """
        if self._running:
            raise AgentError("This agent is at work already: stop it first, or wait for it.")
        self._running, self._stopped = True, ""
        try:
            return await self._through(prompt, heard)
        except Exception as error:
            known = trouble(error, self.model_name)
            if known is None:
                raise
            raise AgentError(known.message) from error
        finally:
            self._running, self._end = False, _nothing

    def stop(self, why: str = "you stopped it") -> None:
        """Ends the run under way, from any thread: the request to the model and the calls are cancelled, what is done stays."""
        if self._running:
            self._stopped = self._stopped or why
            self._end()

    def new(self) -> None:
        """Forgets what was said; ``usage`` goes on."""
        self.messages = []

    async def _through(self, prompt: str, heard: Callable[[Happening], None]) -> Answer:
        log = await asyncio.to_thread(self._opened_log)
        if log is None:
            return await self._ran(prompt, heard, None)
        forget = self.session.observe(log)
        log.said("user", prompt)
        try:
            answer = await self._ran(prompt, heard, log)
        except BaseException as error:
            log.end(self._in_words(error), failed=True)
            raise
        finally:
            forget()
        if answer.stopped:
            log.end(answer.stopped)
        return answer

    async def _ran(self, prompt: str, heard: Callable[[Happening], None], log: AgentLog | None) -> Answer:
        await self._connected()
        run, teller = await asyncio.to_thread(self._made, heard, log)
        self._end = run.token.cancel
        if self._stopped:
            return Answer("", Usage(), self._stopped)
        try:
            ended = await run.through(prompt, self.messages)
        finally:
            self.messages, self.usage = run.messages, self.usage + run.usage
        return Answer(teller.text, run.usage, ended and (self._stopped or ended))

    async def _connected(self) -> None:
        ending, loop = asyncio.Event(), asyncio.get_running_loop()

        def end() -> None:
            loop.call_soon_threadsafe(ending.set)

        self._end = end
        await connected(self.session, ending)

    def _made(self, heard: Callable[[Happening], None], log: AgentLog | None) -> tuple[Run, Teller]:
        from nbtools.agents.running import Run, model_of  # noqa: PLC0415 - pydantic-ai takes seconds to load
        from nbtools.agents.telling import Teller  # noqa: PLC0415 - as above

        if self._known is None or self._known[0] != self.model:
            self._known = self.model, model_of(self.model)
        teller = Teller(heard, log)
        return Run(self.session, self._known[1], self._instructed, self.limits, teller), teller

    def _instructed(self) -> str:
        return instructions_for(self.session, self.instructions)

    def _in_words(self, error: BaseException) -> str:
        if isinstance(error, asyncio.CancelledError):
            return "it was cancelled"
        known = trouble(error, self.model_name) if isinstance(error, Exception) else None
        return known.message if known else repr(error)

    def _opened_log(self) -> AgentLog | None:
        """The log of all runs; None where none is wanted."""
        if not self.logs:
            return None
        if self._log is None:
            from nbtools.traces.agent_log import AgentLog  # noqa: PLC0415 - what writes logs is loaded with the first run

            workspace, limit = self.session.workspace, self.session.settings.record_bytes
            self._log = AgentLog(workspace.root, workspace.journal.session, self.session.dialect.name, limit)
        return self._log
