"""``agent``: a model that works with this notebook's tools, one conversation from cell to cell."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import AgentError
from nbtools.core.model import HOW_TO_SET

if TYPE_CHECKING:
    from nbtools.agents.agent import Agent
    from nbtools.agents.happenings import Answer
    from nbtools.core.model import LanguageModel
    from nbtools.notebook.agent.playing import Playing
    from nbtools.notebook.trace.opening import Explorer
    from nbtools.notebook.workbench import Workbench

NO_MODEL = (
    f"No model is set. {HOW_TO_SET} Any of pydantic-ai's names will do, with the provider's key in the environment; "
    '"openai-chat:NAME" with OPENAI_BASE_URL asks a server of your own; "test" needs neither key nor network.'
)


class RunError(AgentError):
    """A run that its cell shows as failed, with the reason."""


class NotebookAgent:
    """``agent.run("…")`` works on a task with this notebook's tools, shows it in the cell, and asks with its cards.

    ``agent.model = "openai:gpt-5"`` sets whose; ``agent.instructions`` are what it is told beside the tools, ``agent.limits`` where a run
    stops by itself.  What was said stays until ``agent.new()``; ``agent.messages`` has it, ``agent.usage`` what it took, ``agent.trace()``
    shows it.  ``await agent.start("…")`` leaves room for other work; ``agent.stop()`` ends it, from another cell, too.
    """

    def __init__(self, bench: Workbench, remember: Callable[[object], None]) -> None:
        self.instructions = ""
        self.limits = Limits()
        self._bench = bench
        self._remember = remember
        self._model: Any = None
        self._named: LanguageModel | None = None
        self._agent: Agent | None = None
        self._playing: Playing | None = None

    @property
    def model(self) -> Any:
        """A name of pydantic-ai's, or a model of its making; None: none is set."""
        return self._model

    @model.setter
    def model(self, model: Any) -> None:
        from nbtools.agents.model import model_named  # noqa: PLC0415 - of no use to a notebook without an agent

        self._model, self._named = model, None if model is None else model_named(model)
        self._bench.session.model = self._named

    @property
    def model_name(self) -> str:
        """Empty where none is set."""
        return self._named.name if self._named else ""

    @property
    def usage(self) -> Usage:
        """Of all runs."""
        return self._agent.usage if self._agent else Usage()

    @property
    def messages(self) -> Sequence[Any]:
        """The conversation so far, as pydantic-ai has it."""
        return self._agent.messages if self._agent else ()

    @property
    def is_running(self) -> bool:
        return self._playing is not None

    def run(self, prompt: str) -> Answer:
        """Waits for the end.  Raises ``AgentError`` where there is no model or it cannot be used; an interrupt stops it and is raised."""
        playing = self._begun(prompt)
        try:
            answer = self._bench.bridge.attend(playing.at(self.model_name, self.limits), playing.stop)
        finally:
            self._ended(playing)
        self._remember(answer)
        return answer

    async def start(self, prompt: str) -> Answer:
        """The same to be awaited, alone or beside others."""
        playing = self._begun(prompt)
        try:
            answer = await self._bench.bridge.attending(playing.at(self.model_name, self.limits), playing.stop)
        finally:
            self._ended(playing)
        self._remember(answer)
        return answer

    def stop(self) -> None:
        """Ends the run under way; what is done stays."""
        if self._playing is not None:
            self._playing.stop()

    def new(self) -> None:
        """Begins a new conversation; ``usage`` goes on."""
        if self._agent is not None:
            self._agent.new()

    def trace(self) -> Explorer:
        """What it did and said, to look through.  Raises ``AgentError`` before there is anything."""
        from nbtools.notebook.trace.opening import open_trace  # noqa: PLC0415 - readers of logs are not loaded before there is one

        log = self._agent.log if self._agent else None
        if log is None or not log.exists():
            off = "" if self._bench.session.settings.record else " Recording is off: %tools set record on."
            raise AgentError(f"Nothing is recorded yet.{off}")
        return open_trace(str(log))

    def _begun(self, prompt: str) -> Playing:
        from nbtools.notebook.agent.playing import Playing, must_be_installed  # noqa: PLC0415 - as above

        must_be_installed()
        if self._named is None:
            raise AgentError(NO_MODEL)
        if not prompt.strip():
            raise AgentError("There is nothing to do: say what you want.")
        if self._playing is not None:
            raise AgentError("It is at work already: wait for it, or agent.stop().")
        self._playing = Playing(self._bench.bridge, self._agent_here, prompt)
        self._bench.guests.append(self._playing)
        return self._playing

    def _ended(self, playing: Playing) -> None:
        self._playing = None
        if playing in self._bench.guests:
            self._bench.guests.remove(playing)

    async def _agent_here(self) -> Agent:
        """As it is set now, on the workspace that there is now; a conversation goes on through changes of both."""
        session, before = self._bench.session, self._agent
        agent = before
        if agent is None or agent.session is not session:
            make = await asyncio.to_thread(_agent_class)
            agent = self._agent = make(session, self._model)
            if before is not None:
                agent.messages, agent.usage = before.messages, before.usage
        agent.model, agent.instructions, agent.limits = self._model, self.instructions, self.limits
        agent.logs = session.settings.record
        return agent

    def __repr__(self) -> str:
        if not self.model_name:
            return "<agent without a model>"
        return f"<agent {self.model_name}: {'at work' if self.is_running else f'{len(self.messages)} messages'}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from nbtools.notebook.agent.overview import overview  # noqa: PLC0415 - as above

        return overview(self).bundle()


def _agent_class() -> type[Agent]:
    """Takes seconds the first time."""
    from nbtools.agents.agent import Agent  # noqa: PLC0415 - pydantic-ai is loaded when there is something to run

    return Agent
