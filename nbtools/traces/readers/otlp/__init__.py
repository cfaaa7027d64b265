"""Reads OpenTelemetry spans as OTLP JSON; each trace is a session.

A log is one document, or a line per export, as the collector's file exporter writes them.

Spans are written when they end, so a file is not in order. Therefore spans are first listed without their
large fields, and then read in the order of their start times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, TextPart, Usage
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import arguments, first_string, float_of, integer_of, mapping, string, text_of
from nbtools.traces.json_document import is_json_lines, open_document
from nbtools.traces.model import (
    NOWHERE,
    Call,
    Detail,
    EventKind,
    Origin,
    Problem,
    Ref,
    Row,
    Status,
    StatusSource,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.otlp.conventions import (
    arguments_of,
    attributes_of,
    call_id_of,
    decode_span,
    exception_of,
    parts_in_span,
    result_of,
)
from nbtools.traces.readers.otlp.spans import Span, line_of_spans, spans_in
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of
from nbtools.traces.source import Source

_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_TOKENS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": (
        "gen_ai.usage.output_tokens",
        "gen_ai.usage.completion_tokens",
        "llm.token_count.completion",
    ),
    "cache_read_tokens": (
        "gen_ai.usage.cache_read.input_tokens",
        "llm.token_count.prompt_details.cache_read",
    ),
    "cache_write_tokens": (
        "gen_ai.usage.cache_creation.input_tokens",
        "llm.token_count.prompt_details.cache_write",
    ),
    "reasoning_tokens": (
        "gen_ai.usage.reasoning.output_tokens",
        "llm.token_count.completion_details.reasoning",
    ),
}
_CONVERSATIONS = ("gen_ai.conversation.id", "session.id")
_FAILED = {"2", "STATUS_CODE_ERROR"}


class Otlp(Format):
    name = "otlp"

    def recognises(self, head: Head) -> bool:
        has_resource = head.has("resourceSpans") or head.has("resourceLogs")
        has_records = head.has("spanId") or head.has("logRecords")
        return head.start.lstrip()[:1] == b"{" and has_resource and has_records

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        traces: dict[str, list[Span]] = {}
        for found in _spans(source):
            if isinstance(found, Problem):
                yield found
            else:
                traces.setdefault(found.trace, []).append(found)
        log = LogBuilder(self.name, origin)
        with source.open_file(0) as opened:
            for trace, spans in traces.items():
                yield from _TraceReader(SessionBuilder(log, trace), spans, opened).rows()

    def detail(self, source: Source, call: Call) -> Detail:
        span = mapping(source.record(call.ref))
        attributes = attributes_of(span.get("attributes"))
        _, _, number = call.id.partition("/")
        answer = _result_in_message(source, call) if call.result_ref != call.ref or number else None
        if number:
            parts = (piece for _, _, piece in parts_in_span(span, attributes))
            request = next(islice(parts, integer_of(number) or 0, None), None)
            content, args = answer, arguments(request.args) if isinstance(request, CallPart) else {}
        else:
            content = result_of(span, attributes) if answer is None else answer
            args = arguments(arguments_of(attributes))
        extra = {} if number else attributes
        return detail_of(call, args, text_of(content), tuple(media_of(content)), extra)


def _result_in_message(source: Source, call: Call) -> object:
    """Returns the result of the call in a message."""
    if not call.answered:
        return None
    span = mapping(source.record(call.result_ref))
    for _, _, piece in parts_in_span(span, attributes_of(span.get("attributes"))):
        if isinstance(piece, ResultPart) and piece.id == call.native_id:
            return piece.content
    return None


def _spans(source: Source) -> Iterator[Span | Problem]:
    if not is_json_lines(source):
        text = source.read_file()
        document = open_document(text, msgspec.Raw)
        yield from document.problems
        yield from spans_in(document, Ref(0, len(text)))
        return
    for line in source.lines(line_of_spans):
        yield from (line,) if isinstance(line, Problem) else spans_in(line[1], line[0])


class _TraceReader:
    """Adds the spans of one trace, in the order of their start times."""

    def __init__(self, session: SessionBuilder, spans: Sequence[Span], file: BinaryIO) -> None:
        self.session, self.file = session, file
        self.spans = [*reversed(spans)]
        self.spans.sort(key=_sort_key)
        self.usage = Usage()
        self.parents = {span.id: span.parent for span in spans if span.id and not span.log}
        self.calls: dict[str, str] = {}
        """Call ids by span."""
        self.has_tools = any(span.meaning == "tool" for span in spans)
        self.has_models = any(span.meaning == "model" for span in spans)
        self.seen_parts: set[tuple[object, ...]] = set()
        self.agent = self.conversation = ""

    def rows(self) -> Iterator[Row]:
        for span in self.spans:
            if span.meaning == "tool":
                span.call = self.session.unique_id(span.id)
                self.calls.setdefault(span.id, span.call)
        for span in self.spans:
            self._span(span)
            yield from self.session.log.take()
        self._end()
        yield from self.session.log.take()

    def _span(self, span: Span) -> None:
        self.file.seek(span.ref.offset)
        recorded, attributes = decode_span(self.file.read(span.ref.length))
        first = self.session.log.seq + 1
        self._note(span, attributes)
        if span.meaning == "tool":
            self._tool(span, recorded, attributes)
        elif span.meaning == "model" or (span.meaning == "agent" and not self.has_models):
            self._messages(span, recorded, attributes)
        if span.meaning in {"agent", "other"}:
            failed = str(mapping(recorded.get("status")).get("code")) in _FAILED
            error = exception_of(recorded) if failed else ""
            kind: EventKind = "error" if error else "system"
            text = f"{span.name}: {error}" if error else span.name
            place: dict[str, Any] = {"type": span.meaning, "key": span.id, "parent": span.parent}
            self.session.event(kind, text, span.ref, span.start, **place)
        if span.meaning == "model":
            self._request(span, attributes, first)

    def _request(self, span: Span, attributes: Mapping[str, Any], first: int) -> None:
        used = _usage_in(attributes)
        usage = Usage()
        usage.add(used)
        if usage.native:
            self.usage.add(used)
            model = first_string(attributes, _MODELS)
            self.session.request(usage.tokens(), span.ref, first, id=span.id, model=model, at=span.start)

    def _note(self, span: Span, attributes: Mapping[str, Any]) -> None:
        self.session.see(span.start)
        self.session.see(span.end)
        self.agent = self.agent or string(attributes.get("gen_ai.agent.name"))
        self.conversation = self.conversation or first_string(attributes, _CONVERSATIONS)
        if span.meaning == "model":
            self.session.see(None, first_string(attributes, _MODELS))

    def _tool(self, span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        session, result = self.session, result_of(recorded, attributes)
        args = arguments(arguments_of(attributes))
        status, source = _status(span, recorded, attributes)
        parent = self._enclosing_call(span)
        call = session.call(
            span.call,
            span.tool,
            span.ref,
            args,
            native_id=call_id_of(attributes),
            level="nested" if parent and attributes.get("mcp.method.name") else "model",
            parent=parent,
            at=span.start,
            ended=span.end,
            duration=_duration(span, attributes),
            status=status,
            status_source=source,
            answered=result is not None,
            result_size=len(text_of(result)),
            result_ref=NOWHERE if result is None else span.ref,
        )
        if result is None and call.native_id and session.waiting(call.native_id) is None:
            session.wait(call, args)
        else:
            session.complete(call, args)

    def _messages(self, span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]) -> None:
        """Adds the new parts of a conversation: each request repeats all earlier messages."""
        session, model = self.session, first_string(attributes, _MODELS)
        for index, (message_number, is_response, piece) in enumerate(parts_in_span(recorded, attributes)):
            key = _part_key(message_number, piece)
            if key in self.seen_parts:
                continue
            self.seen_parts.add(key)
            if isinstance(piece, TextPart) or not self.has_tools:
                at = span.end if is_response else span.start
                session.part(piece, f"{span.id}/{index}", span.ref, at, model)
            elif isinstance(piece, ResultPart) and piece.id and (call := session.waiting(piece.id)):
                args, size = session.take(call), len(text_of(piece.content))
                answered = replace(call, answered=True, result_size=size, result_ref=span.ref)
                session.complete(answered, args)
        if error := exception_of(recorded):
            session.event("error", error, span.ref, span.end, "", model, span.name, span.id, span.parent)

    def _enclosing_call(self, span: Span) -> str:
        """Returns the call of the nearest enclosing tool span; a cycle of parents ends the search."""
        seen = {span.id}
        above = span.parent
        while above and above not in seen:
            if above in self.calls:
                return self.calls[above]
            seen.add(above)
            above = self.parents.get(above, "")
        return ""

    def _end(self) -> None:
        resource = next((span.resource for span in self.spans if span.resource), {})
        root = next((span for span in self.spans if span.parent not in self.parents), self.spans[0])
        self.session.end(
            agent=self.agent or string(resource.get("service.name")),
            agent_version=string(resource.get("service.version")),
            title=root.name,
            repository=string(resource.get("vcs.repository.url.full")),
            branch=string(resource.get("vcs.ref.head.name")),
            commit=string(resource.get("vcs.ref.head.revision")),
            records=len(self.spans),
            native_tokens=dict(self.usage.native),
            counts={"conversation": self.conversation} if self.conversation else {},
            ref=root.ref,
        )


def _usage_in(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: next((attributes[key] for key in keys if key in attributes), None)
        for name, keys in _TOKENS.items()
    }


def _sort_key(span: Span) -> tuple[float, float]:
    """Sort key of a span. An enclosing span may start at the same time but ends later and is written later:
    such spans sort first.
    """
    return math.inf if span.start is None else span.start, -math.inf if span.end is None else -span.end


def _part_key(message_number: int, piece: MessagePart) -> tuple[object, ...]:
    """Returns the identity of a part: calls and results by id, text by its place in the conversation."""
    if isinstance(piece, TextPart):
        return (message_number, piece.role, piece.kind, piece.text)
    if isinstance(piece, CallPart):
        return ("asked", piece.id) if piece.id else (message_number, piece.name, text_of(piece.args))
    return ("answered", piece.id) if piece.id else (message_number, text_of(piece.content))


def _status(
    span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]
) -> tuple[Status, StatusSource]:
    """Returns status and source. By convention a failed span says so; one without an end has not finished."""
    success = attributes.get("success")
    failed = str(mapping(recorded.get("status")).get("code")) in _FAILED
    if failed or attributes.get("error.type") or success in (False, "false"):
        return "error", "flag"
    return ("unanswered", "none") if span.end is None and not span.log else ("ok", "flag")


def _duration(span: Span, attributes: Mapping[str, Any]) -> float | None:
    if (found := duration_of(span.start, span.end)) is not None:
        return found
    duration = attributes.get("duration_ms")
    milliseconds = float_of(duration) if not isinstance(duration, str) else integer_of(duration)
    return None if milliseconds is None else milliseconds / 1000
