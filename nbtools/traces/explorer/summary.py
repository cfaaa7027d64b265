"""Summarises a whole log in one line of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.comparison.steps import file_key
from nbtools.traces.explorer.recorded_card import CHANGE_OPS, tone_of
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.model import Call, SampleResult, Session
from nbtools.traces.prompts import typed_text
from nbtools.traces.repeated_records import REPEATS
from nbtools.traces.session_index.places import label_of
from nbtools.traces.trace import Trace

_MAX_MODELS = 2
_MAX_SCORES = 6
_MAX_TITLE = 120
_MAX_AGENT = 80
_PLACEHOLDER = "This version of the agent recorded placeholders instead of the number of output tokens."


@dataclass(frozen=True, slots=True)
class Fact:
    """``doubt`` says why the fact is unreliable, empty if it is not; ``bad`` marks bad news;
    ``title`` says what is counted.
    """

    text: str
    doubt: str = ""
    bad: bool = False
    title: str = ""


@dataclass(frozen=True, slots=True)
class Summary:
    """``title`` is the session's own, else the first prompt, else the file's name;
    ``changed`` is the number of changed files.
    """

    title: str
    facts: tuple[Fact, ...]
    changed: int = 0


def summary_of(trace: Trace) -> Summary:
    """Counts what the log records: all calls and failures that the explorer lists,
    and the files whose changes took effect.

    Each fact says in its ``title`` what it counts; the explorer's chips of the same name count the same.
    What is not recorded is omitted; an unreliable fact says why.
    """
    changed = _changed_files(trace)
    return Summary(_title(trace), tuple(_facts(trace, changed)), changed)


def _title(trace: Trace) -> str:
    roots = [session for session in trace.sessions if not session.parent]
    named = next((session.title for session in roots if session.title), "") if len(roots) == 1 else ""
    prompt = (
        next((event.text for event in trace.events if event.kind == "user" and event.text.strip()), "")
        if len(roots) == 1
        else ""
    )
    name = next((reading.source.path.name for reading in trace.readings), "")
    return one_line(redacted((typed_text(named) or typed_text(prompt) or name).strip()), _MAX_TITLE)


def _facts(trace: Trace, changed: int) -> Iterator[Fact]:
    yield from map(Fact, _agents_and_models(trace.sessions))
    yield from _duration(trace.sessions)
    roots = sum(not session.parent for session in trace.sessions)
    if roots > 1:
        yield Fact(counted(roots, "session"))
    yield from _samples(trace.samples)
    yield Fact(counted(sum(session.records for session in trace.sessions), "record"))
    if trace.problems:
        yield Fact(
            f"{counted(len(trace.problems), 'place')} unreadable",
            "Whatever could be recovered from these places is shown.",
            bad=True,
        )
    yield from _repeats(trace.sessions)
    yield from _calls(trace)
    yield from _edits(trace, changed)
    yield from _tokens(trace.sessions)
    yield from _cost(trace.sessions)


def _agents_and_models(sessions: Iterable[Session]) -> Iterator[str]:
    """Yields the agents with their versions, then the models."""
    named = (f"{label_of(one.agent)} {one.agent_version}".strip() for one in sessions if one.agent)
    yield from dict.fromkeys(one_line(name, _MAX_AGENT) for name in named)
    models = list(dict.fromkeys(model for session in sessions for model in session.models))
    if models:
        more = f" and {len(models) - _MAX_MODELS} more" if len(models) > _MAX_MODELS else ""
        yield one_line(", ".join(models[:_MAX_MODELS]) + more, 100)


def _duration(sessions: Iterable[Session]) -> Iterator[Fact]:
    times = [time for session in sessions for time in (session.started, session.ended) if time is not None]
    if times and max(times) > min(times):
        yield Fact(elapsed(max(times) - min(times)))


def _repeats(sessions: Iterable[Session]) -> Iterator[Fact]:
    repeats = sum(session.counts.get(REPEATS, 0) for session in sessions)
    if repeats:
        yield Fact(
            f"{repeats:,} repeated",
            title=(
                "Records that a fork or a resumed session has copied from another of these logs: each counts"
                " once"
            ),
        )


def _samples(samples: Sequence[SampleResult]) -> Iterator[Fact]:
    """Yields the scores of a single sample, and why it ended early."""
    if len(samples) == 1:
        (sample,) = samples
        yield from (Fact(text, title="Score of the sample") for text in score_texts(sample))
        if sample.limit_reached:
            yield Fact(one_line(f"{sample.limit_reached} limit reached", 60), bad=True)


def score_texts(sample: SampleResult) -> list[str]:
    return [one_line(redacted(f"{name}: {value}"), 60) for name, value in (sample.scores or {}).items()][
        :_MAX_SCORES
    ]


def _calls(trace: Trace) -> Iterator[Fact]:
    calls = trace.calls
    nested = len([call for call in calls if call.level == "nested"])
    yield Fact(
        counted(len(calls), "call") + (f" ({nested:,} nested)" if nested else ""),
        title=_calls_title(calls, nested),
    )
    failed = [call for call in calls if tone_of(call) == "failed"]
    errors = sum(event.kind == "error" and bool(event.text) for event in trace.events)
    silent = not all(reading.format.tells_errors for reading in trace.readings)
    if failed or errors:
        exits = sum(call.status == "ok" for call in failed)
        parts = (
            (len(failed) - exits, "call that failed", "calls that failed"),
            (exits, "command that exited with an error code", "commands that exited with an error code"),
            (errors, "error of the agent", "errors of the agent"),
        )
        title = _listed(parts) + f"; {sum(call.level == 'nested' for call in failed):,} of them nested"
        doubt = (
            "This format does not record failures: they are inferred from exit codes and the text of results."
            if silent
            else ""
        )
        yield Fact(f"{len(failed) + errors:,} failed", doubt, bad=True, title=title)
    elif silent and calls:
        yield Fact("failures not recorded")


def _calls_title(calls: Sequence[Call], nested: int) -> str:
    rewound = len([call for call in calls if not call.live])
    uncounted = len([call for call in calls if not call.counted and call.level == "model"])
    parts = (
        (len(calls) - nested, "made by a model", "made by models"),
        (nested, "nested in another call", "nested in other calls"),
        (rewound, "on a rewound branch", "on rewound branches"),
        (uncounted, "not counted by trace.facts()", "not counted by trace.facts()"),
    )
    return "Calls of tools: " + _listed(parts)


def _listed(parts: Iterable[tuple[int, str, str]]) -> str:
    return ", ".join(f"{count:,} {one if count == 1 else several}" for count, one, several in parts if count)


def _changed_files(trace: Trace) -> int:
    folders = {session.id: session.cwd for session in trace.sessions}
    paths = {(change.session, change.path) for change in trace.file_changes if change.applied and change.path}
    return len({file_key(path, folders.get(session, "")) for session, path in paths})


def _edits(trace: Trace, changed: int) -> Iterator[Fact]:
    edits = len([call for call in trace.calls if call.op in CHANGE_OPS])
    if edits:
        yield Fact(
            counted(edits, "edit"), title="Calls that change files, whether or not the change took effect"
        )
    if changed:
        makers = [(change.session, change.call) for change in trace.file_changes if change.applied]
        title = f"{counted(len(makers), 'change')} made by {counted(len(set(makers)), 'call')} took effect"
        yield Fact(f"{counted(changed, 'file')} changed", title=title)


def _tokens(sessions: Iterable[Session]) -> Iterator[Fact]:
    tokens = [session.tokens for session in sessions]
    tokens_in = sum((one.input or 0) + (one.cache_read or 0) + (one.cache_write or 0) for one in tokens)
    tokens_out = sum(one.output or 0 for one in tokens)
    placeholders = any("tokens_placeholder" in session.flags for session in sessions)
    if tokens_in:
        yield Fact(f"{short_number(tokens_in)} tokens in")
    if tokens_out:
        yield Fact(f"{short_number(tokens_out)} out", _PLACEHOLDER if placeholders else "")


def _cost(sessions: Iterable[Session]) -> Iterator[Fact]:
    costs = [session.cost for session in sessions if session.cost]
    if costs:
        yield Fact(f"${sum(costs):.2f}" if sum(costs) >= 0.1 else f"${sum(costs):.4f}")


def short_number(count: int) -> str:
    """Formats a count: ``812``, ``38 k``, ``1.2 M``."""
    if count < 1000:
        return str(count)
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if count < 999.5 * size or unit == "G":
            value = count / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"
    raise AssertionError
