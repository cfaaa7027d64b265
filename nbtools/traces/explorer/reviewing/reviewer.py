"""Answers the explorer's requests to review lines, and tells what is marked."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from itertools import islice
from threading import Lock

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.background import run_in_background, wait_briefly
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.facets import Facet
from nbtools.traces.explorer.nesting import LineRow
from nbtools.traces.explorer.reviewing.review_messages import (
    MarkTone,
    ReviewAgreement,
    ReviewCode,
    TraceLabel,
    TraceMark,
    TraceReview,
    TraceReviewParams,
)
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.reviews.records import VERDICTS, Label, Signal, SignalKind
from nbtools.traces.reviews.review import Review
from nbtools.traces.reviews.review import review as review_of
from nbtools.traces.reviews.review_settings import review_settings
from nbtools.traces.reviews.signals import DEFINITIONS
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.trace import Trace

SIGNAL_NAMES: dict[SignalKind, str] = {
    "repeated_call": "repeated call",
    "undone_edit": "undone edit",
    "failure_not_retried": "failure not retried",
    "tests_claimed_not_run": "tests claimed, not run",
    "file_read_often": "file read often",
    "context_pressure": "context full",
}
UNREVIEWED = "unreviewed"
_MAX_MARKS = 20_000
_MAX_LABELS = 200
_LOST = {
    "moved": "moved: the same content is at another position, or at several",
    "changed": "changed: this step has other content now",
    "gone": "gone: the log has no such step any more",
}
_WAIT = 0.05
"""Seconds that the first answer waits for signals, enough for most logs."""
_REST = 9.0
"""Signals of a log that grows are looked for again after this many times as long as it took."""
_TONES: dict[str, MarkTone] = {"pass": "pass", "fail": "fail", "defer": "defer"}


class SignalSearch:
    """Looks for the signals of ``trace`` in a thread, again when the log has grown.
    While it looks again, ``signals`` are those of the shorter log.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.signals: Sequence[Signal] = ()
        self._searched: object = None
        self._work: Future[None] | None = None
        self._not_before = 0.0
        self._lock = Lock()

    @property
    def is_complete(self) -> bool:
        """Whether these are the signals of the log as it is now."""
        return self._searched is self._trace.calls

    def start(self) -> None:
        """Looks for signals, unless that was done just now. Raises what looking for them raised."""
        with self._lock:
            if self.is_complete:
                return
            if (self._work is None or self._work.done()) and time.monotonic() >= self._not_before:
                self._work = run_in_background(self._run, "nbtools-signals")
            work = self._work
        if work is not None:
            wait_briefly(work, _WAIT if self._searched is None else 0)

    def finish(self) -> None:
        """Looks for the signals now, if they are not known."""
        if not self.is_complete:
            self._run()

    def _run(self) -> None:
        """Reads arguments and messages from the log, and prepares for the first verdict."""
        started, calls = time.monotonic(), self._trace.calls
        try:
            review_of(self._trace).prepare()
            signals: Sequence[Signal] = review_of(self._trace).signals
        except TraceError:  # the log has changed; every other request says so
            signals = ()
        finally:
            self._not_before = time.monotonic() + _REST * (time.monotonic() - started)
        self.signals, self._searched = signals, calls


