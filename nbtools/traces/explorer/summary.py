"""Summarises a whole log in one line of facts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.explorer.explorer_view import TraceFact
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.json_access import to_json
from nbtools.traces.model import Metric, SampleResult
from nbtools.traces.prompts import first_prompt, title_of
from nbtools.traces.repeated_records import REPEATS
from nbtools.traces.session_index.index import indexed_cost
from nbtools.traces.session_index.places import label_of
from nbtools.traces.trace import Trace

_MAX_MODELS = 2
_MAX_SCORES = 6
_MAX_METRICS = 6
_MAX_TITLE = 120
_MAX_AGENT = 80
_LEAST_WAIT = 60.0
"""Seconds of waiting for the person from which the head has the time without them, too."""
_AT_WORK = "Without the time from the end of an answer to the person's next message"
_INFERRED = "This format does not record failures: they are inferred from exit codes and the text of results."
_PLACEHOLDER = "This version of the agent recorded placeholders instead of the number of output tokens."


@dataclass(frozen=True, slots=True)
class Summary:
    """``title`` is the session's, the first prompt or the file's name; ``changed`` counts changed files."""

    title: str
    facts: tuple[TraceFact, ...]
    changed: int = 0


def summary_of(trace: Trace) -> Summary:
    """Describes what the log records.

    Each fact says in its ``title`` what it counts, as ``counts.DEFINITIONS`` defines it; the explorer's chips
    of the same name count the same.
    What is not recorded is omitted; an unreliable fact says why.
    """
    facts = (
        *_origin(trace),
        *_run(trace),
        *_samples(trace.samples),
        *_records(trace),
        *_calls(trace),
        *_edits(trace),
        *_tokens_and_cost(trace),
    )
    return Summary(_title(trace), facts, trace.counts.edited_files)


def _title(trace: Trace) -> str:
    roots = [session for session in trace.sessions if not session.parent]
    title = ""
    if len(roots) == 1:
        events = zip(trace.events, trace.events.log_files, strict=True)
        prompt = first_prompt(pair for pair in events if pair[0].session == roots[0].id)
        title = title_of(roots[0].title, prompt)
    name = next((reading.source.path.name for reading in trace.readings), "")
    return one_line(redacted(title or name), _MAX_TITLE)


def _origin(trace: Trace) -> Iterator[TraceFact]:
    """Yields the agents with their versions, the models, the duration, and the number of sessions."""
    named = (f"{label_of(one.agent)} {one.agent_version}".strip() for one in trace.sessions if one.agent)
    yield from (TraceFact(text=name) for name in dict.fromkeys(one_line(name, _MAX_AGENT) for name in named))
    models = list(dict.fromkeys(model for session in trace.sessions for model in session.models))
    if models:
        more = f" and {len(models) - _MAX_MODELS} more" if len(models) > _MAX_MODELS else ""
        yield TraceFact(text=one_line(", ".join(models[:_MAX_MODELS]) + more, 100))
    roots = [session.id for session in trace.sessions if not session.parent]
    if trace.counts.duration:
        yield TraceFact(text=elapsed(trace.counts.duration), title=DEFINITIONS["duration"])
        waits = [turn.waiting or 0.0 for turn in trace.turns if [turn.session] == roots]
        if _LEAST_WAIT < (waiting := sum(waits)) <= trace.counts.duration:
            working = elapsed(trace.counts.duration - waiting)
            yield TraceFact(text=f"{working} at work", title=f"{_AT_WORK}: {elapsed(waiting)}")
    if len(roots) > 1:
        yield TraceFact(text=counted(len(roots), "session"))


_ENDS = {
    "started": ("run not finished", "Its metrics are computed when it ends."),
    "": (
        "run not finished",
        "The log has no header, which is written when the run ends; it has the metrics.",
    ),
    "cancelled": ("run cancelled", "Its metrics, if there are any, are of the samples until then."),
    "error": ("run ended with an error", ""),
}
"""Fact and tooltip for the status of an evaluation that did not end well."""
_ERRORS_OF_MEAN = ("stderr", "bootstrap_stderr")


def _run(trace: Trace) -> Iterator[TraceFact]:
    """Yields how an evaluation ended if not well, and its metrics."""
    ended = [one.counts for one in trace.sessions if one.sample is not None and "status" in one.counts]
    for status in dict.fromkeys(counts["status"] for counts in ended):
        if status in _ENDS:
            text, title = _ENDS[status]
            errors = (str(counts.get("run_error", "")) for counts in ended if counts["status"] == status)
            title = next(filter(None, errors), "") or title
            yield TraceFact(text=text, bad=True, title=one_line(redacted(title), 500))
    texts = [*_metric_texts(trace.metrics)]
    yield from (TraceFact(text=text, title=title) for text, title in texts[:_MAX_METRICS])
    if len(texts) > _MAX_METRICS:
        rest = texts[_MAX_METRICS:]
        yield TraceFact(
            text=counted(len(rest), "more metric"), title=one_line(", ".join(text for text, _ in rest), 2_000)
        )


def _metric_texts(metrics: Sequence[Metric]) -> Iterator[tuple[str, str]]:
    """Yields each metric with what it is of.  A standard error stands behind the mean of the same scores."""
    several = len({(one.scorer, one.reducer) for one in metrics}) > 1
    scores: dict[tuple[str, str], list[Metric]] = {}
    for one in metrics:
        scores.setdefault((one.scorer, one.reducer), []).append(one)
    for (scorer, reducer), found in scores.items():
        mean = next((one for one in found if one.name in ("accuracy", "mean")), None)
        error = next((one for one in found if one.name in _ERRORS_OF_MEAN), None)
        for one in found:
            if one is error and mean is not None and error.value is not None:
                continue
            value = "not recorded" if one.value is None else f"{one.value:.3g}"
            if one is mean and error is not None and error.value is not None:
                value += f" ± {error.value:.2g}"
            name = f"{scorer} {one.name}" if several else one.name
            title = " · ".join(filter(None, (f"Metric of the scorer {scorer}", *_details(one, reducer))))
            yield one_line(redacted(f"{name} {value}"), 80), one_line(redacted(title), 500)


def _details(metric: Metric, reducer: str) -> Iterator[str]:
    if metric.samples is not None:
        yield f"of {counted(metric.samples, 'sample')}"
    if reducer:
        yield f"epochs reduced by {reducer}"
    for name, params in (("metric", metric.params), ("scorer", metric.scorer_params)):
        if params:
            yield f"parameters of the {name}: {to_json(params)}"


def _samples(samples: Sequence[SampleResult]) -> Iterator[TraceFact]:
    """Yields the scores of a single sample, and why it ended early."""
    if len(samples) == 1:
        (sample,) = samples
        yield from (TraceFact(text=text, title="Score of the sample") for text in score_texts(sample))
        if sample.limit_reached:
            yield TraceFact(text=one_line(f"{sample.limit_reached} limit reached", 60), bad=True)
    by_scorers = sum(sample.scorer_tokens or 0 for sample in samples)
    if by_scorers:
        title = f"Tokens of the requests that scorers made, which are among all tokens: {by_scorers:,}"
        yield TraceFact(text=f"{short_number(by_scorers)} tokens by scorers", title=title)


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
    calls, counts = trace.calls, trace.counts
    rewound = sum(not call.live for call in calls)
    uncounted = sum(not call.counted and call.has_failed is not None for call in calls)
    nested = f" + {counts.nested_calls:,} nested" if counts.nested_calls else ""
    apart = _listed(
        (counts.nested_calls, "nested in another call", "nested in other calls"),
        (rewound, "on a rewound branch", "on rewound branches"),
    )
    rules = f" · of the calls, trace.facts() leaves out {uncounted:,}" if uncounted else ""
    yield TraceFact(
        text=counted(counts.calls, "call") + nested,
        title=f"{DEFINITIONS['calls']}{f' · apart: {apart}' if apart else ''}{rules}",
    )
    silent = not all(reading.format.tells_errors for reading in trace.readings)
    if counts.failed_calls:
        exits = sum(bool(call.has_failed) and call.status == "ok" for call in calls)
        listed = _listed(
            (counts.failed_calls - exits, "call that failed", "calls that failed"),
            (exits, "command that exited with an error code", "commands that exited with an error code"),
        )
        yield TraceFact(
            text=f"{counts.failed_calls:,} failed",
            doubt=_INFERRED if silent else "",
            bad=True,
            title=f"{DEFINITIONS['failed_calls']}: {listed}",
        )
    elif silent and calls:
        yield TraceFact(text="failures not recorded")
    others = sum(call.has_failed is None and call.is_failure for call in calls)
    if others:
        yield TraceFact(text=counted(others, "other failure"), title=DEFINITIONS["other_failures"])
    if counts.errors:
        yield TraceFact(
            text=counted(counts.errors, "error") + " of the agent", bad=True, title=DEFINITIONS["errors"]
        )


def _listed(*parts: tuple[int, str, str]) -> str:
    return ", ".join(f"{count:,} {one if count == 1 else several}" for count, one, several in parts if count)


def _edits(trace: Trace) -> Iterator[TraceFact]:
    counts = trace.counts
    if counts.edits:
        makers = {(change.session, change.call) for change in trace.file_changes if change.applied}
        title = f"{DEFINITIONS['edits']}: made by {counted(len(makers), 'call')}"
        yield TraceFact(text=counted(counts.edits, "edit"), title=title)
    if counts.edited_files:
        title = f"{DEFINITIONS['edited_files']}, however their paths are written"
        yield TraceFact(text=f"{counted(counts.edited_files, 'file')} changed", title=title)


def _tokens_and_cost(trace: Trace) -> Iterator[TraceFact]:
    counts = trace.counts
    if counts.input_tokens:
        parts = (
            (counts.cache_read_tokens, "read from a cache"),
            (counts.cache_write_tokens, "written to one"),
        )
        cached = "".join(f" · {count:,} {words}" for count, words in parts if count)
        title = f"{DEFINITIONS['input_tokens']}: {counts.input_tokens:,}{cached}"
        yield TraceFact(
            text=f"{short_number(counts.input_tokens)} tokens in", title=title, doubt=_difference(trace)
        )
    if counts.output_tokens:
        placeholders = any("tokens_placeholder" in session.flags for session in trace.sessions)
        title = f"{DEFINITIONS['output_tokens']}: {counts.output_tokens:,}"
        doubt = _PLACEHOLDER if placeholders else ""
        yield TraceFact(text=f"{short_number(counts.output_tokens)} out", doubt=doubt, title=title)
    yield from _cost(trace)


def _cost(trace: Trace) -> Iterator[TraceFact]:
    """Yields the cost by price lists where the list of sessions has it, else the recorded one."""
    paths = [reading.source.path for reading in trace.readings]
    known = indexed_cost(paths[0].absolute()) if len(paths) == 1 else None
    if known is not None and known.prices:
        parts = [f"{DEFINITIONS['cost']}, by the prices of {known.prices} on the days of the requests"]
        if known.unpriced:
            parts.append(f"without {counted(known.unpriced, 'request')} to models that have no price")
        if known.doubtful:
            parts.append("some numbers of output tokens are placeholders")
        yield TraceFact(
            text=cost_text(known.cost, is_lower_bound=known.is_lower_bound), title="; ".join(parts)
        )
    elif trace.counts.cost:
        yield TraceFact(
            text=dollars(trace.counts.cost), title=f"{DEFINITIONS['cost']}, as the log records it"
        )


def _difference(trace: Trace) -> str:
    """Says where the log's own total of tokens is not the sum over its requests."""
    found = (str(session.counts.get("tokens_differ", "")) for session in trace.sessions)
    text = " · ".join(dict.fromkeys(filter(None, found)))
    return one_line(f"The log's own total is not the sum over its requests: {text}", 500) if text else ""


def cost_text(cost: float | None, *, is_lower_bound: bool = False) -> str:
    """Formats US dollars; empty where no price is known."""
    if cost is None:
        return ""
    return f"≥ {dollars(cost)}" if is_lower_bound else dollars(cost)


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
