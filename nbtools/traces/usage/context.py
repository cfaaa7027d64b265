"""Attributes the context of a session's requests to what added it.

A log has texts, and the number of input tokens of whole requests. So characters are exact, and tokens are
ranges: what was added between two requests is at most what the input has grown by. An estimate divides that
by characters. Where the log has all requests as they were sent, the parts are theirs, and proven.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from msgspec.structs import replace

from nbtools import shell
from nbtools.traces.model import Call, ContextPart, Event, EventKind, PartKind, RequestUsage, SentPart
from nbtools.traces.usage.estimates import ANSWERS, Addition, Growth, estimates
from nbtools.traces.usage.requests import input_of

_PARTS: dict[EventKind, PartKind] = {
    "user": "person",
    "attachment": "attachment",
    "assistant_text": "text",
    "thinking": "thinking",
    "compaction": "summary",
    "tool_result": "result",
}
_SENT_ROLES = {"user", "system", "developer"}
"""Roles of the agent's own messages that the model reads; others are notes in the log."""
_LOST = {"cache_break", "after_compaction"}
"""Marks of requests that found less in the cache than the one before."""
_BYTES_OF_CHARACTER = 4
"""A token stands for at least one byte, so a text has at most four tokens for each character."""

_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"$`\\\n]*\"")
_SIMPLE = re.compile(r"[\w\s./:=@%+,~^*?-]*(?:(?:&&|\|\|?|;)[\w\s./:=@%+,~^*?-]+)*")
"""A command line in which only operators between commands have a meaning for the shell."""
_OPERATOR = re.compile(r"&&|\|\|?|;|\n")
_ASSIGNMENT = re.compile(r"\w+\+?=")
_SILENT = {"cd", "export", "set", "source", ".", "pushd", "popd", "true", ":"}
"""Programs without output, which are left out if there are others."""


class _Part(NamedTuple):
    seq: int
    part: PartKind
    name: str
    call: str
    characters: int | None
    turn: int
    live: bool


@dataclass
class _Session:
    parts: list[_Part] = field(default_factory=list)
    requests: list[RequestUsage] = field(default_factory=list)
    calls: dict[str, Call] = field(default_factory=dict)
    """The calls by the provider's id."""
    compactions: list[int] = field(default_factory=list)
    connected: bool = True


class ContextBuilder:
    """Collects the rows of logs, and returns the parts of a session's context."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Session] = defaultdict(_Session)

    def add(self, row: Any) -> None:
        if type(row) is Event:
            self._event(row)
        elif type(row) is Call:
            self._call(row)
        elif type(row) is RequestUsage:
            self._request(row)

    def _event(self, event: Event) -> None:
        session, part = self._sessions[event.session], _PARTS.get(event.kind)
        if event.kind == "compaction":
            session.compactions.append(event.seq)
        if event.kind == "system" and event.role in _SENT_ROLES:
            part = "system"
        # Thinking without a text was hidden or encrypted by the provider; the model wrote it all the same.
        if part is not None and (event.size or part in ("attachment", "thinking")):
            characters = None if part == "attachment" else event.size or None
            session.parts.append(_Part(event.seq, part, "", "", characters, event.turn, event.live))

    def _call(self, call: Call) -> None:
        if call.level != "model":
            return
        self._sessions[call.session].calls[call.native_id] = call
        add = self._sessions[call.session].parts.append
        add(_Part(call.seq, "arguments", call.name, call.id, None, call.turn, call.live))
        if call.answered:
            part, name = _source_of(call)
            add(_Part(call.seq, part, name, call.id, call.result_size, call.turn, call.live))

    def _request(self, request: RequestUsage) -> None:
        session = self._sessions[request.session]
        if "scorer" in request.flags:
            return  # the context of a scorer is not that of the agent
        if request.scope == "request" and request.seq is not None:
            session.requests.append(request)
        elif request.scope != "rest":
            session.connected = False

    def take(self, session: str) -> Iterator[ContextPart]:
        """Yields the parts of a session in reading order, and forgets them."""
        if (found := self._sessions.pop(session, None)) is not None:
            attribution = _Attribution(session, found)
            yield from attribution.proven_parts() if attribution.is_proven else attribution.parts()


def _source_of(call: Call) -> tuple[PartKind, str]:
    """Returns what a call's result is, and the name of its file, its programs or its tool."""
    if call.op == "read" and call.paths:
        return "file", call.paths[0] if len(call.paths) == 1 else ", ".join(call.paths)
    if call.op == "shell":
        return "command", programs_of(call.subject) or call.name
    return "result", call.name


@lru_cache(maxsize=1 << 14)
def programs_of(command: str) -> str:
    """Returns the programs of a command line, each once, without folders: ``pytest, tail``."""
    plain = _QUOTED.sub("Q", command)
    if _SIMPLE.fullmatch(plain):  # as most command lines: 13 µs instead of 380
        parts = (part.split() for part in _OPERATOR.split(plain))
        names = [next((word for word in words if not _ASSIGNMENT.match(word)), "") for words in parts]
    else:
        names = [root for root in shell.parse_shell(command).roots if not root.startswith(("$", "`"))]
    found = dict.fromkeys(name.rpartition("/")[2] for name in names if name)
    return ", ".join(name for name in found if name not in _SILENT) or ", ".join(found)


