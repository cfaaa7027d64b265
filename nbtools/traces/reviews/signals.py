"""Signals: patterns in a session that are worth a look, each found by a rule that ``DEFINITIONS`` states.
No model is involved.

Only calls that the model made itself count, and only on branches that were not rewound.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.core.result import FileDiff
from nbtools.traces.model import Call, Event, FileChange, RequestUsage, Session
from nbtools.traces.reviews.commands import LOOKUPS, programs_of, runs_tests
from nbtools.traces.reviews.records import Signal, SignalKind
from nbtools.traces.row_texts import text_of_event
from nbtools.traces.rows import Rows

if TYPE_CHECKING:
    from nbtools.traces.reader import LogFile
    from nbtools.traces.trace_rows import TraceRows

REPEATS = 3
READS = 5
FULL_CONTEXT = 50_000
"""Tokens of a request after which a much smaller one means that the context was shortened."""
DEFINITIONS: dict[SignalKind, str] = {
    "repeated_call": (
        f"The same tool was called with the same arguments at least {REPEATS} times, and no file was changed"
        " in between."
    ),
    "undone_edit": (
        "A later edit brought a file, or the part that was edited, back to what it was before an earlier"
        " edit."
    ),
    "failure_not_retried": (
        "A command failed, and no later command in the session runs one of its programs. Look-ups (ls, cat,"
        " grep, diff, test …) do not count: their failure is an answer."
    ),
    "tests_claimed_not_run": (
        "A message says that tests pass, and no command before it in the session or its sub-agents runs"
        " tests."
    ),
    "file_read_often": f"The same file was read at least {READS} times, and not changed in between.",
    "context_pressure": (
        "The log records a compaction, or a request had less than half of the tokens of the one before,"
        f" which had at least {FULL_CONTEXT:,}: the context was shortened."
    ),
}
_CLAIM = re.compile(
    r"(?:\b(?:all|the|every|both|\d+)\s+(?:[\w/-]+\s+){0,3}tests?\s+(?:(?:now|are|is|have|all|still)\s+)*(?:pass(?:es|ed|ing)?|green|succeed(?:s|ed)?)\b"
    r"|\btests?\s+(?:all\s+)?pass(?:ed|es)?\b|\btest suite\s+(?:now\s+)?pass(?:es|ed)\b)",
    re.IGNORECASE,
)
_NO_CLAIM = re.compile(
    r"\b(?:if|when|whether|until|once|should|must|will|would|can|could|to|ensure|verify|check|confirm|make"
    r" sure|so that|not|no|before|"
    r"unless|want|need|expect|let)\b|n't\b|\?",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]*[.!?\n]?")


@dataclass(frozen=True)
class _Session:
    """The rows of one session: its calls that count, and its messages, in order."""

    id: str
    calls: Sequence[Call]
    events: Sequence[tuple[Event, LogFile]]
    changed: frozenset[str]
    """The ids of calls that changed files."""
    requests: Sequence[RequestUsage]
    tests_elsewhere: float | None
    """When a sub-agent first ran tests, None where none did;
    without times the sub-agent's tests always count as run before.
    """

    @cached_property
    def commands(self) -> Sequence[Call]:
        return [call for call in self.calls if call.op == "shell"]


def signals_of(trace: TraceRows) -> Rows[Signal]:
    """Returns the signals of all sessions of a trace, log by log, in the order of their first steps.

    Raises ``TraceError`` where a log has changed since it was read.
    """
    found: Rows[Signal] = Rows(Signal)
    for log, batch, repeats in zip(trace.readings, trace.batches, trace.repeats, strict=True):
        builder = SignalBuilder(log)
        for row in chain[Any](batch.calls, batch.events, batch.file_changes, batch.usage, batch.sessions):
            builder.add(row)
        found.extend(one for one in builder.take() if repeats is None or repeats.is_counted(one.seqs))
        found.assign_log_file(log)
    return found


class SignalBuilder:
    """Collects the rows of one log, and returns the signals of its sessions."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._names: dict[str, None] = {}
        self._calls: dict[str, list[Call]] = defaultdict(list)
        self._events: dict[str, list[Event]] = defaultdict(list)
        self._changed: dict[str, set[str]] = defaultdict(set)
        self._requests: dict[str, list[RequestUsage]] = defaultdict(list)
        self._parents: dict[str, str] = {}

    def add(self, row: Any) -> None:
        if isinstance(row, Call | Event):
            self._names[row.session] = None
        if isinstance(row, Call) and row.live and row.level == "model":
            self._calls[row.session].append(row)
        elif isinstance(row, Event) and row.live and row.kind in {"assistant_text", "compaction"}:
            self._events[row.session].append(row)
        elif isinstance(row, FileChange) and row.applied:
            self._changed[row.session].add(row.call)
        elif isinstance(row, RequestUsage) and row.live and row.scope == "request" and row.seq is not None:
            self._requests[row.session].append(row)
        elif isinstance(row, Session) and row.parent:
            self._parents[row.id] = row.parent

    def take(self) -> Iterator[Signal]:
        """Yields the signals, session by session.
        Raises ``TraceError`` where the log has changed since it was read.
        """
        tests = self._tests_below()
        rules: Iterable[Callable[[_Session], Iterator[Signal]]] = _RULES
        for name in self._names:
            session = _Session(
                id=name,
                calls=sorted(self._calls.get(name, ()), key=lambda call: call.seq),
                events=[(event, self._log) for event in self._events.get(name, ())],
                changed=frozenset(self._changed.get(name, ())),
                requests=self._requests.get(name, ()),
                tests_elsewhere=tests.get(name),
            )
            yield from sorted(
                (signal for rule in rules for signal in rule(session)), key=lambda signal: signal.seqs
            )

    def _tests_below(self) -> dict[str, float]:
        """Returns when tests were first run by sub-agents of each session, at any depth."""
        first: dict[str, float] = {}
        for name, parent in self._parents.items():
            times = [
                call.at or 0.0
                for call in self._calls.get(name, ())
                if call.op == "shell" and runs_tests(call.subject)
            ]
            above, seen = parent, {name}
            while times and above and above not in seen:
                first[above] = min(first.get(above, times[0]), *times)
                seen.add(above)
                above = self._parents.get(above, "")
        return first


