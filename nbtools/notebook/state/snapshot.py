"""Reads the parts of a kernel's state from its session.
Everything here runs in the session's thread, and takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nbtools.cards.blocks import diffs_of
from nbtools.cards.card import head_of
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.call import AwaitingApprovalCall, LiveCall
from nbtools.core.decision import Action
from nbtools.core.errors import NbtoolsError, ToolFailure
from nbtools.core.tool import Icon
from nbtools.notebook.approval.open_questions import OpenQuestions
from nbtools.notebook.magics.rule_commands import described, in_words
from nbtools.notebook.mcp.status import config_file_of, entry_of, state_of, target_of, trust_of
from nbtools.notebook.state.state_messages import (
    MAX_CHANGES,
    ChangedFile,
    EndedCall,
    FileChange,
    GrantRow,
    ModeChoice,
    RuleRow,
    RulesState,
    RunningCall,
    ServerRow,
    ServerVerb,
    WaitingQuestion,
)
from nbtools.policy.layers import SAVED, SESSION, Layer
from nbtools.policy.modes import Mode, stricter

if TYPE_CHECKING:
    from nbtools.mcp.client.connection import Connection
    from nbtools.notebook.call_bridge import Bridge
    from nbtools.session import Session
    from nbtools.workspace.history.store import JournalEntry
    from nbtools.workspace.processes.background import BackgroundCommand

MAX_SUBJECT = 300
"""Characters of a command."""
_MAX_FILES = 20
"""Files of one change."""
_MAX_TOOLS = 200
"""Tools of one MCP server."""
_MAX_ROWS = 500
"""Rules, and grants."""
MODE_MEANINGS = {
    Mode.PLAN: "Nothing is changed, whatever the rules allow.",
    Mode.DONT_ASK: "Reading is allowed; calls that would need approval are denied.",
    Mode.DEFAULT: "Reading and searching are allowed; every other call needs approval.",
    Mode.AUTO_EDIT: "Files in the workspace are edited without approval; commands still need it.",
    Mode.YOLO: "Every call runs without approval, unless a rule denies it or asks.",
}


def waiting_questions(questions: OpenQuestions) -> tuple[WaitingQuestion, ...]:
    return tuple(
        WaitingQuestion(data=question.data(), cell=question.cell_id) for question in questions.current()
    )


def running_calls(bridge: Bridge) -> tuple[RunningCall, ...]:
    """Returns the calls of the notebook's session that run or are about to."""
    calls = [call for call in bridge.blocking.session.active if not isinstance(call, AwaitingApprovalCall)]
    return tuple(_running(call, bridge) for call in calls)


def _running(call: LiveCall, bridge: Bridge) -> RunningCall:
    head = head_of(call, ".")
    call_id = call.request.id
    return RunningCall(
        id=call_id,
        type="background" if bridge.is_background(call_id) else "call",
        tool=head["tool"],
        icon=head["icon"],
        subject=head["subject"],
        started=call.at,
        cell=bridge.cell_of(call_id),
    )


def command_id(job: BackgroundCommand) -> str:
    """Returns the id of a background command among the calls that run; no call has such an id."""
    return f"background command {job.id}"


def background_commands(bridge: Bridge) -> tuple[RunningCall, ...]:
    """Returns the background commands of the notebook's session that run."""
    jobs = [job for job in bridge.blocking.session.workspace.started_jobs if not job.state().has_ended]
    return tuple(
        RunningCall(
            id=command_id(job),
            type="background",
            tool="shell",
            icon=Icon.TERMINAL,
            subject=one_line(job.command, MAX_SUBJECT),
            started=job.since,
            cell=bridge.cell_of(job.call),
        )
        for job in jobs
    )


def ended_command(job: BackgroundCommand) -> EndedCall:
    """Returns a background command that has ended."""
    from nbtools.tools.commands.background import (  # noqa: PLC0415 - loaded with the first background command
        condition_text,
    )

    state = job.state()
    failed = state.status != "exited" or state.exit_code != 0
    return EndedCall(
        id=command_id(job),
        type="background",
        tool="shell",
        subject=one_line(job.command, MAX_SUBJECT),
        status=condition_text(state),
        failed=failed,
    )


def file_changes(session: Session) -> tuple[FileChange, ...]:
    """Returns the changes of this session, oldest first.  An undo is not a change of its own.
    Empty if the journal cannot be read.
    """
    try:
        entries = session.workspace.journal.changes(
            session.workspace.relative, session=session.workspace.journal.session
        )
    except ToolFailure:
        return ()
    counts = {
        call.request.id: {file.file_name: file.changed_lines for file in diffs_of(call.result.return_display)}
        for call in session.history
    }
    changes = [_file_change(entry, counts.get(entry.id, {})) for entry in entries if not entry.undoes]
    return tuple(changes[-MAX_CHANGES:])