class _Attribution:
    """Relates the parts of one session to its requests. A request has a number, its place in ``requests``."""

    def __init__(self, session: str, rows: _Session) -> None:
        self.session, self.rows = session, rows
        self.requests = sorted(rows.requests, key=lambda request: request.seq or 0)
        self.seqs = [request.seq or 0 for request in self.requests]
        self.compactions = sorted(rows.compactions)
        self.known = bool(self.requests) and rows.connected
        self.sizes = [input_of(request.tokens) for request in self.requests]
        self.cached_until = _ends(self.requests, lambda request: not _LOST.isdisjoint(request.flags))
        self.dead_until = _ends(self.requests, lambda request: request.live)
        self.shortened: set[int] = set()
        """The requests that left out parts of the one before: by how much they grew is not what was added."""

    @property
    def is_proven(self) -> bool:
        """Whether the log has all requests as they were sent."""
        return self.known and all(request.sent is not None for request in self.requests)

    def parts(self) -> Iterator[ContextPart]:
        parts = sorted(self.rows.parts)
        answers: dict[int, list[_Part]] = defaultdict(list)
        for part in parts:
            if part.part in ANSWERS:
                answers[self._answer(part)].append(part)
        found, starts = [*self._unlogged(parts)], [0]
        starts = starts[: len(found)]
        for part in parts:
            start = self._answer(part) + 1  # the first request that contained the part
            if part.part in ANSWERS:
                low, high = self._answer_tokens(part, answers)
            else:
                low, high = self._added_tokens(part, start)
            requests, cached = self._carried(part, start) if self.known else (None, None)
            place = (self.session, part.seq, part.part, part.name, part.call, part.characters)
            found.append(ContextPart(*place, low, high, requests, cached, part.turn, part.live))
            starts.append(start)
        yield from self._with_estimates(found, starts) if self.known else found

    def proven_parts(self) -> Iterator[ContextPart]:
        """Yields the parts of the requests as they were sent, and those of the answers after the last one."""
        requests = _SentRequests(self.requests)
        self.shortened = requests.shortened
        found: list[ContextPart] = []
        for part, start, end in requests.parts:
            request = self.requests[start]
            kind, name = part.part, part.name
            call = self.rows.calls.get(part.call) if part.call else None
            if call is not None:
                kind, name = ("arguments", call.name) if kind == "arguments" else _source_of(call)
            limit = None if part.characters is None else _BYTES_OF_CHARACTER * part.characters
            grown = self._growth(start)
            cached = min(self.cached_until[start + 1], end) if start + 1 < len(self.requests) else end
            found.append(
                ContextPart(
                    self.session,
                    part.seq if call is None else call.seq,
                    kind,
                    name,
                    "" if call is None else call.id,
                    part.characters,
                    None if grown is None else 0,
                    grown if grown is None or limit is None else min(grown, limit),
                    end - start,
                    max(cached - start - 1, 0),
                    request.turn if call is None else call.turn,
                    request.live,
                    proven=True,
                )
            )
        starts = [start for _, start, _ in requests.parts]
        for row in sorted(self.rows.parts):
            if row.part in ANSWERS and self._answer(row) == len(self.requests) - 1:
                place = (self.session, row.seq, row.part, row.name, row.call, row.characters)
                found.append(ContextPart(*place, None, None, 0, 0, row.turn, row.live, proven=True))
                starts.append(len(self.requests))
        yield from self._with_estimates(found, starts)

    def _with_estimates(self, parts: Sequence[ContextPart], starts: Sequence[int]) -> Iterator[ContextPart]:
        thinks = {start for part, start in zip(parts, starts, strict=True) if part.part == "thinking"}
        thinks |= {self._answer(row) + 1 for row in self.rows.parts if row.part == "thinking"}
        growths = [
            Growth(self._growth(number), *self._answered(number - 1, has_thinking=number in thinks))
            for number in range(len(self.requests) + 1)
        ]
        additions = [
            Addition(part.part, part.characters, start, part.tokens_max)
            for part, start in zip(parts, starts, strict=True)
        ]
        for part, found in zip(parts, estimates(additions, growths), strict=True):
            low, estimate = part.tokens_min, found
            if low is not None and (found is not None or low == part.tokens_max):
                estimate = max(found or 0, low)
            yield part if estimate is None else replace(part, tokens_estimate=estimate)

    def _growth(self, number: int) -> int | None:
        """Returns by how many tokens the input of a request is larger than that of the one before it; None
        where they are not comparable, and the whole of the first one.
        """
        if number >= len(self.requests):
            return None
        if number == 0:
            return self.sizes[0]
        before, now = self.sizes[number - 1], self.sizes[number]
        first, second = self.requests[number - 1], self.requests[number]
        comparable = (
            first.model == second.model
            and first.live == second.live
            and "after_compaction" not in second.flags
            and number not in self.shortened
        )
        return (
            now - before if before is not None and now is not None and now >= before and comparable else None
        )

    def _answered(self, number: int, *, has_thinking: bool) -> tuple[int | None, int | None]:
        """Returns the tokens of a request's answer without reasoning, and those of reasoning."""
        if number < 0:
            return 0, None
        tokens, flags = self.requests[number].tokens, self.requests[number].flags
        if tokens.output is None or "placeholder" in flags or "several" in flags:
            return None, None
        if has_thinking and not tokens.reasoning:
            return None, None
        reasoning = tokens.reasoning or 0
        return max(tokens.output - reasoning, 0), reasoning

    def _answer(self, part: _Part) -> int:
        """Returns the number of the request that the part answers or follows; -1 before the first."""
        return bisect_right(self.seqs, part.seq) - 1

    def _end(self, seq: int) -> int:
        """Returns the number after the last request before the next compaction."""
        place = bisect_right(self.compactions, seq)
        if place == len(self.compactions):
            return len(self.seqs)
        return bisect_left(self.seqs, self.compactions[place])

    def _carried(self, part: _Part, start: int) -> tuple[int, int]:
        end = self._end(part.seq)
        if not part.live:
            end = min(end, self.dead_until[start] if start < len(self.seqs) else end)
        if start >= end:
            return 0, 0
        cached = min(self.cached_until[start + 1], end) if start + 1 < len(self.seqs) else end
        return end - start, max(cached - start - 1, 0)

    def _answer_tokens(self, part: _Part, answers: dict[int, list[_Part]]) -> tuple[int | None, int | None]:
        number = self._answer(part)
        if number < 0 or not self.known:
            return None, None
        request, others = self.requests[number], answers[number]
        output, reasoning = request.tokens.output, request.tokens.reasoning
        if output is None or "placeholder" in request.flags or part.seq > (request.last or 0):
            return None, None
        if part.part == "thinking" and reasoning is not None:
            alone = sum(one.part == "thinking" for one in others) == 1
            return (reasoning if alone else 0), reasoning
        exact = len(others) == 1 and not reasoning and "several" not in request.flags
        return (output if exact else 0), output

    def _added_tokens(self, part: _Part, start: int) -> tuple[int | None, int | None]:
        """Returns bounds for something new in the request ``start``: at most what the input has grown by."""
        if not self.known or start >= len(self.requests):
            return None, None
        may_have_images = part.part in {"attachment", "file", "command", "result"}
        limit = _BYTES_OF_CHARACTER * (part.characters or 0)
        growth = self._growth(start)
        if growth is None:
            return None, None
        return 0, growth if may_have_images else min(growth, limit)

    def _unlogged(self, parts: Sequence[_Part]) -> Iterator[ContextPart]:
        """Yields what the first request contained besides the parts before it."""
        size = self.sizes[0] if self.known else None
        if not size:
            return
        first = self.requests[0]
        logged = [part for part in parts if part.seq < self.seqs[0] and part.part not in ANSWERS]
        measured = all(part.characters is not None for part in logged)
        most = _BYTES_OF_CHARACTER * sum(part.characters or 0 for part in logged)
        cached = self.cached_until[1] - 1 if len(self.requests) > 1 else 0
        low = max(size - most, 0) if measured else 0
        counts = (low, size, len(self.requests), cached)
        yield ContextPart(self.session, None, "unlogged", "", "", None, *counts, first.turn, first.live)


