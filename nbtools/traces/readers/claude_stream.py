"""Reads the output of ``claude -p --output-format stream-json``, as CI logs keep it.

Also reads the same messages as a JSON array: ``claude -p --output-format json --verbose``, and the file that
Claude Code's GitHub action writes. The messages have no times and no parents.

Messages with ``parent_tool_use_id`` repeat what sub-agents do, so their calls are nested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from nbtools.traces.json_access import counts_in, mapping, string
from nbtools.traces.json_document import decode_items, open_document
from nbtools.traces.model import Call, Detail, Origin, Problem, Ref, RequestUsage, Row, Session, Tokens
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.claude_code.calls import ERROR_STATUSES
from nbtools.traces.readers.claude_code.detail import detail_of
from nbtools.traces.readers.claude_code.records import (
    Echo,
    Line,
    Message,
    Outcome,
    Progress,
    decode_leniently,
)
from nbtools.traces.readers.claude_code.row_builder import RowBuilder
from nbtools.traces.session_builder import LogBuilder
from nbtools.traces.source import Source
from nbtools.traces.usage.requests import TOKEN_KINDS, difference_of, tokens_between

T = TypeVar("T")


class _StreamMessage(msgspec.Struct, gc=False):
    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    uuid: str | None = None
    parent_tool_use_id: str | None = None
    message: Message | None = None
    tool_use_result: Outcome | str | list[msgspec.Raw] | None = None
    cwd: str | None = None
    claude_code_version: str | None = None
    result: Any = None
    total_cost_usd: float | None = None
    modelUsage: Any = None  # noqa: N815 - as written
    num_turns: int | None = None


class _Array(Source):
    """A source whose lines are the items of a JSON array."""

    def lines(
        self, decode: Callable[[bytes], T], file: int = 0, *, offset: int = 0, after: int = 0
    ) -> Iterator[tuple[Ref, T] | Problem]:
        document = open_document(self.read_file(file), list[msgspec.Raw], file)
        yield from document.problems
        yield from decode_items(document, document.value or [], Ref(0, 0, 0, file), decode)


_FIRST = {"init", "hook_started", "hook_response"}
"""Subtypes of the first message; hooks may run before the session begins."""
_decode_message = msgspec.json.Decoder(_StreamMessage).decode


class ClaudeStream(Format):
    name = "claude-stream-json"
    error_statuses = ERROR_STATUSES

    def recognises(self, head: Head) -> bool:
        if not head.has("subtype", "session_id"):
            return False
        first = head.first_object
        begins = first.get("type") == "system" and string(first.get("subtype")) in _FIRST
        return begins and "session_id" in first and "parentUuid" not in first

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        if source.first_character() == b"[":
            source = _Array(source.path, recover=source.recover)
        ends: dict[str | None, _StreamMessage] = {}

        def decode(data: bytes) -> Line:
            message = decode_leniently(data, _decode_message, _StreamMessage)
            if message.type == "result":
                ends[message.session_id] = message
            return _as_record(message)

        requests: dict[str, list[RequestUsage]] = {}
        for row in RowBuilder(source, LogBuilder(self.name, origin), decode, ""):
            if not isinstance(row, Session):
                if isinstance(row, RequestUsage):
                    requests.setdefault(row.session, []).append(row)
                yield row
            elif row.records:
                yield from _with_totals(row, ends.get(row.id, _StreamMessage()), requests.get(row.id, []))

    def detail(self, source: Source, call: Call) -> Detail:
        return detail_of(source, call)


def _with_totals(row: Session, end: _StreamMessage, requests: list[RequestUsage]) -> Iterator[Row]:
    """Yields the session with the totals of its last message.
    The requests have the counts from the start of each answer.
    """
    counts = {**row.counts, "exit_status": end.subtype, "api_turns": end.num_turns}
    rest = Tokens()
    if total := _total(end.modelUsage):
        tokens = Tokens(**total)
        rest, difference = tokens_between(row.tokens, tokens), difference_of(requests, tokens)
        flags = dict.fromkeys(flag for flag in row.flags if flag != "tokens_placeholder")
        if difference:
            counts["tokens_differ"], flags["tokens_differ"] = difference, None
        row = replace(row, tokens=tokens, native_tokens={**row.native_tokens, **total}, flags=tuple(flags))
    if end.total_cost_usd is not None or any(getattr(rest, kind) for kind in TOKEN_KINDS):
        yield RequestUsage(row.id, scope="rest", tokens=rest, cost=end.total_cost_usd)
    yield replace(row, cost=end.total_cost_usd, counts=counts)


_USAGE = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cacheCreationInputTokens": "cache_write",
    "cacheReadInputTokens": "cache_read",
}


def _total(usage: Any) -> dict[str, int]:
    """Returns the run's token usage over all models, sub-agents included."""
    total: Counter[str] = Counter()
    for one in mapping(usage).values():
        total.update(counts_in(mapping(one), _USAGE))
    return dict(total)


def _as_record(message: _StreamMessage) -> Line:
    """Converts a message to the record that a session's log would have."""
    line = Line(
        type="progress" if message.type == "stream_event" else message.type,
        uuid=message.uuid,
        session_id=message.session_id,
        subtype=message.subtype,
        cwd=message.cwd,
        version=message.claude_code_version,
        message=message.message,
        tool_use_result=message.tool_use_result,
        content=message.result,
    )
    if message.parent_tool_use_id and message.message is not None:
        line.type, line.message = "progress", None
        line.parent_tool_use_id = message.parent_tool_use_id
        line.data = Progress("agent_progress", message=Echo(message.type, message.message))
    return line