def _repeated_calls(session: _Session) -> Iterator[Signal]:
    for group in _runs(session, lambda call: (call.name, call.subject)):
        by_args: dict[bytes, list[Call]] = defaultdict(list)
        for call in group if len(group) >= REPEATS else ():
            by_args[_arguments(call)].append(call)
        for alike in by_args.values():
            if len(alike) >= REPEATS:
                name = f"{alike[0].name} {_short(alike[0].subject)}".strip()
                yield _signal(
                    session,
                    "repeated_call",
                    alike,
                    f"{name} was called {len(alike)} times with the same arguments",
                )


def _files_read_often(session: _Session) -> Iterator[Signal]:
    for group in _runs(session, lambda call: call.paths[0] if call.op == "read" and call.paths else None):
        if len(group) >= READS:
            yield _signal(
                session, "file_read_often", group, f"{_short(group[0].paths[0])} was read {len(group)} times"
            )


def _runs(session: _Session, key: Callable[[Call], object]) -> Iterator[list[Call]]:
    """Yields the calls with the same key between two changes of files;
    a call that changes files ends all runs.
    """
    runs: dict[object, list[Call]] = {}
    for call in session.calls:
        value = key(call)
        if value is not None:
            runs.setdefault(value, []).append(call)
        if call.id in session.changed:
            yield from runs.values()
            runs = {}
    yield from runs.values()


def _undone_edits(session: _Session) -> Iterator[Signal]:
    """Follows the contents of each file, as far as one edit begins with what the one before it left."""
    chains: dict[str, list[tuple[str | None, Call]]] = {}
    latest: dict[str, str] = {}
    for call, change in _edits(session):
        path, before, after = change.file_name, change.original_content, change.new_content
        if latest.get(path) != before:
            chains[path] = []
        chain = chains.setdefault(path, [])
        undone = next((number for number, (content, _) in enumerate(chain) if content == after), None)
        if undone is not None and before != after:
            edits = list(dict.fromkeys([edit for _, edit in chain[undone:]] + [call]))
            yield _signal(
                session,
                "undone_edit",
                edits,
                f"{_short(path)} is again as it was before {len(edits) - 1} earlier edit(s)",
            )
            del chain[undone:]
        else:
            chain.append((before, call))
        latest[path] = after


