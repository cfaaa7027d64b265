"""The runs that are compared: what each is, and its totals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from nbtools.core.deprecation import warn_deprecated
from nbtools.core.errors import TraceError
from nbtools.traces.comparison.steps import (
    ComparableCall,
    comparable_call,
    normalized_command,
)
from nbtools.traces.counts import LogCounts
from nbtools.traces.model import FileChange, Session, Tokens
from nbtools.traces.prompts import first_prompt, title_of
from nbtools.traces.repeated_records import REPEATS
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import sum_of_tokens
from nbtools.traces.working_directory import file_key, relative_path

MAX_TASK = 10_000


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
    ``name`` is its letter, ``title`` the session's, else the first prompt, else the name of the log. ``task``
    is the first real prompt (``prompts.FirstPrompt``), at most ``MAX_TASK`` characters of it: runs of one
    task have it in common.

    ``repeats`` is the number of records that a fork repeats of another run:
    they are aligned, and not counted again.

    ``counts`` are those of ``trace.counts``, whose names the run has, too. ``compared`` are the calls that
    are aligned: those of the session's own model, without rewound branches. None: not recorded. ``cost`` is
    in US dollars.

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
    compared: int
    counts: LogCounts
    tokens: Tokens
    cost: float | None
    read: tuple[str, ...]
    ran: tuple[str, ...]
    changed: tuple[ChangedFile, ...]
    repeats: int = 0

    @property
    def steps(self) -> int:
        return self.counts.steps

    @property
    def calls(self) -> int:
        return self.counts.calls

    @property
    def failed_calls(self) -> int | None:
        return self.counts.failed_calls

    @property
    def edits(self) -> int:
        return self.counts.edits

    @property
    def edited_files(self) -> int:
        return self.counts.edited_files

    @property
    def input_tokens(self) -> int | None:
        return self.counts.input_tokens

    @property
    def output_tokens(self) -> int | None:
        return self.counts.output_tokens

    @property
    def duration(self) -> float | None:
        """Seconds from the first to the last record; None where that is none."""
        return self.counts.duration or None

    @property
    def failed(self) -> int | None:
        """``failed_calls``; it goes with the next release."""
        warn_deprecated("run.failed", "run.failed_calls")
        return self.failed_calls

    @property
    def files(self) -> int:
        """``edited_files``; it goes with the next release."""
        warn_deprecated("run.files", "run.edited_files")
        return self.edited_files

    @property
    def tokens_in(self) -> int | None:
        """``input_tokens``; it goes with the next release."""
        warn_deprecated("run.tokens_in", "run.input_tokens")
        return self.input_tokens

    @property
    def seconds(self) -> float | None:
        """``duration``; it goes with the next release."""
        warn_deprecated("run.seconds", "run.duration")
        return self.duration

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


def run_of(trace: Trace, name: str, compared: int, *, prices: bool = False) -> Run:
    """Describes a run, with ``prices`` priced. Raises ``TraceError`` where the log has no session."""
    main = main_sessions(trace)
    folders = {one.id: one.cwd for one in trace.sessions}
    calls = [call for call in trace.calls if call.live]
    live = {(call.session, call.id) for call in calls}
    applied = [one for one in trace.file_changes if one.applied and one.path]
    ids = {one.id for one in main}
    events = zip(trace.events, trace.events.log_files, strict=True)
    prompt = first_prompt(((one, of) for one, of in events if one.session in ids), whole=True)
    task = " ".join(prompt.split())[:MAX_TASK]
    log = str(trace.readings[0].source.path) if trace.readings else ""
    title = title_of(main[0].title if len(main) == 1 else "", task)
    return Run(
        name=name,
        title=title or PurePath(log).stem or main[0].id,
        log=log,
        folder=main[0].cwd,
        agents=_unique(one.agent for one in main),
        models=_unique(model for one in trace.sessions for model in one.models),
        task=task,
        compared=compared,
        counts=trace.counts,
        tokens=sum_of_tokens(one.tokens for one in trace.sessions),
        cost=trace.cost(prices=prices).total,
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
