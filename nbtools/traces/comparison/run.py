"""The runs that are compared: what each is, and its totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nbtools.core.errors import TraceError
from nbtools.traces.comparison.steps import (
    ComparableCall,
    comparable_call,
    normalized_command,
)
from nbtools.traces.counts import has_failed
from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.model import FileChange, Session, Tokens
from nbtools.traces.prompts import typed_text
from nbtools.traces.repeated_records import REPEATS
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import input_of, sum_of_tokens
from nbtools.traces.working_directory import file_key, relative_path


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file, relative to the run's folder, that it changed. Line counts are None if not recorded."""

    path: str
    times: int
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Run:
    """One of the compared sessions, with its sub-agents.
    ``name`` is its letter, ``task`` the beginning of the first prompt.

    ``repeats`` is the number of records that a fork repeats of another run:
    they are aligned, and not counted again.

    ``calls`` ``failed`` ``edits`` ``files`` ``tokens`` ``seconds`` are counted as the explorer counts them;
    ``steps`` are the calls that are aligned: those of the session's own model, without rewound branches.
    None: not recorded. ``cost`` is in US dollars.

    ``read`` ``ran`` ``changed`` list each file or command once, in the order of first use,
    without rewound branches.
    """

    name: str
    title: str
    log: str
    folder: str
    agents: tuple[str, ...]
    models: tuple[str, ...]
    task: str
    steps: int
    calls: int
    failed: int | None
    edits: int
    files: int
    tokens: Tokens
    cost: float | None
    seconds: float | None
    read: tuple[str, ...]
    ran: tuple[str, ...]
    changed: tuple[ChangedFile, ...]
    repeats: int = 0

    @property
    def tokens_in(self) -> int | None:
        """Tokens that were sent, with those read from and written to a cache."""
        return input_of(self.tokens)

    def relative_subject(self, subject: str) -> str:
        """Returns a call's subject without the path of the run's folder."""
        return relative_path(normalized_command(subject, self.folder), self.folder)


def main_sessions(trace: Trace) -> list[Session]:
    """Returns the sessions that no other one started. Raises ``TraceError`` where there is none."""
    if not trace.sessions:
        raise TraceError("The log contains no session to compare.")
    ids = {one.id for one in trace.sessions}
    return [one for one in trace.sessions if one.parent not in ids or one.parent == one.id]


def comparable_calls(trace: Trace) -> list[ComparableCall]:
    """Returns the calls of the main sessions' models, in order."""
    main = {one.id: one for one in main_sessions(trace)}
    calls = [call for call in trace.calls if call.session in main and call.level == "model" and call.live]
    order = {session: number for number, session in enumerate(main)}
    return [
        comparable_call(call, main[call.session].cwd)
        for call in sorted(calls, key=lambda call: (order[call.session], call.seq))
    ]


def run_of(trace: Trace, name: str, steps: int, *, prices: bool = False) -> Run:
    """Describes a run, with ``prices`` priced. Raises ``TraceError`` where the log has no session."""
    main = main_sessions(trace)
    folders = {one.id: one.cwd for one in trace.sessions}
    calls = [call for call in trace.calls if call.live]
    live = {(call.session, call.id) for call in calls}
    applied = [one for one in trace.file_changes if one.applied and one.path]
    times = [time for one in trace.sessions for time in (one.started, one.ended) if time is not None]
    ids = {one.id for one in main}
    typed = (
        typed_text(one.text) for one in trace.events if one.kind == "user" and one.live and one.session in ids
    )
    task = " ".join(next(filter(None, typed), "").split())
    failed = sum(map(has_failed, trace.calls))
    failed += sum(one.kind == "error" and bool(one.text) for one in trace.events)
    tells_errors = all(log.format.tells_errors for log in trace.readings)
    return Run(
        name=name,
        title=(typed_text(main[0].title) if len(main) == 1 else "") or task or main[0].id,
        log=str(trace.readings[0].source.path) if trace.readings else "",
        folder=main[0].cwd,
        agents=_unique(one.agent for one in main),
        models=_unique(model for one in trace.sessions for model in one.models),
        task=task,
        steps=steps,
        calls=len(trace.calls),
        failed=failed if failed or tells_errors else None,
        edits=sum(call.op in CHANGE_OPS for call in trace.calls),
        files=len({file_key(one.path, folders.get(one.session, "")) for one in applied}),
        tokens=sum_of_tokens(one.tokens for one in trace.sessions),
        cost=trace.cost(prices=prices).total,
        seconds=max(times) - min(times) if times and max(times) > min(times) else None,
        read=_unique(
            relative_path(path, folders.get(call.session, ""))
            for call in calls
            if call.op == "read"
            for path in call.paths
        ),
        ran=_unique(
            normalized_command(call.subject, folders.get(call.session, ""))
            for call in calls
            if call.op == "shell"
        ),
        changed=tuple(_changed_files([one for one in applied if (one.session, one.call) in live], folders)),
        repeats=sum(one.counts.get(REPEATS, 0) for one in trace.sessions),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


def _changed_files(changes: Sequence[FileChange], folders: dict[str, str]) -> Iterable[ChangedFile]:
    by_path: dict[str, list[FileChange]] = {}
    for change in changes:
        by_path.setdefault(file_key(change.path, folders.get(change.session, "")), []).append(change)
    for path, found in by_path.items():
        yield ChangedFile(
            path, len(found), _total(one.added for one in found), _total(one.removed for one in found)
        )


def _total(counts: Iterable[int | None]) -> int | None:
    recorded = [count for count in counts if count is not None]
    return sum(recorded) if recorded else None