class Reviewer:
    """Reviews the lines of ``trace``, in this ``version``.  Thread-safe."""

    def __init__(self, trace: Trace, lines: Timeline, search: SignalSearch, version: int) -> None:
        self._trace = trace
        self._lines = lines
        self._lock = Lock()
        self._search = search
        self._version = version
        self._found_signals: tuple[Sequence[Signal], Sequence[tuple[Signal, Sequence[int]]]] = ((), ())
        self._signal_marks: tuple[object, Sequence[TraceMark]] = (None, ())
        self._lines_by_signal: tuple[object, Mapping[str, Sequence[int]]] = (None, {})
        self._label_marks: dict[tuple[str, bool], Sequence[TraceMark]] = {}
        self._name = ""  # that the page gave last
        self._marked: tuple[object, Mapping[str, Sequence[int]]] = (None, {})

    def answer(self, task: TraceReviewParams) -> TraceReview:
        """Returns the review after a request. Raises ``TraceError``; then nothing was changed."""
        self._search.start()
        with self._lock:
            self._name = task.reviewer.strip()
            review = self._review()
            message = self._act(task)
            done, total = review.progress()
            judged, sessions = review.progress(steps=False)
            labels, hidden = visible_labels(self._trace, review.reviewer)
            return TraceReview(
                reviewer=review.reviewer,
                codes=tuple(
                    ReviewCode(name=code.name, key=code.key, description=code.description)
                    for code in review.book.codes
                ),
                labels=tuple(self._wire_labels(labels)),
                records=len(labels),
                marks=tuple(islice(self._marks(labels), _MAX_MARKS)),
                agreements=() if hidden else tuple(self._agreements()),
                done=done,
                total=total,
                sessions=sessions > 1,
                judged=judged == sessions > 0,
                hidden=hidden,
                following=self._following(task),
                message=message,
                complete=self._search.is_complete,
                version=self._version,
            )

    def lines_by_mark(self) -> Mapping[str, Sequence[int]]:
        """Returns the lines with each verdict and code, with a note, and those without a verdict yet."""
        with self._lock:
            review = self._review()
            labels, hidden = visible_labels(self._trace, review.reviewer)
            version = (review.labels, review.reviewer, hidden)
            if self._marked[0] != version:
                self._marked = (version, self._find_marked(labels))
            return self._marked[1]

    def _review(self) -> Review:
        """Returns the review in the name that the page gave, else that of the settings."""
        review = review_of(self._trace)
        review.reviewer = self._name or review_settings().name
        return review

    def _find_marked(self, labels: Sequence[Label]) -> Mapping[str, Sequence[int]]:
        review = review_of(self._trace)
        names = (*VERDICTS, *(code.name for code in review.book.codes))
        lines: dict[str, set[int]] = {name: set() for name in names}
        for label in labels:
            name = "note" if label.kind == "note" else label.value
            lines.setdefault(name, set()).update(self._lines_of(label))
        found = {name: sorted(places) for name, places in lines.items() if places}
        if found:
            waiting = (self._lines.line_by_row.get(id(row)) for row in review.unreviewed("recorded"))
            found[UNREVIEWED] = sorted(line for line in waiting if line is not None)
        return found

    def lines_by_signal(self) -> Mapping[str, Sequence[int]]:
        """Returns the lines with each signal, as far as signals have been looked for."""
        found = self._signal_lines()
        if found is not self._lines_by_signal[0]:
            lines: dict[str, set[int]] = defaultdict(set)
            for signal, places in found:
                lines[SIGNAL_NAMES[signal.kind]].update(places)
            by_name = {name: sorted(lines[name]) for name in SIGNAL_NAMES.values() if name in lines}
            self._lines_by_signal = (found, by_name)
        return self._lines_by_signal[1]

    # --- changes

    def _act(self, task: TraceReviewParams) -> str:
        review = review_of(self._trace)
        match task.action:
            case "read":
                return ""
            case "undo":
                undone = review.undo()
                none = "There is nothing of yours to take back."
                return f"Taken back: {_name(undone)}." if undone else none
            case "withdraw":
                label = self._label(task.label)
                review.withdraw(label)
                return f"Taken back: {_name(label)}."
            case "sort":
                sorted_under = review.sort_note(self._label(task.label), task.value).value
                return f"The note is sorted under {sorted_under}."
            case "label":
                return self._toggle(task)
        record = review.note if task.action == "note" else review.verdict
        label = record(self._where(task), task.value, task.span)
        return f"{_place(label)}: {_name(label)}."

    def _toggle(self, task: TraceReviewParams) -> str:
        """Applies a code, or takes it back if the same lines have it from this reviewer already."""
        review, before = review_of(self._trace), {label.id for label in review_of(self._trace).labels}
        label = review.label(self._where(task), task.value, task.span)
        if label.id in before:
            review.withdraw(label)
            return f"Taken back: {_name(label)}."
        return f"{_place(label)}: {_name(label)}."

    def _label(self, name: str) -> Label:
        label = next((one for one in review_of(self._trace).labels if one.id == name), None)
        if label is None:
            raise TraceError("This record is not in force any more.")
        return label

    def _where(
        self, task: TraceReviewParams
    ) -> Session | Call | Event | tuple[Call | Event, Call | Event] | None:
        if task.line is None:
            return None
        first = self._row(task.line)
        last = first if task.last is None else self._row(task.last)
        if first is last or isinstance(first, Session) or isinstance(last, Session):
            if first is not last:
                raise TraceError("A range begins and ends at steps, not at the line of a session.")
            return first
        return first, last

    def _row(self, line: int) -> LineRow:
        if not 0 <= line < len(self._lines):
            raise TraceError(f"Line {line} does not exist: the log has {len(self._lines):,} lines.")
        return self._lines.rows[line]

    # --- what there is

    def _following(self, task: TraceReviewParams) -> int | None:
        """Returns the line to review next; in the recorded order the first one after the line of the task."""
        rows = review_of(self._trace).unreviewed(task.order, task.seed)
        lines = (line for row in rows if (line := self._lines.line_by_row.get(id(row))) is not None)
        first = next(lines, None)
        if task.order == "recorded" and task.line is not None:
            after = max(task.line, task.last or 0)
            if first is None or first > after:
                return first
            return next((line for line in lines if line > after), first)
        return next(lines, first) if first == task.line else first

    def _wire_labels(self, labels: Sequence[Label]) -> Iterator[TraceLabel]:
        review = review_of(self._trace)
        codes = {label.about: label.value for label in labels if label.kind == "code"}
        listed = [label for label in labels if label.kind in {"note", "label", "verdict"}]
        for label in listed[-_MAX_LABELS:]:
            places = self._lines_of(label)
            yield TraceLabel(
                id=label.id,
                kind=label.kind,
                value=seen(label.value, keep="\t\n"),
                reviewer=one_line(label.reviewer, 100),
                mine=label.reviewer == review.reviewer,
                step=_steps(label),
                line=places[0] if places else None,
                last=places[-1] if places else None,
                span=one_line(label.span, 300),
                code=codes.get(label.id, ""),
                lost=_LOST.get(label.status, ""),
            )

    def _lines_of(self, label: Label) -> Sequence[int]:
        """Returns the lines of a label: its session's line, its step, or the steps in its range."""
        first, last = review_of(self._trace).rows_of(label)
        start = self._lines.line_by_row.get(id(first))
        end = self._lines.line_by_row.get(id(last))
        if start is None or end is None:
            return ()
        if start == end or label.seq is None or label.last_seq is None:
            return (start,)
        rows = ((line, self._lines.rows[line]) for line in range(start, end + 1))
        return [line for line, row in rows if not isinstance(row, Session) and row.session == label.session]

    def _marks(self, labels: Sequence[Label]) -> Iterator[TraceMark]:
        reviewer = review_of(self._trace).reviewer
        for label in labels:
            key = (label.id, label.reviewer == reviewer)
            if key not in self._label_marks:
                self._label_marks[key] = self._marks_of(label, is_mine=key[1])
            yield from self._label_marks[key]
        found = self._signal_lines()
        if found is not self._signal_marks[0]:
            marks = (mark for signal, places in found for mark in _signal_marks(signal, places))
            self._signal_marks = (found, tuple(islice(marks, _MAX_MARKS)))
        yield from self._signal_marks[1]

    def _marks_of(self, label: Label, *, is_mine: bool) -> Sequence[TraceMark]:
        places = self._lines_of(label)
        tone: MarkTone = "note" if label.kind == "note" else "label"
        if label.kind == "verdict":
            tone = _TONES.get(label.value, "label")
        text = "note" if label.kind == "note" else one_line(label.value, 40)
        text += "" if is_mine else f" · {one_line(label.reviewer, 20)}"
        title = one_line(f"{label.reviewer}: {label.value}", 400)
        title += f" ({label.status})" if label.status != "same" else ""
        places = places[:1] if tone == "note" else places
        return [TraceMark(line=line, tone=tone, text=text, title=title) for line in places]

    def _agreements(self) -> Iterator[ReviewAgreement]:
        review = review_of(self._trace)
        judges = dict.fromkeys(label.reviewer for label in review.labels if label.kind == "verdict")
        for other in (judge for judge in judges if judge != review.reviewer):
            found = review.agreement(review.reviewer, other)
            kappa = None if found.kappa is None else round(found.kappa, 2)
            yield ReviewAgreement(
                reviewer=one_line(other, 100), items=found.items, kappa=kappa, low=found.low, high=found.high
            )

    # --- signals

    def wait_for_signals(self) -> None:
        self._search.finish()

    def _signal_lines(self) -> Sequence[tuple[Signal, Sequence[int]]]:
        """Returns each signal with its lines."""
        signals, found = self._search.signals, self._found_signals
        if signals is not found[0]:
            wanted = {(signal.session, seq) for signal in signals for seq in signal.seqs}
            rows = enumerate(self._lines.rows if wanted else ())
            steps = ((line, (row.session, row.seq)) for line, row in rows if not isinstance(row, Session))
            lines = {step: line for line, step in steps if step in wanted}
            keys = (((signal.session, seq) for seq in signal.seqs) for signal in signals)
            places = [[lines[key] for key in signal_keys if key in lines] for signal_keys in keys]
            self._found_signals = found = (signals, list(zip(signals, places, strict=True)))
        return found[1]


