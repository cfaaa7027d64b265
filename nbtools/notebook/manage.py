"""``%tools``: one magic that shows and changes the session."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from nbtools.core.call import AwaitingApprovalCall, CancelledCall, ErroredCall, FinishedCall, LiveCall, ValidatingCall
from nbtools.core.errors import ErrorCode
from nbtools.core.parameters import did_you_mean
from nbtools.dialects import dialect_names
from nbtools.notebook.command_line import words
from nbtools.notebook.layer_commands import LayerCommands
from nbtools.notebook.mcp.commands import McpCommands
from nbtools.notebook.mcp.prompts import PromptCommands
from nbtools.notebook.mcp.states import servers_row
from nbtools.notebook.phrases import clock, counted, elapsed
from nbtools.notebook.places import Way
from nbtools.notebook.program_commands import ProgramCommands
from nbtools.notebook.record import decided_by
from nbtools.notebook.rule_commands import RuleCommands, described
from nbtools.notebook.serving.commands import ServeCommands
from nbtools.notebook.setting_commands import SettingCommands
from nbtools.notebook.sheets import Sheet
from nbtools.notebook.sub_commands import SubCommand, inside, one_of, refused, said
from nbtools.notebook.undo_commands import UndoCommands
from nbtools.policy.modes import Mode
from nbtools.policy.policy_file import VERBS
from nbtools.policy.store import KeptPolicy, Trust

if TYPE_CHECKING:
    from nbtools.notebook.workbench import Workbench
    from nbtools.session import Session

_RECENT = 30
_WAYS = {"auto": None, "widget": Way.WIDGET, "prompt": Way.PROMPT, "deny": Way.NOBODY}


class Management:
    """The sub-commands.  Raises ``NbtoolsError`` in one clear line."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._commands: dict[str, SubCommand] = {
            "": SubCommand("", "the session: workspace, mode, rules, what is under way", self._overview),
            "use": SubCommand("DIALECT", "speak as another agent does", self._use),
            "mode": SubCommand("MODE", f"what happens where no rule speaks: {', '.join(Mode)}", self._mode),
            **RuleCommands(bench).commands,
            **LayerCommands(bench).commands,
            **ProgramCommands(bench).commands,
            **UndoCommands(bench).commands,
            **McpCommands(bench).commands,
            **PromptCommands(bench).commands,
            "history": SubCommand("[COUNT]", "the calls that are done, latest last", self._history),
            "pending": SubCommand("", "the calls that are under way or wait for an answer", self._pending),
            "cancel": SubCommand("ID …", "stop calls", self._cancel),
            "workspace": SubCommand("[FOLDER]", "work on another folder", self._workspace),
            **SettingCommands(bench).commands,
            **ServeCommands(bench).commands,
            "confirm": SubCommand("WAY", "how to ask: auto, widget, prompt, deny", self._confirm),
            "help": SubCommand("", "this list", self._help),
        }

    def run(self, line: str) -> Sheet | None:
        """What there is to show; None where a card shows it."""
        name, *rest = [word.text for word in words(line)] or [""]
        command = self._commands.get(name.rstrip("?") or ("help" if name else ""))
        if command is None:
            known = [known for known in self._commands if known]
            raise refused(f"%tools has no {name!r}.{did_you_mean(name, known)} See %tools help.")
        return command.run(rest)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name in self._commands if name)

    @property
    def _session(self) -> Session:
        return self._bench.session

    def _overview(self, _: list[str]) -> Sheet:
        session, store = self._session, self._session.store
        rows = [
            ("workspace", f"{session.workspace.root}"),
            ("dialect", session.dialect.name),
            ("mode", session.mode.value),
            ("asking", self._way_name()),
            *_of_files(session, store.user(), store.project(), store.trust()),
            *((verb, ", ".join(map(described, rules))) for verb in VERBS if (rules := getattr(session.policy, verb))),
            ("granted", ", ".join(session.grants) or "nothing yet"),
            *((("saved", ", ".join(session.saved_grants)),) if session.saved_grants else ()),
            *servers_row(session),
            ("calls", f"{len(session.history)} done, {len(session.active)} under way"),
        ]
        lines = ("%tools help lists what can be changed; %tool lists the tools.", *store.problems())
        return Sheet("", tuple(rows), lines, code=frozenset())

    def _help(self, _: list[str]) -> Sheet:
        rows = tuple((f"%tools {name} {command.takes}".strip(), command.says) for name, command in self._commands.items())
        return Sheet("", rows, ('A rule is a tool, or a tool and what it acts on: edit, edit(src/**), "shell(git log:*)".',))

    def _use(self, rest: list[str]) -> Sheet:
        if not rest:
            return said(f"The tools are spoken as {self._session.dialect.name} does; there is {', '.join(dialect_names())}.")
        wanted = one_of(rest, "use", "claude")
        inside(self._bench, lambda session: setattr(session, "dialect", wanted))
        return said(f"The tools are spoken as {wanted} does: {', '.join(self._session.tools.names())}.")

    def _mode(self, rest: list[str]) -> Sheet:
        if rest:
            mode = one_of(rest, "mode", "plan").replace("-", "_")
            inside(self._bench, lambda session: setattr(session, "policy", replace(session.policy, mode=mode)))
            if mode != self._session.mode:
                return said(
                    f"The mode is {self._session.mode.value}: the project's rules are stricter than {mode}. %tools rules shows them."
                )
        return said(f"The mode is {self._session.mode.value}.")

    def _history(self, rest: list[str]) -> Sheet:
        count = int(rest[0]) if rest and rest[0].isdigit() else _RECENT
        calls = self._session.history[-count:]
        if not calls:
            return said("No call is done yet.")
        head = ("id", "tool", "what", "state", "decided by", "when", "took")
        return Sheet("", tuple(_done_row(call) for call in calls), head=head, code=frozenset({1, 2}))

    def _pending(self, _: list[str]) -> Sheet:
        calls = self._session.active
        if not calls:
            return said("Nothing is under way.")
        rows = tuple((call.request.id, call.request.spoken, _subject(call), _state(call), clock(call.at)) for call in calls)
        return Sheet("", rows, ("%tools cancel ID stops one.",), ("id", "tool", "what", "state", "since"), frozenset({1, 2}))

    def _cancel(self, ids: list[str]) -> Sheet:
        if not ids:
            raise refused("%tools cancel needs the id of a call; %tools pending lists them.")
        stopped = inside(self._bench, lambda session: [call_id for call_id in ids if session.cancel(call_id)])
        missed = [call_id for call_id in ids if call_id not in stopped]
        lines = [f"Stopped: {', '.join(stopped)}."] if stopped else []
        return said(*lines, *([f"Not under way: {', '.join(missed)}."] if missed else []))

    def _workspace(self, rest: list[str]) -> Sheet:
        if rest:
            self._bench.move(one_of(rest, "workspace", "../project"))
        return said(f"The workspace is {self._session.workspace.root}.")

    def _confirm(self, rest: list[str]) -> Sheet:
        if rest:
            way = one_of(rest, "confirm", "widget")
            if way not in _WAYS:
                raise refused(f"There is no way {way!r} to ask; there is {', '.join(_WAYS)}.")
            self._bench.frontend.preference = _WAYS[way]
        return said(f"Asking: {self._way_name()}.")

    def _way_name(self) -> str:
        return next(name for name, way in _WAYS.items() if way is self._bench.frontend.preference)