def _ends(requests: Sequence[RequestUsage], is_end: Any) -> list[int]:
    """Returns, for each request, the number of the first one from there on for which ``is_end`` holds."""
    ends = [len(requests)] * (len(requests) + 1)
    for number in range(len(requests) - 1, -1, -1):
        ends[number] = number if is_end(requests[number]) else ends[number + 1]
    return ends[:-1]


class _SentRequests:
    """The parts of a session's requests: each with the number of the first request that contained it, and
    the number after the last.
    """

    def __init__(self, requests: Sequence[RequestUsage]) -> None:
        self.parts: list[tuple[SentPart, int, int]] = []
        self.shortened: set[int] = set()
        """The numbers of the requests that left out something that the one before contained."""
        fixed, messages = list[int](), list[int]()
        for number, request in enumerate(requests):
            sent = request.sent
            if sent is None:
                continue
            kept = max(sent.kept, 0)
            if messages[kept:] or (fixed and sent.fixed is not None):
                self.shortened.add(number)
            if sent.fixed is not None:
                self._end(fixed, number)
                fixed = self._begin(sent.fixed, number)
            self._end(messages[kept:], number)
            del messages[kept:]
            messages += self._begin(sent.added, number)
        self._end(fixed + messages, len(requests))

    def _begin(self, parts: Sequence[SentPart], number: int) -> list[int]:
        first = len(self.parts)
        self.parts += [(part, number, number) for part in parts]
        return [*range(first, len(self.parts))]

    def _end(self, places: Sequence[int], number: int) -> None:
        for place in places:
            part, start, _ = self.parts[place]
            self.parts[place] = part, start, number
