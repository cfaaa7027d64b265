"""Lists the spans and log records of an OTLP document."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.json_access import first_string, id_text, integer_of, mapping, string
from nbtools.traces.json_document import NULL, JsonDocument, decode_line, locate_items, raw_items
from nbtools.traces.model import Problem, Ref
from nbtools.traces.readers.otlp.conventions import (
    IDENTIFYING_ATTRIBUTES,
    Meaning,
    attributes_of,
    meaning_of,
    tool_of,
    value_of,
)
from nbtools.traces.source import DECODE_ERRORS, decode_json, repair_json

_IDENTIFYING = frozenset({*IDENTIFYING_ATTRIBUTES, "session.id", "conversation.id", "event.name"})
_RESOURCE = (
    "service.name",
    "service.version",
    "vcs.repository.url.full",
    "vcs.ref.head.revision",
    "vcs.ref.head.name",
)


class _Root(msgspec.Struct):
    resourceSpans: msgspec.Raw = NULL  # noqa: N815 - the format's names
    resourceLogs: msgspec.Raw = NULL  # noqa: N815


class _Resource(msgspec.Struct):
    resource: msgspec.Raw = NULL
    scopeSpans: msgspec.Raw = NULL  # noqa: N815
    instrumentationLibrarySpans: msgspec.Raw = NULL  # noqa: N815 - before 2022
    scopeLogs: msgspec.Raw = NULL  # noqa: N815


class _Scope(msgspec.Struct):
    spans: msgspec.Raw = NULL
    logRecords: msgspec.Raw = NULL  # noqa: N815


class _ScopeOfSpans(msgspec.Struct):
    spans: list[msgspec.Raw] = []


class _ResourceOfSpans(msgspec.Struct):
    scopeSpans: list[_ScopeOfSpans]  # noqa: N815
    resource: msgspec.Raw = NULL


class _Spans(msgspec.Struct, forbid_unknown_fields=True):
    """The shape of nearly every document, which is decoded at once."""

    resourceSpans: list[_ResourceOfSpans]  # noqa: N815


class _Attribute(msgspec.Struct):
    key: Any = None
    value: msgspec.Raw = NULL


class _Record(msgspec.Struct):
    traceId: Any = None  # noqa: N815
    spanId: Any = None  # noqa: N815
    parentSpanId: Any = None  # noqa: N815
    name: Any = None
    eventName: Any = None  # noqa: N815
    startTimeUnixNano: Any = None  # noqa: N815
    endTimeUnixNano: Any = None  # noqa: N815
    timeUnixNano: Any = None  # noqa: N815
    attributes: msgspec.Raw = NULL


class _FullRecord(_Record):
    attributes: list[_Attribute] = []  # type: ignore[assignment]


_SPANS = msgspec.json.Decoder(_Spans).decode
_RECORD = msgspec.json.Decoder(_FullRecord).decode


class Span(msgspec.Struct):
    """A span, or a log record (``log``), without the fields that may be large; ``ref`` is its position."""

    trace: str
    id: str
    parent: str
    name: str
    meaning: Meaning
    start: float | None
    end: float | None
    tool: str
    ref: Ref
    resource: dict[str, Any]
    log: bool = False
    call: str = ""


def spans_in(document: JsonDocument[Any], within: Ref) -> Iterator[Span | Problem]:
    """Yields the spans and log records of a document in order."""
    text = _valid_utf8(document.text)
    for raws in _records(text, document) if document.value is not None else ():
        located = locate_items(text, [raw for raw, *_ in raws])
        for (at, data), (_, resource, log) in zip(located, raws, strict=True):
            if at + len(data) <= document.end:
                ref = Ref(within.offset + at, len(data), within.line, within.file)
                yield _span(data, ref, resource, log=log)


_Records: TypeAlias = list[tuple[msgspec.Raw, dict[str, Any], bool]]
"""Records with the fields of their resource; True: a log record."""


def line_of_spans(line: bytes) -> JsonDocument[Any]:
    """Decodes a line that is a document, for ``Source.lines``, as far as ``spans_in`` needs it."""
    try:
        return JsonDocument(_SPANS(line), line, len(line))
    except DECODE_ERRORS:
        return decode_line(line)


def _records(text: bytes, document: JsonDocument[Any]) -> Iterator[_Records]:
    """Yields the spans and the log records, each in order."""
    try:
        spans = document.value
        if not isinstance(spans, _Spans) or text is not document.text:
            spans = _SPANS(text)
    except DECODE_ERRORS:
        yield from _records_of_any_shape(text)
        return
    raws: _Records = []
    for group in spans.resourceSpans:
        fields = _resource_fields(bytes(group.resource))
        raws += [(raw, fields, False) for scope in group.scopeSpans for raw in scope.spans]
    yield raws


def _records_of_any_shape(text: bytes) -> Iterator[_Records]:
    root = _decode_as(text, _Root)
    for field in (root.resourceSpans, root.resourceLogs) if root is not None else ():
        raws: _Records = []
        for group in _structs(field, _Resource):
            fields = _resource_fields(bytes(group.resource))
            scopes = (group.scopeSpans, group.instrumentationLibrarySpans, group.scopeLogs)
            for scope in (one for raw in scopes for one in _structs(raw, _Scope)):
                raws += [(raw, fields, False) for raw in raw_items(scope.spans)]
                raws += [(raw, fields, True) for raw in raw_items(scope.logRecords)]
        yield raws


@lru_cache(16)
def _resource_fields(data: bytes) -> dict[str, Any]:
    """Returns the fields of a resource; most spans of a log are of the same one."""
    resource = attributes_of(mapping(_decode_raw(data)).get("attributes"))
    return {key: resource[key] for key in _RESOURCE if key in resource}


def _decode_record(data: bytes) -> tuple[_Record | None, Iterable[_Attribute]]:
    """Returns the record without its attributes, and its attributes with undecoded values."""
    try:
        record = _RECORD(data)
    except DECODE_ERRORS:
        span = _decode_as(data, _Record)
        return span, () if span is None else _structs(span.attributes, _Attribute)
    return record, record.attributes


def _span(data: bytes, ref: Ref, resource: dict[str, Any], *, log: bool) -> Span | Problem:
    span, recorded = _decode_record(data)
    if span is None:
        return Problem(ref, "This record is not a span.")
    attributes = {
        one.key: value_of(_decode_raw(one.value))
        for one in recorded
        if isinstance(one.key, str) and one.key in _IDENTIFYING
    }
    name = string(span.name) or string(span.eventName) or string(attributes.get("event.name"))
    trace = id_text(span.traceId) or first_string(attributes, ("session.id", "conversation.id"))
    meaning = _log_meaning(attributes, name) if log else meaning_of(attributes, name)
    return Span(
        trace=trace,
        id=id_text(span.spanId),
        parent=id_text(span.parentSpanId),
        name=name,
        meaning=meaning,
        start=_seconds(span.timeUnixNano if log else span.startTimeUnixNano),
        end=_seconds(span.endTimeUnixNano),
        tool=tool_of(attributes, name) if meaning == "tool" else "",
        ref=ref,
        resource=resource,
        log=log,
    )


def _log_meaning(attributes: dict[str, Any], name: str) -> Meaning:
    """Returns the meaning of a log record. Coding agents log finished calls and messages."""
    names_tool = "tool_name" in attributes or "function_name" in attributes
    if names_tool and name.endswith(("tool_result", "tool_call")):
        return "tool"
    return "model" if name.startswith("gen_ai.") else "other"


def _seconds(nanoseconds: Any) -> float | None:
    """Converts nanoseconds to seconds since the epoch; OTLP writes 0 where there is no time."""
    count = integer_of(nanoseconds)
    return count / 1e9 if count is not None and count > 0 else None


def _structs(raw: msgspec.Raw, kind: type[Any]) -> Iterator[Any]:
    yield from (one for item in raw_items(raw) if (one := _decode_as(item, kind)) is not None)


def _decode_as(raw: bytes | msgspec.Raw, kind: type[Any]) -> Any:
    """Decodes an object as ``kind``; None where that is not possible."""
    try:
        return decoder_of(kind).decode(raw)
    except DECODE_ERRORS:
        return None


def _valid_utf8(text: bytes) -> bytes:
    """Returns the text as valid UTF-8 of the same length, because strings were not checked before."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return repair_json(text)
    return text


def _decode_raw(raw: bytes | msgspec.Raw) -> Any:
    try:
        return decode_json(bytes(raw))
    except TraceError:
        return None