def _of_files(session: Session, user: KeptPolicy, project: KeptPolicy, trust: Trust) -> list[tuple[str, str]]:
    """The layers that are in force, in a line each; a project that is not, too."""
    named = [layer.name for layer in session.layers]
    rows = [("your rules", f"{_counted(user)} ({user.path})")] if user.layer in named else []
    if project.layer in named:
        how = "trusted" if trust is Trust.TRUSTED else f"{trust.value}, so what allows does not count: %tools trust"
        rows.append(("project rules", f"{_counted(project)}; {how}"))
    return rows


def _counted(kept: KeptPolicy) -> str:
    counts = [f"{len(rules)} {verb}" for verb in VERBS if (rules := getattr(kept.policy, verb))]
    counts += [counted(len(kept.policy.programs), "program")] if kept.policy.programs else []
    mode = [f"mode {kept.policy.mode}"] if kept.policy.mode else []
    return "cannot be read" if kept.problem else ", ".join([*mode, *counts]) or "none"


def _done_row(call: FinishedCall) -> tuple[str, ...]:
    took = elapsed(call.at - call.last.at)
    return (call.request.id, call.request.spoken, _subject(call.last), _state(call), decided_by(call), clock(call.at), took)


def _subject(call: LiveCall) -> str:
    text = "" if isinstance(call, ValidatingCall) else call.plan.invocation.get_description()
    return text if len(text) <= 60 else text[:59] + "…"


def _state(call: LiveCall | FinishedCall) -> str:
    if isinstance(call, AwaitingApprovalCall):
        return "needs your answer"
    if isinstance(call, CancelledCall) and call.answer is not None:
        return "declined"
    if isinstance(call, ErroredCall) and call.result.error and call.result.error.code is ErrorCode.POLICY_VIOLATION:
        return "denied"
    return {"success": "done", "executing": "runs", "scheduled": "queued"}.get(call.state, call.state)
