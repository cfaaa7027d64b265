"""Reads OpenTelemetry spans as OTLP JSON; each trace is a session.

A log is one document, or a line per export, as the collector's file exporter writes them.

Spans are written when they end, so a file is not in order. Therefore spans are first listed without their large fields, and then read in
the order of their start times.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from nbtools.traces.conversation import CallPart, ResultPart
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import arguments, mapping, text_of
from nbtools.traces.json_document import decode_line, is_json_lines, open_document
from nbtools.traces.model import Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Head
from nbtools.traces.readers.otlp.attributes import attributes_of
from nbtools.traces.readers.otlp.conventions import arguments_of, parts_in_span, result_of
from nbtools.traces.readers.otlp.session import TraceBuilder
from nbtools.traces.readers.otlp.spans import Span, spans_in
from nbtools.traces.source import Source


class Otlp:
    name = "otlp"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        start = head.start.lstrip()[:1] == b"{"
        return start and (head.has("resourceSpans") or head.has("resourceLogs")) and (head.has("spanId") or head.has("logRecords"))

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        traces: dict[str, list[Span]] = {}
        for found in _spans(source):
            if isinstance(found, Problem):
                yield found
            else:
                traces.setdefault(found.trace, []).append(found)
        first = 0
        for trace, spans in traces.items():
            builder = TraceBuilder(trace, spans, source, origin, first)
            yield from builder.rows()
            first = builder.timeline.seq

    def detail(self, source: Source, call: Call) -> Detail:
        span = mapping(source.record(call.ref))
        attributes = attributes_of(span.get("attributes"))
        _, _, number = call.id.partition("/")
        answer = _result_in_message(source, call) if call.result_ref != call.ref or number else None
        if number:
            request = next((piece for index, (_, _, piece) in enumerate(parts_in_span(span)) if str(index) == number), None)
            content, args = answer, arguments(request.args) if isinstance(request, CallPart) else {}
        else:
            content = result_of(span, attributes) if answer is None else answer
            args = arguments(arguments_of(attributes))
        return detail_of(call, args, text_of(content), tuple(media_of(content)), extra={} if number else attributes)


def _result_in_message(source: Source, call: Call) -> object:
    """Returns the result of the call in a message."""
    if not call.answered:
        return None
    message_parts = (piece for _, _, piece in parts_in_span(mapping(source.record(call.result_ref))))
    return next((piece.content for piece in message_parts if isinstance(piece, ResultPart) and piece.id == call.native_id), None)


def _spans(source: Source) -> Iterator[Span | Problem]:
    if not is_json_lines(source):
        text = source.read_file()
        document = open_document(text, msgspec.Raw)
        yield from document.problems
        yield from spans_in(document, Ref(0, len(text)))
        return
    for line in source.lines(decode_line):
        yield from (line,) if isinstance(line, Problem) else spans_in(line[1], line[0])
