"""Summarises a whole log in one line of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.counts import has_failed
from nbtools.traces.explorer.explorer_view import TraceFact
from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.model import Call, FileChange, SampleResult, Session
from nbtools.traces.prompts import typed_text
from nbtools.traces.repeated_records import REPEATS
from nbtools.traces.session_index.places import label_of
from nbtools.traces.trace import Trace
from nbtools.traces.usage.requests import input_of
from nbtools.traces.working_directory import file_key

_MAX_MODELS = 2
_MAX_SCORES = 6
_MAX_TITLE = 120
_MAX_AGENT = 80
_INFERRED = "This format does not record failures: they are inferred from exit codes and the text of results."
_PLACEHOLDER = "This version of the agent recorded placeholders instead of the number of output tokens."


@dataclass(frozen=True, slots=True)
class Summary:
    """``title`` is the session's, the first prompt or the file's name; ``changed`` counts changed files."""

    title: str
    facts: tuple[TraceFact, ...]
    changed: int = 0


def summary_of(trace: Trace) -> Summary:
    """Counts what the log records: all calls and failures that the explorer lists,
    and the files whose changes took effect.

    Each fact says in its ``title`` what it counts; the explorer's chips of the same name count the same.
    What is not recorded is omitted; an unreliable fact says why.
    """
    folders = {session.id: session.cwd for session in trace.sessions}
    applied = [change for change in trace.file_changes if change.applied]
    files = {file_key(one.path, folders.get(one.session, "")) for one in applied if one.path}
    facts = (
        *_origin(trace),
        *_samples(trace.samples),
        *_records(trace),
        *_calls(trace),
        *_edits(trace.calls, applied, len(files)),
        *_tokens_and_cost(trace.sessions),
    )
    return Summary(_title(trace), facts, len(files))


def _title(trace: Trace) -> str:
    roots = [session for session in trace.sessions if not session.parent]
    named = prompt = ""
    if len(roots) == 1:
        named = next((session.title for session in roots if session.title), "")
        prompts = (event.text for event in trace.events if event.kind == "user" and event.text.strip())
        prompt = next(prompts, "")
    name = next((reading.source.path.name for reading in trace.readings), "")
    return one_line(redacted((typed_text(named) or typed_text(prompt) or name).strip()), _MAX_TITLE)


def _origin(trace: Trace) -> Iterator[TraceFact]:
    """Yields the agents with their versions, the models, the duration, and the number of sessions."""
    named = (f"{label_of(one.agent)} {one.agent_version}".strip() for one in trace.sessions if one.agent)
    yield from (TraceFact(text=name) for name in dict.fromkeys(one_line(name, _MAX_AGENT) for name in named))
    models = list(dict.fromkeys(model for session in trace.sessions for model in session.models))
    if models:
        more = f" and {len(models) - _MAX_MODELS} more" if len(models) > _MAX_MODELS else ""
        yield TraceFact(text=one_line(", ".join(models[:_MAX_MODELS]) + more, 100))
    times = [time for one in trace.sessions for time in (one.started, one.ended) if time is not None]
    if times and max(times) > min(times):
        yield TraceFact(text=elapsed(max(times) - min(times)))
    roots = sum(not session.parent for session in trace.sessions)
    if roots > 1:
        yield TraceFact(text=counted(roots, "session"))


def _samples(samples: Sequence[SampleResult]) -> Iterator[TraceFact]:
    """Yields the scores of a single sample, and why it ended early."""
    if len(samples) == 1:
        (sample,) = samples
        yield from (TraceFact(text=text, title="Score of the sample") for text in score_texts(sample))
        if sample.limit_reached:
            yield TraceFact(text=one_line(f"{sample.limit_reached} limit reached", 60), bad=True)


def score_texts(sample: SampleResult) -> list[str]:
    texts = [one_line(redacted(f"{name}: {value}"), 60) for name, value in (sample.scores or {}).items()]
    return texts[:_MAX_SCORES]


def _records(trace: Trace) -> Iterator[TraceFact]:
    yield TraceFact(text=counted(sum(session.records for session in trace.sessions), "record"))
    if trace.problems:
        yield TraceFact(
            text=f"{counted(len(trace.problems), 'place')} unreadable",
            doubt="Whatever could be recovered from these places is shown.",
            bad=True,
        )
    repeats = sum(session.counts.get(REPEATS, 0) for session in trace.sessions)
    if repeats:
        yield TraceFact(
            text=f"{repeats:,} repeated",
            title=(
                "Records that a fork or a resumed session has copied from another of these logs: each counts"
                " once"
            ),
        )


def _calls(trace: Trace) -> Iterator[TraceFact]:
    calls = trace.calls
    nested = sum(call.level == "nested" for call in calls)
    rewound = sum(not call.live for call in calls)
    uncounted = sum(not call.counted and call.level == "model" for call in calls)
    listed = _listed(
        (len(calls) - nested, "made by a model", "made by models"),
        (nested, "nested in another call", "nested in other calls"),
        (rewound, "on a rewound branch", "on rewound branches"),
        (uncounted, "not counted by trace.facts()", "not counted by trace.facts()"),
    )
    text = counted(len(calls), "call") + (f" ({nested:,} nested)" if nested else "")
    yield TraceFact(text=text, title=f"Calls of tools: {listed}")
    failed = [call for call in calls if has_failed(call)]
    errors = sum(event.kind == "error" and bool(event.text) for event in trace.events)
    silent = not all(reading.format.tells_errors for reading in trace.readings)
    if failed or errors:
        exits = sum(call.status == "ok" for call in failed)
        listed = _listed(
            (len(failed) - exits, "call that failed", "calls that failed"),
            (exits, "command that exited with an error code", "commands that exited with an error code"),
            (errors, "error of the agent", "errors of the agent"),
        )
        yield TraceFact(
            text=f"{len(failed) + errors:,} failed",
            doubt=_INFERRED if silent else "",
            bad=True,
            title=f"{listed}; {sum(call.level == 'nested' for call in failed):,} of them nested",
        )
    elif silent and calls:
        yield TraceFact(text="failures not recorded")


def _listed(*parts: tuple[int, str, str]) -> str:
    return ", ".join(f"{count:,} {one if count == 1 else several}" for count, one, several in parts if count)


def _edits(calls: Iterable[Call], applied: Sequence[FileChange], files: int) -> Iterator[TraceFact]:
    edits = sum(call.op in CHANGE_OPS for call in calls)
    if edits:
        title = "Calls that change files, whether or not the change took effect"
        yield TraceFact(text=counted(edits, "edit"), title=title)
    if files:
        makers = {(change.session, change.call) for change in applied}
        title = f"{counted(len(applied), 'change')} made by {counted(len(makers), 'call')} took effect"
        yield TraceFact(text=f"{counted(files, 'file')} changed", title=title)


def _tokens_and_cost(sessions: Sequence[Session]) -> Iterator[TraceFact]:
    tokens_in = sum(input_of(session.tokens) or 0 for session in sessions)
    tokens_out = sum(session.tokens.output or 0 for session in sessions)
    if tokens_in:
        yield TraceFact(text=f"{short_number(tokens_in)} tokens in")
    if tokens_out:
        placeholders = any("tokens_placeholder" in session.flags for session in sessions)
        yield TraceFact(text=f"{short_number(tokens_out)} out", doubt=_PLACEHOLDER if placeholders else "")
    cost = sum(session.cost or 0 for session in sessions)
    if cost:
        yield TraceFact(text=dollars(cost))


def dollars(amount: float) -> str:
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.4f}"


def short_number(count: int) -> str:
    """Formats a count: ``812``, ``38 k``, ``1.2 M``."""
    if count < 1000:
        return str(count)
    for unit, size in (("k", 1e3), ("M", 1e6), ("G", 1e9)):
        if count < 999.5 * size or unit == "G":
            value = count / size
            return f"{value:.1f} {unit}" if value < 9.95 else f"{value:,.0f} {unit}"
    raise AssertionError
