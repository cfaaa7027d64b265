"""Tables of a session's tokens, money and time by their use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nbtools.cards.hidden_characters import one_line
from nbtools.cards.phrases import elapsed
from nbtools.core.message import counted
from nbtools.traces.counts import DEFINITIONS
from nbtools.traces.explorer.line_style import relative_path
from nbtools.traces.explorer.redaction import redacted
from nbtools.traces.explorer.summary import dollars, short_number
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.explorer.usage.usage_messages import TraceUsage, UsageRow, UsageTable
from nbtools.traces.model import ContextPart, PartKind, RequestUsage
from nbtools.traces.trace import Trace
from nbtools.traces.usage.cost import Cost
from nbtools.traces.usage.requests import input_of, sum_of_tokens
from nbtools.traces.usage.timing import TurnTime, seconds_of
from nbtools.traces.working_directory import file_key

MAX_ROWS = 12
"""Largest number of rows of a table: those with the longest bars."""
_NAMES: dict[PartKind, str] = {
    "unlogged": "system prompt and tools (not in the log)",
    "prompt": "system prompt",
    "tools": "definitions of tools",
    "system": "the agent's own messages",
    "person": "person",
    "attachment": "attachments and images",
    "summary": "summaries of compactions",
    "thinking": "thinking",
    "text": "the model's text",
    "arguments": "arguments of calls",
    "file": "files read",
    "command": "output of commands",
    "result": "results of other tools",
}
_CHIPS: dict[PartKind, str] = {
    "person": "kind:said",
    "text": "kind:said",
    "thinking": "kind:thinking",
    "file": "kind:reads",
    "command": "kind:shell",
}
"""The explorer's chips that list a part's steps."""
_LONG_PATH = 48
_COLUMNS = ("", "characters", "tokens", "sent in all")
_ESTIMATE = (
    "≈ is an estimate: what the input has grown by between two requests, divided among the texts that were"
    " added by their characters. Logs count only the tokens of whole requests; hover over a number for the"
    " bounds that they prove."
)
_VOLUME = (
    "Characters × requests: each request sends the whole conversation again, so a text of 1,000 characters"
    " that is in 50 requests was sent as 50,000. The bar shows it."
)
_HINTS = ("", "Exact: the length of the texts", _ESTIMATE, _VOLUME)
_TOOL_COLUMNS = ("", "calls", "characters", "tokens", "sent in all", "time")
_TOOL_HINTS = (
    "",
    DEFINITIONS["calls"],
    "Of arguments and results, as far as the log has them as they were sent",
    *_HINTS[2:],
    "Sum of the durations of the calls, also of those that ran at the same time",
)
_PROVEN = (
    "The log has every request as it was sent: system prompt, tools and messages, each with the hash that"
    " the agent wrote beside it. So parts, characters and requests are those that were sent."
)


def breakdown(trace: Trace, lines: Timeline, *, prices: bool) -> TraceUsage:
    """Returns the tables that have rows.  Raises ``TraceError`` where prices are wanted and not installed."""
    cost = trace.cost(prices=prices)
    context = trace.context
    sums = {"columns": _COLUMNS, "hints": _HINTS}
    tables = (
        _requests(trace, cost),
        UsageTable(
            title="Added to the context", rows=tuple(_sources(context)), **sums, **_how_proven(context)
        ),
        UsageTable(
            title="By tool", columns=_TOOL_COLUMNS, rows=tuple(_tools(trace, context)), hints=_TOOL_HINTS
        ),
        UsageTable(title="By file", rows=tuple(_files(trace, context)), **sums),
        UsageTable(title="By program", rows=tuple(_programs(context)), **sums),
        UsageTable(title="Time", columns=("", "time"), rows=tuple(_time(trace.turns))),
        UsageTable(title="Slowest calls", columns=("", "time"), rows=tuple(_slowest(trace, lines))),
    )
    return TraceUsage(tables=tuple(table for table in tables if table.rows), priced=prices)


def _how_proven(context: Iterable[ContextPart]) -> dict[str, Any]:
    """Returns the mark of a table of the context: in how many sessions it is proven."""
    proven: dict[str, bool] = {}
    for part in context:
        proven[part.session] = part.proven
    count = sum(proven.values())
    mark = "proven" if count == len(proven) else f"proven in {count:,} of {counted(len(proven), 'session')}"
    return {"mark": mark, "mark_hint": _PROVEN} if count else {}


def _requests(trace: Trace, cost: Cost) -> UsageTable:
    groups: dict[str, list[RequestUsage]] = defaultdict(list)
    for request in trace.usage:
        name = request.model or "model not recorded"
        groups["not attributed to a request" if request.scope == "rest" else name].append(request)
    rows = [_request_row(name, requests, cost) for name, requests in groups.items()]
    most = max((size for _, size in rows), default=0)
    columns = ("", "requests", "new input", "cached", "output", "cost")
    shown = (
        UsageRow(cells=cells, share=_share(size, most))
        for cells, size in sorted(rows, key=lambda row: -row[1])
    )
    return UsageTable(title="Tokens and money", columns=columns, rows=tuple(shown), note=_cost_note(cost))


def _request_row(name: str, requests: Sequence[RequestUsage], cost: Cost) -> tuple[tuple[str, ...], int]:
    total = sum_of_tokens(request.tokens for request in requests)
    own = sum(request.scope != "rest" for request in requests)
    recorded = [request.cost for request in requests if request.cost is not None]
    money = sum(recorded) if recorded else None
    if cost.prices:
        money = cost.by_model.get(name)
    spent = "" if money is None else dollars(money)
    new = sum_of_tokens([total]).input
    written = total.cache_write or 0
    cells = (
        one_line(name, 100),
        f"{own:,}" if own else "",
        "" if new is None else short_number(max(new, 0) + written),
        "" if total.cache_read is None else short_number(max(total.cache_read, 0)),
        "" if total.output is None else short_number(max(total.output, 0)),
        "no price" if cost.prices and name in cost.unpriced else spent,
    )
    return cells, max((input_of(total) or 0) + (total.output or 0), 0)


def _cost_note(cost: Cost) -> str:
    if not cost.prices:
        return "" if cost.recorded is None else f"Recorded cost: {dollars(cost.recorded)}."
    if cost.total is None or cost.price_dates is None:
        return f"{cost.prices} has no prices for these models."
    first, last = cost.price_dates
    days = f"{first}" if first == last else f"{first} to {last}"
    least = "at least " if cost.lower_bound or cost.unpriced else ""
    recorded = "" if cost.recorded is None else f" Recorded: {dollars(cost.recorded)}."
    return f"Total: {least}{dollars(cost.total)}, by the prices of {days} in {cost.prices}.{recorded}"


@dataclass
class _Sum:
    characters: int | None = None
    low: int = 0
    high: int | None = None
    estimate: int | None = None
    estimated: int = 0
    bounded: int = 0
    parts: int = 0
    volume: int = 0

    def add(self, part: ContextPart) -> None:
        self.parts += 1
        if part.characters is not None:
            self.characters = (self.characters or 0) + part.characters
            self.volume += part.characters * (part.requests or 0)
        if part.tokens_max is not None:
            self.bounded += 1
            self.high = (self.high or 0) + part.tokens_max
            self.low += part.tokens_min or 0
        if part.tokens_estimate is not None:
            self.estimated += 1
            self.estimate = (self.estimate or 0) + part.tokens_estimate

    @property
    def tokens(self) -> tuple[str, str]:
        """The tokens as text, with their bounds."""
        if self.high is None and self.estimate is None:
            return "", ""
        if self.high is not None and self.low == self.high and self.bounded == self.parts:
            return short_number(self.high), "As the log counts them"
        bounds = "" if self.high is None else f"{self.low:,}–{self.high:,} by the counts of whole requests"
        if self.estimate is None:
            return f"{short_number(self.low)}–{short_number(self.high or 0)}", f"Bounds: {bounds}"
        part = f"for {self.estimated:,} of {self.parts:,} parts" if self.estimated < self.parts else ""
        known = ", ".join(filter(None, (f"Estimate: {self.estimate:,}", part, bounds)))
        return f"≈ {short_number(self.estimate)}", known

    def row(self, name: str, *, before: tuple[str, ...] = (), after: tuple[str, ...] = ()) -> dict[str, Any]:
        """Returns the cells of a row with their hints."""
        tokens, known = self.tokens
        characters = "" if self.characters is None else short_number(self.characters)
        exact = "" if self.characters is None else f"{self.characters:,}"
        volume = short_number(self.volume) if self.volume else ""
        cells = (name, *before, characters, tokens, volume, *after)
        hints = ("", *("" for _ in before), exact, known, f"{self.volume:,}" if self.volume else "")
        return {"cells": cells, "hints": hints}

    @property
    def length(self) -> int:
        return self.volume or self.characters or 0


def _sums(parts: Iterable[tuple[str, ContextPart]]) -> list[tuple[str, _Sum]]:
    """Returns the sums by name, the longest bars first."""
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for name, part in parts:
        sums[name].add(part)
    return sorted(sums.items(), key=lambda entry: (-entry[1].length, -(entry[1].high or 0)))


def _sources(context: Iterable[ContextPart]) -> Iterator[UsageRow]:
    found = _sums((part.part, part) for part in context)
    most = max((total.length for _, total in found), default=0)
    for name, total in found:
        part: PartKind = name  # type: ignore[assignment]
        # Texts that the log does not have are no steps that a chip could list.
        chip = "" if total.characters is None else _CHIPS.get(part, "")
        yield UsageRow(**total.row(_NAMES[part]), share=_share(total.length, most), chip=chip)


def _tools(trace: Trace, context: Iterable[ContextPart]) -> Iterator[UsageRow]:
    """Yields the sums over the calls of each tool: the tools with the longest bars, then those that took
    most time.
    """
    names = {(call.session, call.id): call.name for call in trace.calls}
    sums: dict[str, _Sum] = defaultdict(_Sum)
    for part in context:
        if part.call and (name := names.get((part.session, part.call))) is not None:
            sums[name].add(part)
    numbers: Counter[str] = Counter()
    seconds: dict[str, float] = defaultdict(float)
    for call in trace.calls:
        if call.has_failed is not None:
            numbers[call.name] += 1
            seconds[call.name] += seconds_of(call) or 0.0
    found = sorted({*sums, *numbers}, key=lambda name: (-sums[name].length, -seconds[name], name))
    most = max((sums[name].length for name in found), default=0)
    for name in found[:MAX_ROWS]:
        time = elapsed(seconds[name]) if seconds[name] else ""
        row = sums[name].row(one_line(redacted(name), 100), before=(f"{numbers[name]:,}",), after=(time,))
        chip = f"tool:{name}" if name.isprintable() else ""
        yield UsageRow(**row, share=_share(sums[name].length, most), chip=chip)


def _files(trace: Trace, context: Iterable[ContextPart]) -> Iterator[UsageRow]:
    folders = {session.id: session.cwd for session in trace.sessions}
    found = _sums(
        (file_key(part.name, folders.get(part.session, "")), part) for part in context if part.part == "file"
    )
    yield from _named(found, "chip")


def _programs(context: Iterable[ContextPart]) -> Iterator[UsageRow]:
    yield from _named(_sums((part.name, part) for part in context if part.part == "command"), "text")


def _named(found: Sequence[tuple[str, _Sum]], field: str) -> Iterator[UsageRow]:
    most = max((total.length for _, total in found), default=0)
    for name, total in found[:MAX_ROWS]:
        label, action = name, {"text": name.partition(",")[0]}
        if field == "chip":
            # One call may have read several files.
            action = {"text": name.split(", ")[0]} if ", " in name else {"chip": f"path:{name}"}
            label = name if len(name) <= _LONG_PATH else "…/" + "/".join(name.rsplit("/", 2)[1:])
        action = action if name.isprintable() else {}
        yield UsageRow(
            **total.row(one_line(redacted(label), 100)), share=_share(total.length, most), **action
        )


def _time(turns: Sequence[TurnTime]) -> Iterator[UsageRow]:
    names = {
        "tools": "tools",
        "held": "calls that waited for approval or in a queue, summed",
        "model": "the model, and the agent around it",
        "waiting": "waiting for the person",
    }
    sums = {name: [value for turn in turns if (value := getattr(turn, name)) is not None] for name in names}
    most = max((sum(values) for values in sums.values()), default=0.0)
    for name, values in sums.items():
        if values and (name != "held" or sum(values) >= 1):
            yield UsageRow(cells=(names[name], elapsed(sum(values))), share=_share(sum(values), most))


def _slowest(trace: Trace, lines: Timeline) -> Iterator[UsageRow]:
    calls = [call for call in trace.slowest(5) if id(call) in lines.line_by_row]
    most = max((seconds_of(call) or 0.0 for call in calls), default=0.0)
    for call in calls:
        seconds = seconds_of(call) or 0.0
        name = one_line(redacted(f"{call.name} {relative_path(call.subject, lines.folder(call))}"), 100)
        yield UsageRow(
            cells=(name, elapsed(seconds)), share=_share(seconds, most), line=lines.line_by_row[id(call)]
        )


def _share(length: float, most: float) -> int:
    return round(100 * length / most) if most > 0 else 0
