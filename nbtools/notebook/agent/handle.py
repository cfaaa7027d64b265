"""The ``agent`` object of a notebook: a model that works with the notebook's tools,
in one conversation across cells.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtools.agents.usage import Limits, Usage
from nbtools.core.errors import AgentError
from nbtools.core.language_model import HOW_TO_SET

if TYPE_CHECKING:
    from nbtools.agents.agent import Agent
    from nbtools.agents.events import Answer
    from nbtools.core.language_model import LanguageModel
    from nbtools.notebook.agent.recorded_source import RecordedSource
    from nbtools.notebook.agent.run_controller import RunController
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.traces.explorer.explorer import Explorer

NO_MODEL = (
    f"No model is set. {HOW_TO_SET} Every model name of pydantic-ai works, with the provider's API key in"
    ' the environment; "openai-chat:NAME" with OPENAI_BASE_URL uses your own server; "test" needs neither'
    " key nor network."
)


class NotebookAgent:
    """``agent.run("…")`` works on a task with this notebook's tools,
    shows the run in the cell and asks for approvals with cards.

    ``agent.model = "openai:gpt-5"`` sets the model; ``agent.instructions`` are added to the system prompt,
    ``agent.limits`` end a run automatically.  The conversation lasts until ``agent.new()``;
    ``agent.messages`` has it, ``agent.usage`` its token usage, ``agent.trace()`` opens it in the explorer.
    ``await agent.start("…")`` lets other code run at the same time; ``agent.stop()`` ends the run, also from
    another cell.

    ``agent.model = "recorded:session.jsonl"`` plays a session log.  ``agent.project`` is the folder that is
    copied for its calls (None: the recorded one), ``agent.pace`` the seconds before each step, or ``"step"``;
    ``agent.play_on()`` goes on, ``agent.root`` is the copy.
    """

    def __init__(self, runtime: NotebookRuntime, remember: Callable[[object], None]) -> None:
        self.instructions = ""
        self.limits = Limits()
        self.project: str | Path | None = None
        self.pace: float | str = 0.0
        self._runtime = runtime
        self._remember = remember
        self._model: Any = None
        self._language_model: LanguageModel | None = None
        self._agent: Agent | None = None
        self._controller: RunController | None = None
        self._recorded: RecordedSource | None = None

    @property
    def model(self) -> Any:
        """A name of pydantic-ai's, a model object of it, or a recorded session; None if none is set."""
        return self._model

    @model.setter
    def model(self, model: Any) -> None:
        from nbtools.agents.playback import playback_of  # noqa: PLC0415 - as above
        from nbtools.agents.pydantic_model import model_named  # noqa: PLC0415 - loaded when an agent is used
        from nbtools.notebook.agent.recorded_source import RecordedSource  # noqa: PLC0415 - as above

        playback = playback_of(model)
        if self._recorded is not None:
            self._recorded.close()
        self._recorded = None if playback is None else RecordedSource(self._runtime, playback)
        self._model, self._language_model = (
            model,
            None if model is None or playback is not None else model_named(model),
        )
        self._runtime.session.model = self._language_model

    @property
    def model_name(self) -> str:
        """The name of the model; empty if none is set."""
        if self._recorded is not None:
            return self._recorded.playback.name
        return self._language_model.name if self._language_model else ""

    @property
    def root(self) -> Path | None:
        """The copy in which the calls of a recorded session run;
        None before its first run, and for other models.
        """
        return self._recorded.playback.root if self._recorded else None

    @property
    def is_recorded(self) -> bool:
        """Whether the model is a recorded session."""
        return self._recorded is not None

    @property
    def usage(self) -> Usage:
        """The usage of all runs."""
        return self._agent.usage if self._agent else Usage()

    @property
    def messages(self) -> Sequence[Any]:
        """The conversation so far, as pydantic-ai's messages."""
        return self._agent.messages if self._agent else ()

    @property
    def is_running(self) -> bool:
        return self._controller is not None

    def run(self, prompt: str) -> Answer:
        """Runs a task and waits for its end.

        Raises ``AgentError`` if no model is set or it cannot be used.
        An interrupt stops the run and is raised.
        """
        controller = self._begin(prompt)
        try:
            answer = self._runtime.bridge.run_work(
                controller.runner(self.model_name, self.limits), controller.stop
            )
        finally:
            self._end(controller)
        self._remember(answer)
        return answer

    async def start(self, prompt: str) -> Answer:
        """Runs a task; to be awaited, alone or beside other work."""
        controller = self._begin(prompt)
        try:
            answer = await self._runtime.bridge.start_work(
                controller.runner(self.model_name, self.limits), controller.stop
            )
        finally:
            self._end(controller)
        self._remember(answer)
        return answer

    def stop(self) -> None:
        """Ends the current run; what it has done stays."""
        if self._controller is not None:
            self._controller.stop()

    def new(self) -> None:
        """Begins a new conversation; ``usage`` keeps counting.
        A recorded session begins again, in a new copy.
        """
        if self._recorded is not None:
            self._recorded.playback.rewind()
        if self._agent is not None:
            self._agent.new()

    def play_on(self) -> Answer:
        """Goes on with a recorded session: after a stop, or with its next prompt.
        Raises ``AgentError`` for other models.
        """
        if self._recorded is None:
            raise AgentError(
                "Only a recorded session goes on by itself. Write the next prompt into a cell that begins"
                " with %%agent."
            )
        return self.run("")

    def trace(self) -> Explorer:
        """Opens the recorded conversation in the explorer.
        Raises ``AgentError`` if nothing is recorded yet.
        """
        from nbtools.traces.explorer.explorer import (  # noqa: PLC0415 - log readers are loaded on first use
            open_trace,
        )

        log = self._agent.log if self._agent else None
        if log is None or not log.exists():
            off = "" if self._runtime.session.settings.record else " Recording is off: %tools set record on."
            raise AgentError(f"Nothing is recorded yet.{off}")
        return open_trace(str(log))

    def _begin(self, prompt: str) -> RunController:
        from nbtools.notebook.agent.run_controller import (  # noqa: PLC0415 - as above
            RunController,
            require_pydantic_ai,
        )

        require_pydantic_ai()
        recorded = self._recorded
        if recorded is not None:
            recorded.set(self.project, self.pace)
        elif self._language_model is None:
            raise AgentError(NO_MODEL)
        elif not prompt.strip():
            raise AgentError("The task is empty. Describe what the agent should do.")
        if self._controller is not None:
            raise AgentError(
                "The agent is already running. Wait until it has finished, or call agent.stop()."
            )
        self._controller = RunController(self._runtime.bridge, self._current_agent, prompt, recorded)
        self._runtime.add_source(self._controller)
        return self._controller

    def _end(self, controller: RunController) -> None:
        self._controller = None
        self._runtime.remove_source(controller)

    async def _current_agent(self) -> Agent:
        """Returns an agent with the current settings and workspace;
        the conversation continues when they change.
        """
        session, previous = self._runtime.session, self._agent
        agent = previous
        if agent is None or agent.session is not session:
            agent_class = await asyncio.to_thread(_agent_class)
            agent = self._agent = agent_class(session, self._model)
            if previous is not None:
                agent.messages, agent.usage = previous.messages, previous.usage
        agent.model = self._recorded.playback if self._recorded else self._model
        agent.instructions, agent.limits = self.instructions, self.limits
        agent.logs = session.settings.record
        return agent

    def __repr__(self) -> str:
        if not self.model_name:
            return "<agent without a model>"
        return (
            f"<agent {self.model_name}: {'running' if self.is_running else f'{len(self.messages)} messages'}>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        from nbtools.notebook.agent.overview import (  # noqa: PLC0415 - as above
            AgentSettings,
            RecordedSettings,
            overview,
        )

        settings = AgentSettings(
            self.model_name,
            self.instructions,
            self.limits,
            self.usage,
            RecordedSettings(self.project, self.pace, self.root) if self._recorded else None,
        )
        return overview(settings, self.messages).bundle()


def _agent_class() -> type[Agent]:
    """Imports the class, which takes seconds the first time."""
    from nbtools.agents.agent import Agent  # noqa: PLC0415 - pydantic-ai is loaded for the first run

    return Agent