def _file_change(entry: JournalEntry, counts: Mapping[str, tuple[int, int]]) -> FileChange:
    lines = {path: counts.get(path, (None, None)) for path in entry.files[:_MAX_FILES]}
    return FileChange(
        id=entry.id,
        tool=one_line(entry.tool, 100),
        files=tuple(
            ChangedFile(path=seen(path), added=added, removed=removed)
            for path, (added, removed) in lines.items()
        ),
        more=max(0, len(entry.files) - _MAX_FILES),
        at=entry.at,
        undone_by=entry.undone_by,
        partly=entry.partly,
        unsaved=one_line(entry.unsaved, 300),
    )


def rules_state(session: Session) -> RulesState:
    layers = (*session.layers, Layer(SESSION, session.policy))
    grants = tuple(
        GrantRow(
            rule=one_line(one.rule, 2_000),
            covers=_in_words(session, one.rule),
            saved=one.saved,
            since=one.at,
            granted_for=one_line(one.by, 300),
        )
        for one in session.granted[-_MAX_ROWS:]
    )
    rows = tuple(
        row for layer in reversed(layers) if layer.name != SAVED for row in _rules_of(session, layer)
    )
    return RulesState(
        mode=session.mode.value, modes=mode_choices(session.mode), grants=grants, rules=rows[:_MAX_ROWS]
    )


def mode_choices(current: Mode) -> tuple[ModeChoice, ...]:
    return tuple(
        ModeChoice(name=mode.value, meaning=MODE_MEANINGS[mode], looser=is_looser(mode, current))
        for mode in Mode
    )


def is_looser(mode: Mode, than: Mode) -> bool:
    return mode is not than and stricter(mode, than) is than


def _rules_of(session: Session, layer: Layer) -> Iterator[RuleRow]:
    source = _source_of(session, layer)
    for action in (Action.DENY, Action.ASK, Action.ALLOW):
        for rule in layer.policy.rules(action):
            off = action is Action.ALLOW and not layer.trusted
            yield RuleRow(
                action=action.value,
                rule=one_line(described(rule), 2_000),
                covers=_in_words(session, rule),
                source=source,
                off=off,
            )


def _source_of(session: Session, layer: Layer) -> str:
    """Returns the file of a layer's rules; empty for the session's own rules."""
    if layer.name == SESSION:
        return ""
    store = session.store
    path = {"user": store.user_path, "project": store.project_path}.get(layer.name)
    return layer.name if path is None else display_path(path, session.workspace.root)


def display_path(path: Path, root: Path | None = None) -> str:
    """Returns a path as a person would write it: relative to ``root``, or with ``~`` for the home folder."""
    if root is not None and path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    home = Path("~").expanduser()
    return seen(f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else str(path))


def _in_words(session: Session, rule: object) -> str:
    try:
        return one_line(in_words(rule, session.tool_named), 500)  # type: ignore[arg-type]
    except NbtoolsError:  # a rule of a newer version
        return ""


def server_rows(session: Session) -> tuple[ServerRow, ...]:
    return tuple(_server(session, connection) for connection in session.mcp.connections.values())


def _server(session: Session, connection: Connection) -> ServerRow:
    state, named = state_of(session, connection), entry_of(session, connection)
    tools = connection.tools if connection.state == "connected" else ()
    names = [str(getattr(tool, "name", tool)) for tool in tools]
    return ServerRow(
        name=connection.server.name,
        state=state,
        failed=connection.state == "failed" and state == "failed",
        tools=tuple(one_line(name, 200) for name in sorted(names)[:_MAX_TOOLS]),
        target=one_line(target_of(session, connection), 500),
        source=config_file_of(session, named),
        trust=trust_of(session, connection).value if named is not None and named.origin.project else "",
        problem=one_line(connection.problem, 1_000) if connection.state == "failed" else "",
        verbs=tuple(
            _verbs(
                state,
                connection,
                is_project=named is not None and named.origin.project,
                is_configured=named is not None,
            )
        ),
    )


def _verbs(
    state: str, connection: Connection, *, is_project: bool, is_configured: bool
) -> Iterator[ServerVerb]:
    if state == "off":
        yield "enable"
        return
    if "not trusted" in state:
        yield "trust"
    elif connection.state in ("connected", "connecting"):
        yield "disconnect"
    else:
        yield "connect"
    if is_project and "not trusted" not in state:
        yield "distrust"
    if is_configured:
        yield "disable"
