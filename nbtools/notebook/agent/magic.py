"""The ``%agent`` and ``%%agent`` magics, and the arguments on their line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand
from IPython.display import display, publish_display_data

from nbtools.cards.tables import Sheet
from nbtools.core.errors import ErrorCode, NbtoolsError, RunError, ToolFailure
from nbtools.notebook.agent.recorded_source import checked_pace
from nbtools.notebook.magics.command_line import HelpRequested, parse
from nbtools.notebook.magics.flags import declared, flag, word_list

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from nbtools.notebook.agent.handle import NotebookAgent

VERBS = {
    "help": "explains the settings and the commands",
    "continue": "goes on with a recorded session",
    "new": "begins a new conversation",
    "trace": "opens the conversation in the explorer",
    "stop": "ends the current run",
}
_MODELS = ("openai:", "openai-chat:", "anthropic:", "google:", "ollama:", "recorded:", "test")
AGENT = declared(
    "%agent",
    word_list(
        "words",
        required=False,
        offers=lambda before, _: () if before else VERBS,
        kind="keyword",
    ),
    flag(
        "model",
        "the model: openai:gpt-5, openai-chat:NAME with OPENAI_BASE_URL, recorded:LOG, test",
        offers=lambda *_: _MODELS,
    ),
    flag("steps", "stop a run after this many model requests", type="integer"),
    flag("instructions", "instructions for the model, in addition to its tools"),
    flag("project", "of a recorded session: the folder that is copied for its calls"),
    flag("pace", "of a recorded session: seconds before each step, or step for one call at a time"),
)


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A parsed line; ``verb`` is empty if it only changes or shows settings."""

    settings: dict[str, Any]
    verb: str = ""

    def apply_to(self, agent: NotebookAgent) -> None:
        """Applies the settings, which stay in effect."""
        if "instructions" in self.settings:
            agent.instructions = self.settings["instructions"]
        if "steps" in self.settings:
            agent.limits = replace(agent.limits, steps=self.settings["steps"])
        if "project" in self.settings:
            agent.project = self.settings["project"]
        if "pace" in self.settings:
            agent.pace = checked_pace(self.settings["pace"])
        if "model" in self.settings:
            agent.model = self.settings["model"]


def parse_line(line: str, *, in_cell: bool) -> AgentCommand:
    """Parses a line.  Raises ``ToolFailure`` with a one-line message that says how to write it."""
    settings = parse(AGENT, line)
    words = settings.pop("words", [])
    if in_cell and words:
        raise _error(f"write the task below the %%agent line, not on it ({' '.join(words)}).")
    if not in_cell and (len(words) > 1 or (words and words[0] not in VERBS)):
        raise _error(
            f"unknown command. Available: {', '.join(VERBS)}. A task goes into a cell that begins with"
            " %%agent."
        )
    if settings.get("steps", 1) < 1:
        raise _error("--steps must be at least 1.")
    return AgentCommand(settings, words[0] if words else "")


def _error(message: str) -> ToolFailure:
    return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"%agent: {message}")


@magics_class
class AgentMagics(Magics):
    """Runs the notebook's agent.  Every error is shown as one line."""

    def __init__(self, shell: InteractiveShell, agent: NotebookAgent) -> None:
        super().__init__(shell)
        self._agent = agent

    @no_var_expand
    @line_cell_magic
    def agent(self, line: str, cell: str | None = None) -> Any:
        """Lets a model work on a task with this notebook's tools; approvals are asked with cards.

        ::

            %%agent --model openai:gpt-5
            Find out why the tests of the cart fail, and fix it.

        ``--steps N`` and ``--instructions "…"`` are further settings; all settings stay in effect.  The next
        ``%%agent`` continues the same conversation.  ``%agent`` shows its state, ``%agent new`` begins a new
        one, ``%agent trace`` opens it in the explorer.

        ``--model recorded:session.jsonl --project FOLDER`` plays a session log in a copy of a folder, without
        a key; ``%agent continue`` goes on with it, ``--pace 2`` waits two seconds before each step,
        ``--pace step`` stops after each call.
        """
        try:
            command = parse_line(line, in_cell=cell is not None)
            command.apply_to(self._agent)
            return self._run(command) if cell is None else self._agent.run(cell.strip())
        except HelpRequested:
            _show(_help())
            return None
        except RunError:
            return None
        except NbtoolsError as error:
            _show(Sheet(lines=(f"✕ {error}",)))
            return None

    def _run(self, command: AgentCommand) -> Any:
        match command.verb:
            case "continue":
                return self._agent.play_on()
            case "help":
                _show(_help())
            case "trace":
                return self._agent.trace()
            case "stop":
                self._agent.stop()
            case "new":
                self._agent.new()
                _show(Sheet(lines=("Started a new conversation.",)))
            case _:
                display(self._agent)  # type: ignore[no-untyped-call]
        return None


def _help() -> Sheet:
    """Returns the settings and commands of the magic."""
    settings = tuple((f"%agent {one.usage}", one.description) for one in AGENT.long.values())
    commands = (
        ("%agent", "shows the agent's model, settings and usage"),
        *((f"%agent {verb}", about) for verb, about in VERBS.items()),
    )
    lines = ("All settings stay in effect, also those on a %%agent line.",)
    return Sheet(
        "%%agent gives the task below its first line to a model, with this notebook's tools.",
        (*settings, *commands),
        lines,
    )


def _show(sheet: Sheet) -> None:
    publish_display_data(sheet.bundle())  # type: ignore[no-untyped-call]
