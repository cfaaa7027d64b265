"""Compares two sessions on one task: files, commands, steps side by side, and their first difference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

from nbtools.core.errors import TraceError
from nbtools.core.extension_points import extension
from nbtools.traces.model import Call, FileChange, Session, Tokens
from nbtools.traces.query.alignment import ComparableCall, Step, align, comparable_call, normalized_command, relative_path
from nbtools.traces.trace import Trace

_FAILED = frozenset({"error", "denied"})


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a session changed, relative to the session's folder. Line counts are None where the log does not record them."""

    path: str
    times: int
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a comparison: a session with its sub-agents, working in ``folder``.

    ``seconds`` is the time from first to last record, ``in_tools`` the total duration of its calls.

    ``read`` ``ran`` ``changed`` list each file or command once, in the order of first use. Calls on branches that were rewound are not
    counted.
    """

    name: str
    folder: str
    models: tuple[str, ...]
    calls: int
    failed: int
    read: tuple[str, ...]
    ran: tuple[str, ...]
    changed: tuple[ChangedFile, ...]
    tokens: Tokens
    cost: float | None
    seconds: float | None
    in_tools: float | None

    def relative_subject(self, subject: str) -> str:
        """Returns a call's subject without the path of the session's folder."""
        return relative_path(normalized_command(subject, self.folder), self.folder)


@dataclass(frozen=True)
class Comparison:
    """The comparison of two traces. ``steps`` has every call of the two main sessions once. Its HTML display runs no scripts.

    ``traces`` are the two traces, ``logs`` their paths, where known.
    """

    a: Side
    b: Side
    steps: tuple[Step, ...]
    of: tuple[Trace, Trace] = field(repr=False, compare=False)
    logs: tuple[str, str] = ("", "")

    @cached_property
    def parted(self) -> int | None:
        """The index of the first step that only one session has, or whose outcomes differ; None where there is none."""
        return next((number for number, step in enumerate(self.steps) if step.differs), None)

    @property
    def same(self) -> int:
        """The number of steps that both sessions have in common."""
        return sum(step.kind == "same" for step in self.steps)

    @property
    def parting(self) -> tuple[Call | None, Call | None]:
        """The calls at the first difference: the first call of each side without a counterpart, or the two calls whose outcomes differ."""
        if self.parted is None:
            return None, None
        gap = [self.steps[self.parted], *takewhile(lambda step: step.is_one_sided, self.steps[self.parted + 1 :])]
        if not gap[0].is_one_sided:
            return gap[0].a, gap[0].b
        return next((step.a for step in gap if step.a), None), next((step.b for step in gap if step.b), None)

    def numbers_of(self, a: Call | None, b: Call | None) -> tuple[str, str]:
        """Returns the step numbers of a call of each side, as ``%trace`` lists them; empty for None."""
        ours, theirs = self._numbers
        return _number(a, ours), _number(b, theirs)

    @cached_property
    def _numbers(self) -> tuple[dict[tuple[str, str], str], ...]:
        """The numbers of the explorer for each trace, by session and call."""
        return tuple(extension("traces.step_numbers")(trace) for trace in self.of)

    def _repr_html_(self) -> str:
        markup: str = extension("traces.comparison_html")(self)
        return markup

    def __repr__(self) -> str:
        difference = "no difference" if self.parted is None else f"first difference: {_step_names(*self.numbers_of(*self.parting))}"
        return f"<Comparison of {self.a.calls} and {self.b.calls} calls: {self.same} of {len(self.steps)} steps the same, {difference}>"


def compare(a: Trace, b: Trace, *, logs: tuple[str, str] = ("", "")) -> Comparison:
    """Compares two logs on one task, of the same agent or of different ones. ``logs`` are their paths for the display.

    Raises ``TraceError`` where a log has no session, or has changed since it was read.
    """
    return Comparison(_side(a), _side(b), align(_comparable_calls(a), _comparable_calls(b)), (a, b), logs)


def _number(call: Call | None, numbers: Mapping[tuple[str, str], str]) -> str:
    return "" if call is None else numbers.get((call.session, call.id), "")


def _step_names(a: str, b: str) -> str:
    return f"step {a} of the first and {b} of the second" if a and b else f"step {a or b} of the {'first' if a else 'second'}"


def _main_sessions(trace: Trace) -> list[Session]:
    """Returns the sessions that no other session of the log started."""
    if not trace.sessions:
        raise TraceError("The log contains no session to compare.")
    ids = {one.id for one in trace.sessions}
    return [one for one in trace.sessions if one.parent not in ids or one.parent == one.id]


def _comparable_calls(trace: Trace) -> list[ComparableCall]:
    """Returns the calls of the main session's model, in order."""
    main = {one.id: one for one in _main_sessions(trace)}
    calls = [call for call in trace.calls if call.session in main and call.level == "model" and call.live]
    order = {session: number for number, session in enumerate(main)}
    return [comparable_call(call, main[call.session].cwd) for call in sorted(calls, key=lambda call: (order[call.session], call.seq))]


def _side(trace: Trace) -> Side:
    main = _main_sessions(trace)
    folders = {one.id: one.cwd for one in trace.sessions}
    calls = [call for call in trace.calls if call.live]
    live = {(call.session, call.id) for call in calls}
    changes = [one for one in trace.file_changes if one.applied and one.path and (one.session, one.call) in live]
    return Side(
        name=" and ".join(one.title or one.id for one in main[:2]) or "a session",
        folder=main[0].cwd,
        models=tuple(dict.fromkeys(model for one in trace.sessions for model in one.models)),
        calls=len(calls),
        failed=sum(call.status in _FAILED for call in calls),
        read=_unique(relative_path(path, folders.get(call.session, "")) for call in calls if call.op == "read" for path in call.paths),
        ran=_unique(normalized_command(call.subject, folders.get(call.session, "")) for call in calls if call.op == "shell"),
        changed=tuple(_changed_files(changes, folders)),
        tokens=_tokens(trace.sessions),
        cost=_sum(one.cost for one in trace.sessions),
        seconds=_duration(main),
        in_tools=_sum(call.duration for call in calls),
    )


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


def _changed_files(changes: Sequence[FileChange], folders: dict[str, str]) -> Iterable[ChangedFile]:
    by_path: dict[str, list[FileChange]] = {}
    for change in changes:
        by_path.setdefault(relative_path(change.path, folders.get(change.session, "")), []).append(change)
    for path, found in by_path.items():
        yield ChangedFile(path, len(found), _lines(one.added for one in found), _lines(one.removed for one in found))


def _lines(counts: Iterable[int | None]) -> int | None:
    recorded = [count for count in counts if count is not None]
    return sum(recorded) if recorded else None


def _sum(amounts: Iterable[float | None]) -> float | None:
    recorded = [amount for amount in amounts if amount is not None]
    return sum(recorded) if recorded else None


def _tokens(sessions: Sequence[Session]) -> Tokens:
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return Tokens(**{name: _lines(getattr(one.tokens, name) for one in sessions) for name in names})


def _duration(main: Sequence[Session]) -> float | None:
    """Returns the total duration; None where no log records times."""
    return _sum(one.ended - one.started for one in main if one.started is not None and one.ended is not None)
