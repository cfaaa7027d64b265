"""The spans and log records of an OTLP document, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.document import Opened, placed
from nbtools.traces.formats.otlp.attributes import attributes_of, value_of
from nbtools.traces.formats.otlp.meaning import TELLING, Meaning, meaning_of, tool_of
from nbtools.traces.loose import mapping, name_of, string, whole
from nbtools.traces.mending import mended
from nbtools.traces.model import Problem, Ref
from nbtools.traces.source import UNREADABLE, decoded

_NONE = msgspec.Raw(b"null")
_RESOURCE = ("service.name", "service.version", "vcs.repository.url.full", "vcs.ref.head.revision", "vcs.ref.head.name")


class _Root(msgspec.Struct):
    resourceSpans: msgspec.Raw = _NONE  # noqa: N815 - the format's names
    resourceLogs: msgspec.Raw = _NONE  # noqa: N815


class _Resource(msgspec.Struct):
    resource: msgspec.Raw = _NONE
    scopeSpans: msgspec.Raw = _NONE  # noqa: N815
    instrumentationLibrarySpans: msgspec.Raw = _NONE  # noqa: N815 - before 2022
    scopeLogs: msgspec.Raw = _NONE  # noqa: N815


class _Scope(msgspec.Struct):
    spans: msgspec.Raw = _NONE
    logRecords: msgspec.Raw = _NONE  # noqa: N815


class _Attribute(msgspec.Struct):
    key: Any = None
    value: msgspec.Raw = _NONE


class _Recorded(msgspec.Struct):
    traceId: Any = None  # noqa: N815
    spanId: Any = None  # noqa: N815
    parentSpanId: Any = None  # noqa: N815
    name: Any = None
    eventName: Any = None  # noqa: N815
    startTimeUnixNano: Any = None  # noqa: N815
    endTimeUnixNano: Any = None  # noqa: N815
    timeUnixNano: Any = None  # noqa: N815
    attributes: msgspec.Raw = _NONE


class Span(msgspec.Struct):
    """A span, or a log record (``log``), without what may be large; it stands at ``ref``."""

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


def spans_in(document: Opened[Any], within: Ref) -> Iterator[Span | Problem]:
    """Those of a document, in its order."""
    text = _valid(document.text)
    root = _as(text, _Root) if document.value is not None else None
    if root is None:
        return
    for field in (root.resourceSpans, root.resourceLogs):
        raws: list[tuple[msgspec.Raw, dict[str, Any], bool]] = []
        for group in _structs(field, _Resource):
            resource = attributes_of(mapping(_plain(group.resource)).get("attributes"))
            kept = {key: resource[key] for key in _RESOURCE if key in resource}
            scopes = (group.scopeSpans, group.instrumentationLibrarySpans, group.scopeLogs)
            for scope in (one for raw in scopes for one in _structs(raw, _Scope)):
                raws += [(raw, kept, False) for raw in _items(scope.spans)]
                raws += [(raw, kept, True) for raw in _items(scope.logRecords)]
        for (at, data), (raw, kept, log) in zip(placed(text, [raw for raw, *_ in raws]), raws, strict=True):
            if at + len(data) <= document.end:
                yield _span(raw, Ref(within.offset + at, len(data), within.line, within.file), kept, log=log)


def _span(raw: msgspec.Raw, ref: Ref, resource: dict[str, Any], *, log: bool) -> Span | Problem:
    span = _as(raw, _Recorded)
    if span is None:
        return Problem(ref, "no span")
    attributes = {}
    for one in _structs(span.attributes, _Attribute):
        if string(one.key) in TELLING or string(one.key) in {"session.id", "conversation.id", "event.name"}:
            attributes[one.key] = value_of(_plain(one.value))
    name = string(span.name) or string(span.eventName) or string(attributes.get("event.name"))
    trace = name_of(span.traceId) or string(attributes.get("session.id")) or string(attributes.get("conversation.id"))
    meaning = _log_meaning(attributes, name) if log else meaning_of(attributes, name)
    return Span(
        trace=trace,
        id=name_of(span.spanId),
        parent=name_of(span.parentSpanId),
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
    """Coding agents log a record for each call that has ended, as their documentation says; messages are records, too."""
    if name.endswith(("tool_result", "tool_call")) and ("tool_name" in attributes or "function_name" in attributes):
        return "tool"
    return "model" if name.startswith("gen_ai.") else "other"


def _seconds(nanoseconds: Any) -> float | None:
    """Seconds since the epoch; 0 is how OTLP writes that there is no time."""
    count = whole(nanoseconds)
    return count / 1e9 if count is not None and count > 0 else None


def _items(raw: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE:
        return []


def _structs(raw: msgspec.Raw, kind: type[Any]) -> Iterator[Any]:
    yield from (one for item in _items(raw) if (one := _as(item, kind)) is not None)


def _as(raw: bytes | msgspec.Raw, kind: type[Any]) -> Any:
    """The object, None where it is none."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except UNREADABLE:
        return None


def _valid(text: bytes) -> bytes:
    """The text, with as many bytes in UTF-8: what stands in strings was not looked at so far."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return mended(text)
    return text


def _plain(raw: msgspec.Raw) -> Any:
    try:
        return decoded(bytes(raw))
    except TraceError:
        return None