class ReviewFacet(Facet):
    """Verdicts, labels and notes of a step."""

    name, label = "review", "Review"

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer

    def lines(self) -> Mapping[str, Sequence[int]]:
        return self._reviewer.lines_by_mark()

    def title(self, key: str) -> str:
        if key == UNREVIEWED:
            return "Without a verdict of the reviewer"
        if key in VERDICTS:
            return "Steps with this verdict"
        return "Steps with a note" if key == "note" else "Steps with this label"


class SignalFacet(Facet):
    """Signals that a step is part of."""

    name, label = "signal", "Signals"

    def __init__(self, reviewer: Reviewer) -> None:
        self._reviewer = reviewer

    def lines(self) -> Mapping[str, Sequence[int]]:
        return self._reviewer.lines_by_signal()

    def title(self, key: str) -> str:
        return next((DEFINITIONS[kind] for kind, name in SIGNAL_NAMES.items() if name == key), "")


def _signal_marks(signal: Signal, places: Sequence[int]) -> Iterator[TraceMark]:
    title = f"{one_line(signal.explanation, 300)}. {DEFINITIONS[signal.kind]}"
    return (
        TraceMark(line=line, tone="signal", text=SIGNAL_NAMES[signal.kind], title=title) for line in places
    )


def _steps(label: Label) -> str:
    return label.step if label.step in {label.last_step, ""} else f"{label.step}–{label.last_step}"


def _place(label: Label) -> str:
    steps = _steps(label)
    if not steps:
        return "The session"
    return f"Steps {steps}" if "–" in steps else f"Step {steps}"


def _name(label: Label) -> str:
    value = one_line(label.value, 60)
    return f"{label.kind} “{value}”" if label.kind in {"note", "label"} else value