def _edits(session: _Session) -> Iterator[tuple[Call, FileDiff]]:
    """Yields the edits of files that were edited at least twice, because contents are read from the log."""
    editing = [
        call
        for call in session.calls
        if call.id in session.changed and call.paths and call.status not in {"error", "denied", "cancelled"}
    ]
    counts: dict[str, int] = defaultdict(int)
    for call in editing:
        for path in set(call.paths):
            counts[path] += 1
    for call in editing:
        if any(counts[path] > 1 for path in call.paths):
            yield from ((call, change) for change in call.detail.changes)


def _failures_not_retried(session: _Session) -> Iterator[Signal]:
    later: set[str] = set()
    found: list[Signal] = []
    for call in reversed(session.commands):
        programs = programs_of(call.subject)
        if programs and _failed(call, programs) and not later & set(programs):
            exit_code = f" with exit code {call.exit_code}" if call.exit_code else ""
            text = f"{_short(call.subject)} failed{exit_code}, and {programs[-1]} was not run again"
            found.append(_signal(session, "failure_not_retried", [call], text))
        later |= set(programs)
    yield from found


def _failed(call: Call, programs: Sequence[str]) -> bool:
    return programs[-1] not in LOOKUPS and (
        call.exit_code != 0 if call.exit_code is not None else call.status == "error"
    )


def _claimed_tests(session: _Session) -> Iterator[Signal]:
    first = next((call.seq for call in session.commands if runs_tests(call.subject)), None)
    named = next(
        (call.seq for call in session.calls if call.op in {"mcp", "other"} and "test" in call.name.lower()),
        None,
    )
    ran = min((seq for seq in (first, named) if seq is not None), default=None)
    for event, log in session.events:
        if (
            event.kind != "assistant_text"
            or (ran is not None and ran < event.seq)
            or _ran_elsewhere(session, event)
        ):
            continue
        claim = _claim_in(text_of_event(event, log))
        if claim:
            yield Signal(
                session=session.id,
                kind="tests_claimed_not_run",
                seqs=(event.seq,),
                explanation=f"“{_short(claim)}”, but no tests were run",
            )


def _ran_elsewhere(session: _Session, event: Event) -> bool:
    return session.tests_elsewhere is not None and (event.at is None or session.tests_elsewhere <= event.at)


def _claim_in(text: str) -> str:
    for sentence in _SENTENCE.findall(text) if "test" in text.lower() else ():
        if (
            (claim := _CLAIM.search(sentence))
            and not _NO_CLAIM.search(sentence[: claim.end()])
            and not sentence.rstrip().endswith("?")
        ):
            return str(sentence).strip(" \n-*#")
    return ""


def _context_pressure(session: _Session) -> Iterator[Signal]:
    for event, _ in session.events:
        if event.kind == "compaction":
            yield Signal(
                session=session.id,
                kind="context_pressure",
                seqs=(event.seq,),
                explanation="The context was compacted here",
            )
    for before, after in pairwise(session.requests):
        sizes = _context_size(before), _context_size(after)
        if before.model != after.model or None in sizes or "after_compaction" in after.flags:
            continue
        first, second = sizes[0] or 0, sizes[1] or 0
        if after.seq is not None and first >= FULL_CONTEXT and second < first / 2:
            text = f"The request before had {first:,} tokens, this one has {second:,}"
            yield Signal(session=session.id, kind="context_pressure", seqs=(after.seq,), explanation=text)


def _context_size(request: RequestUsage) -> int | None:
    """Returns the tokens of a request as recorded, cached ones included;
    None where the log does not say how many there were.
    """
    tokens = request.tokens
    return (
        None if tokens.input is None else tokens.input + (tokens.cache_read or 0) + (tokens.cache_write or 0)
    )


_RULES = (
    _repeated_calls,
    _undone_edits,
    _failures_not_retried,
    _claimed_tests,
    _files_read_often,
    _context_pressure,
)


def _signal(session: _Session, kind: SignalKind, calls: Iterable[Call], text: str) -> Signal:
    return Signal(session=session.id, kind=kind, seqs=tuple(call.seq for call in calls), explanation=text)


def _arguments(call: Call) -> bytes:
    try:
        return msgspec.json.encode(dict(call.detail.args), order="deterministic", enc_hook=str)
    except (TraceError, msgspec.MsgspecError, TypeError, ValueError):
        return call.id.encode("utf-8", "replace")


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 80 else f"{line[:79]}…"
