"""The magic ``%tools``, which shows and changes the session, and its general sub-commands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtools.cards.decision_text import decided_by
from nbtools.cards.phrases import clock, elapsed
from nbtools.cards.tables import Sheet
from nbtools.core.call import (
    AwaitingApprovalCall,
    CancelledCall,
    ErroredCall,
    FinishedCall,
    LiveCall,
    ValidatingCall,
)
from nbtools.core.errors import ErrorCode
from nbtools.core.message import counted
from nbtools.dialects import dialect_names
from nbtools.mcp.client.errors import error_text
from nbtools.notebook.display_target import AnswerMethod
from nbtools.notebook.magics.flags import refused, word, word_list
from nbtools.notebook.magics.policy_file_commands import LayerCommands
from nbtools.notebook.magics.program_commands import ProgramCommands
from nbtools.notebook.magics.rule_commands import RuleCommands, described
from nbtools.notebook.magics.setting_commands import SettingCommands
from nbtools.notebook.magics.sub_commands import CommandSet, SubCommand, inside, sheet_of_lines
from nbtools.notebook.magics.undo_commands import UndoCommands
from nbtools.notebook.mcp.commands import mcp_commands
from nbtools.notebook.mcp.prompts import PromptCommands
from nbtools.notebook.mcp.status import servers_row
from nbtools.policy.modes import Mode
from nbtools.policy.policy_file import VERBS
from nbtools.policy.store import StoredPolicy, Trust

if TYPE_CHECKING:
    from nbtools.notebook.runtime import NotebookRuntime
    from nbtools.session.session import Session


_RECENT = 30
_HISTORY_HINT = "takes a number of calls above 0, as in %tools history 10."
_METHODS = {
    "auto": None,
    "widget": AnswerMethod.WIDGET,
    "prompt": AnswerMethod.PROMPT,
    "deny": AnswerMethod.NOBODY,
}


class ToolsCommands(CommandSet):
    """All sub-commands of ``%tools``."""

    def __init__(self, runtime: NotebookRuntime) -> None:
        self._runtime = runtime
        modes = [mode.value for mode in Mode]
        super().__init__(
            "%tools",
            SubCommand("", "shows the session: workspace, mode, rules, running calls", self._overview),
            SubCommand(
                "use",
                "uses the tool names and parameters of another agent",
                self._use,
                (word("dialect", required=False, offers=lambda *_: dialect_names()),),
                "takes one argument, as in %tools use claude.",
            ),
            SubCommand(
                "mode",
                f"sets the permission mode, which applies where no rule does: {', '.join(modes)}",
                self._mode,
                (word("mode", required=False, offers=lambda *_: modes),),
                "takes one argument, as in %tools mode plan.",
            ),
            *RuleCommands(runtime).commands,
            *LayerCommands(runtime).commands,
            *ProgramCommands(runtime).commands,
            *UndoCommands(runtime).commands,
            mcp_commands(runtime),
            PromptCommands(runtime).command,
            SubCommand(
                "history",
                "lists finished calls, latest last",
                self._history,
                (word("count", type="integer", required=False),),
                _HISTORY_HINT,
            ),
            SubCommand("pending", "lists calls that are running or need your answer", self._pending),
            SubCommand(
                "cancel",
                "cancels calls",
                self._cancel,
                (word_list("ids", offers=self._running_ids),),
                "needs the id of a call; %tools pending lists them.",
            ),
            SubCommand(
                "workspace",
                "switches to another folder",
                self._workspace,
                (word("folder", required=False),),
                "takes one argument, as in %tools workspace ../project.",
            ),
            *SettingCommands(runtime).commands,
            SubCommand(
                "serve",
                "lets MCP clients call the tools through nbtools mcp; approval requests are shown here",
                self._serve,
                (word("off", choices=("off",), required=False),),
                "takes no argument or off.",
            ),
            SubCommand(
                "confirm",
                "sets how approval is requested: auto, widget, prompt, deny",
                self._confirm,
                (word("method", required=False, offers=lambda *_: _METHODS),),
                "takes one argument, as in %tools confirm widget.",
            ),
            footer=(
                'A rule names a tool, optionally with a path or command: edit, edit(src/**), "shell(git'
                ' log:*)".'
            ),
        )

    @property
    def _session(self) -> Session:
        return self._runtime.session

    def _running_ids(self, *_: object) -> list[str]:
        return [call.request.id for call in self._session.active]

    def _overview(self) -> Sheet:
        session, store = self._session, self._session.store
        rows = [
            ("workspace", f"{session.workspace.root}"),
            ("dialect", session.dialect.name),
            ("mode", session.mode.value),
            ("approval by", self._method_name()),
            *_of_files(session, store.user(), store.project(), store.trust()),
            *(
                (verb, ", ".join(map(described, rules)))
                for verb in VERBS
                if (rules := getattr(session.policy, verb))
            ),
            ("granted", ", ".join(session.grants) or "nothing yet"),
            *((("remembered", ", ".join(session.saved_grants)),) if session.saved_grants else ()),
            *servers_row(session),
            ("calls", f"{len(session.history)} finished, {len(session.active)} running"),
        ]
        lines = ("%tools help lists what can be changed; %tool lists the tools.", *store.problems())
        return Sheet("", tuple(rows), lines, code=frozenset())

    def _use(self, dialect: str = "") -> Sheet:
        if not dialect:
            return sheet_of_lines(
                f"The dialect is {self._session.dialect.name}. Available dialects:"
                f" {', '.join(dialect_names())}."
            )
        inside(self._runtime, lambda session: setattr(session, "dialect", dialect))
        return sheet_of_lines(f"Dialect set to {dialect}. Tools: {', '.join(self._session.tools.names())}.")

    def _mode(self, mode: str = "") -> Sheet:
        mode = mode.replace("-", "_")
        if mode:
            inside(
                self._runtime, lambda session: setattr(session, "policy", replace(session.policy, mode=mode))
            )
            if mode != self._session.mode:
                return sheet_of_lines(
                    f"The mode stays {self._session.mode.value}, because the project's rules are stricter."
                    " %tools rules shows them."
                )
        return sheet_of_lines(f"The mode is {self._session.mode.value}.")

    def _history(self, count: int = _RECENT) -> Sheet:
        if count < 1:
            raise refused(f"%tools history {_HISTORY_HINT}")
        calls = self._session.history[-count:]
        if not calls:
            return sheet_of_lines("No call has finished yet.")
        head = ("id", "tool", "what", "state", "decided by", "when", "duration")
        return Sheet("", tuple(_history_row(call) for call in calls), head=head, code=frozenset({1, 2}))

    def _pending(self) -> Sheet:
        calls = self._session.active
        if not calls:
            return sheet_of_lines("No call is running.")
        rows = tuple(
            (call.request.id, call.request.spoken, _subject(call), _state(call), clock(call.at))
            for call in calls
        )
        return Sheet(
            "",
            rows,
            ("%tools cancel ID cancels a call.",),
            ("id", "tool", "what", "state", "since"),
            frozenset({1, 2}),
        )

    def _cancel(self, ids: list[str]) -> Sheet:
        cancelled = inside(
            self._runtime, lambda session: [call_id for call_id in ids if session.cancel(call_id)]
        )
        unknown = [call_id for call_id in ids if call_id not in cancelled]
        lines = [f"Cancelled: {', '.join(cancelled)}."] if cancelled else []
        return sheet_of_lines(*lines, *([f"Not running: {', '.join(unknown)}."] if unknown else []))

    def _workspace(self, folder: str = "") -> Sheet:
        if folder:
            self._runtime.move(folder)
        return sheet_of_lines(f"The workspace is {self._session.workspace.root}.")

    def _serve(self, off: str = "") -> Sheet | None:
        if off:
            was_serving = self._runtime.stop_serving("Serving has ended.")
            return sheet_of_lines("Serving has ended." if was_serving else "This notebook is not serving.")
        try:
            from nbtools.notebook.mcp.serving import (  # noqa: PLC0415 - loads the MCP SDK, an extra
                ClientServing,
            )
        except ImportError as error:
            raise refused(f"{error_text(error)}.") from None
        if self._runtime.served is None:
            self._runtime.served = ClientServing(self._runtime)
        else:
            self._runtime.served.move()
        return None  # the view displays itself

    def _confirm(self, method: str = "") -> Sheet:
        if method:
            if method not in _METHODS:
                raise refused(f"%tools confirm has no method {method!r}. Methods: {', '.join(_METHODS)}.")
            self._runtime.frontend.preference = _METHODS[method]
        return sheet_of_lines(f"Approval is requested by: {self._method_name()}.")

    def _method_name(self) -> str:
        return next(name for name, method in _METHODS.items() if method is self._runtime.frontend.preference)


def _of_files(
    session: Session, user: StoredPolicy, project: StoredPolicy, trust: Trust
) -> list[tuple[str, str]]:
    """Returns a row for each active layer from a file, and for a project that is not trusted."""
    names = [layer.name for layer in session.layers]
    rows = [("your rules", f"{_summary(user)} ({user.path})")] if user.layer in names else []
    if project.layer in names:
        state = (
            "trusted"
            if trust is Trust.TRUSTED
            else f"{trust.value}, so its allow rules are off: %tools trust"
        )
        rows.append(("project rules", f"{_summary(project)}; {state}"))
    return rows


def _summary(stored: StoredPolicy) -> str:
    counts = [f"{len(rules)} {verb}" for verb in VERBS if (rules := getattr(stored.policy, verb))]
    counts += [counted(len(stored.policy.programs), "program")] if stored.policy.programs else []
    mode = [f"mode {stored.policy.mode}"] if stored.policy.mode else []
    return "cannot be read" if stored.problem else ", ".join([*mode, *counts]) or "none"


def _history_row(call: FinishedCall) -> tuple[str, ...]:
    duration = elapsed(call.at - call.last.at)
    return (
        call.request.id,
        call.request.spoken,
        _subject(call.last),
        _state(call),
        decided_by(call),
        clock(call.at),
        duration,
    )


def _subject(call: LiveCall) -> str:
    text = "" if isinstance(call, ValidatingCall) else call.plan.invocation.get_description()
    return text if len(text) <= 60 else text[:59] + "…"


def _state(call: LiveCall | FinishedCall) -> str:
    if isinstance(call, AwaitingApprovalCall):
        return "needs your answer"
    if isinstance(call, CancelledCall) and call.answer is not None:
        return "denied"
    if (
        isinstance(call, ErroredCall)
        and call.result.error
        and call.result.error.code is ErrorCode.POLICY_VIOLATION
    ):
        return "not allowed"
    return {"success": "done", "executing": "running", "scheduled": "queued"}.get(call.state, call.state)
