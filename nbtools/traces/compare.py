"""Two sessions on one task: what each read, ran and changed, their steps beside each other, and where they part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import takewhile
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.aligning import Deed, Step, aligned, command, deed, relative
from nbtools.traces.model import Call, FileChange, Session, Tokens
from nbtools.traces.trace import Trace

_FAILED = frozenset({"error", "denied"})


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that a session changed, as seen from its folder; lines are None where the log does not say."""

    path: str
    times: int
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True)
class Side:
    """A session with those that it started, at work in ``folder``.  ``seconds`` is from its first record to its last, ``in_tools`` what
    its calls took.

    ``read`` ``ran`` ``changed`` name each thing once, in the order of the first time.  Calls on branches that were rewound count for
    nothing.
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

    def seen(self, subject: str) -> str:
        """What a call is about, without the way to the session's folder."""
        return relative(command(subject, self.folder), self.folder)


@dataclass(frozen=True)
class Comparison:
    """``steps`` has every call of the two main sessions once.  In a notebook it shows itself; nothing in it runs.

    ``of`` are the two logs, ``logs`` their paths as far as they are known.
    """

    a: Side
    b: Side
    steps: tuple[Step, ...]
    of: tuple[Trace, Trace] = field(repr=False, compare=False)
    logs: tuple[str, str] = ("", "")

    @cached_property
    def parted(self) -> int | None:
        """The first step, counted from 0, that only one took, or after which they were not in the same place; None where there is none."""
        return next((number for number, step in enumerate(self.steps) if step.parts), None)

    @property
    def same(self) -> int:
        """Steps that both took."""
        return sum(step.kind == "same" for step in self.steps)

    @property
    def parting(self) -> tuple[Call | None, Call | None]:
        """What each did where they part: the first calls that the other has nothing like, or the two that came out differently."""
        if self.parted is None:
            return None, None
        gap = [self.steps[self.parted], *takewhile(lambda step: step.is_lone, self.steps[self.parted + 1 :])]
        if not gap[0].is_lone:
            return gap[0].a, gap[0].b
        return next((step.a for step in gap if step.a), None), next((step.b for step in gap if step.b), None)

    def numbers_of(self, a: Call | None, b: Call | None) -> tuple[str, str]:
        """Under which numbers ``%trace`` lists a call of each side; empty for none."""
        ours, theirs = self._numbers
        return _number(a, ours), _number(b, theirs)

    @cached_property
    def _numbers(self) -> tuple[dict[tuple[str, str], str], ...]:
        """By session and call.  How a log is listed is known in the room above, which is named, not imported."""
        timeline: Any = import_module("nbtools.notebook.trace.timeline").timeline
        listed = [timeline(trace) for trace in self.of]
        return tuple(
            {(row.session, row.id): number for row, number in zip(one.rows, one.numbers, strict=True) if isinstance(row, Call)}
            for one in listed
        )

    def _repr_html_(self) -> str:
        shown: str = import_module("nbtools.notebook.trace.comparison_html").comparison_html(self)
        return shown

    def __repr__(self) -> str:
        where = "they never part" if self.parted is None else f"they part at {_words(*self.numbers_of(*self.parting))}"
        return f"<Comparison of {self.a.calls} and {self.b.calls} calls: {self.same} of {len(self.steps)} steps the same, {where}>"


def compare(a: Trace, b: Trace, *, logs: tuple[str, str] = ("", "")) -> Comparison:
    """Two logs on one task, of the same agent or not.  ``logs`` are their paths, as the display names them.

    Raises ``TraceError`` where one has no session, or has changed since it was read.
    """
    return Comparison(_side(a), _side(b), aligned(_deeds(a), _deeds(b)), (a, b), logs)


def _number(call: Call | None, numbers: Mapping[tuple[str, str], str]) -> str:
    return "" if call is None else numbers.get((call.session, call.id), "")


def _words(a: str, b: str) -> str:
    return f"step {a} of the first and {b} of the second" if a and b else f"step {a or b} of the {'first' if a else 'second'}"


def _main(trace: Trace) -> list[Session]:
    """The sessions that no other of the log started."""
    if not trace.sessions:
        raise TraceError("There is no session in this log to compare.")
    known = {one.id for one in trace.sessions}
    return [one for one in trace.sessions if one.parent not in known or one.parent == one.id]


def _deeds(trace: Trace) -> list[Deed]:
    """What the model of the main session did, in order."""
    main = {one.id: one for one in _main(trace)}
    asked = [call for call in trace.calls if call.session in main and call.level == "model" and call.live]
    order = {session: number for number, session in enumerate(main)}
    return [deed(call, main[call.session].cwd) for call in sorted(asked, key=lambda call: (order[call.session], call.seq))]


def _side(trace: Trace) -> Side:
    main = _main(trace)
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
        read=_once(relative(path, folders.get(call.session, "")) for call in calls if call.op == "read" for path in call.paths),
        ran=_once(command(call.subject, folders.get(call.session, "")) for call in calls if call.op == "shell"),
        changed=tuple(_changed(changes, folders)),
        tokens=_tokens(trace.sessions),
        cost=_sum(one.cost for one in trace.sessions),
        seconds=_seconds(main),
        in_tools=_sum(call.duration for call in calls),
    )


def _once(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, names)))


def _changed(changes: Sequence[FileChange], folders: dict[str, str]) -> Iterable[ChangedFile]:
    by_path: dict[str, list[FileChange]] = {}
    for change in changes:
        by_path.setdefault(relative(change.path, folders.get(change.session, "")), []).append(change)
    for path, of in by_path.items():
        yield ChangedFile(path, len(of), _lines(one.added for one in of), _lines(one.removed for one in of))


def _lines(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _sum(amounts: Iterable[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _tokens(sessions: Sequence[Session]) -> Tokens:
    names = ("input", "cache_read", "cache_write", "output", "reasoning")
    return Tokens(**{name: _lines(getattr(one.tokens, name) for one in sessions) for name in names})


def _seconds(main: Sequence[Session]) -> float | None:
    """None where no log says when."""
    return _sum(one.ended - one.started for one in main if one.started is not None and one.ended is not None)
