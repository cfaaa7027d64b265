"""Reader of Gemini CLI's telemetry file:
OpenTelemetry records, each a JSON object over many lines, without separators.

It has the calls' ends, durations and decisions, which sessions lack, but no results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.json_access import (
    arguments,
    epoch_seconds,
    float_of,
    integer_of,
    mapping,
    string,
    text_of,
)
from nbtools.traces.model import Call, Detail, EventKind, Origin, Problem, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.gemini_cli.messages import op_of, paths_of, subject_of, tokens_of_native
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, status_of_flag
from nbtools.traces.source import Source, decode_json

_KINDS: dict[str, EventKind] = {
    "gemini_cli.user_prompt": "user",
    "gemini_cli.api_error": "error",
    "gemini_cli.api_response": "progress",
    "gemini_cli.api_request": "progress",
    "gemini_cli.chat_compression": "compaction",
}
_CALL = "gemini_cli.tool_call"
_TOKENS = {
    "input_token_count": "input",
    "output_token_count": "output",
    "cached_content_token_count": "cached",
    "thoughts_token_count": "thoughts",
    "tool_token_count": "tool",
    "total_token_count": "total",
}


class GeminiTelemetry(Format):
    """Reads Gemini CLI's telemetry file."""

    name = "gemini-telemetry"

    def recognises(self, head: Head) -> bool:
        return b"gemini_cli." in head.start and (
            head.has("hrTime") or head.has("event.name") or head.has("scopeMetrics")
        )

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        readings: dict[str, _SessionReader] = {}

        def add(record: dict[str, Any], ref: Ref) -> None:
            attributes = mapping(record.get("attributes"))
            name = string(attributes.get("session.id")) or "telemetry"
            if name not in readings:
                readings[name] = _SessionReader(SessionBuilder(log, name))
            readings[name].record(record, attributes, ref)

        yield from log.read(_objects(source), add)
        for reading in readings.values():
            reading.session.end(agent="gemini-cli")
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        attributes = mapping(mapping(source.record(call.ref)).get("attributes"))
        call_arguments = arguments(attributes.get("function_args"))
        error = text_of(attributes.get("error")) or text_of(attributes.get("error.message"))
        return Detail(
            args=call_arguments,
            result=error,
            display=error,
            command=string(call_arguments.get("command")),
            extra=attributes,
        )


class _SessionReader:
    def __init__(self, session: SessionBuilder) -> None:
        self.session = session

    def record(self, record: Mapping[str, Any], attributes: Mapping[str, Any], ref: Ref) -> None:
        session, model = self.session, string(attributes.get("model"))
        name = string(attributes.get("event.name"))
        session.records += 1
        at, answers = _time(record, attributes), name == "gemini_cli.api_response"
        session.see(at, model if answers else "")
        if answers:
            used = {kind: integer_of(attributes.get(recorded)) or 0 for recorded, kind in _TOKENS.items()}
            session.spend(used)
            key = string(attributes.get("response_id"))
            session.request(tokens_of_native(used), ref, id=key, model=model, at=at)
        if name == _CALL:
            self._call(attributes, at, ref)
            return
        text = string(attributes.get("prompt")) or text_of(attributes.get("error"))
        text = text or text_of(record.get("body"))
        event, type_ = _KINDS.get(name, "system"), name or string(record.get("name"))
        key = string(attributes.get("prompt_id"))
        session.message(event, text, ref, at, model=model, type=type_, key=key)

    def _call(self, attributes: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        call_arguments = arguments(attributes.get("function_args"))
        name = string(attributes.get("function_name")) or "?"
        milliseconds = float_of(attributes.get("duration_ms"))
        duration = milliseconds / 1000 if milliseconds is not None and 0 <= milliseconds < 1e12 else None
        success = attributes.get("success")
        status, source = status_of_flag(not success if isinstance(success, bool) else None)
        if attributes.get("decision") == "reject":
            status, source = "denied", "flag"
        self.session.add(
            self.session.call(
                f"{self.session.records - 1}",
                name,
                ref,
                op="mcp" if attributes.get("tool_type") == "mcp" else op_of(name),
                native_id=string(attributes.get("call_id")),
                subject=subject_of(call_arguments),
                paths=paths_of(call_arguments),
                at=at - duration if at is not None and duration is not None else None,
                ended=at,
                duration=duration,
                status=status,
                status_source=source,
                answered=isinstance(success, bool),
                permission=string(attributes.get("decision")),
            )
        )


def _time(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> float | None:
    at = epoch_seconds(attributes.get("event.timestamp"))
    if at is not None:
        return at
    parts = record.get("hrTime")
    if isinstance(parts, list) and len(parts) == 2 and all(float_of(part) is not None for part in parts):
        return epoch_seconds(parts[0] + parts[1] / 1e9)
    return None


def _objects(source: Source) -> Iterator[tuple[Ref, Any] | Problem]:
    """Yields each object: from a line with its brace to one with the closing brace, or one line."""
    lines: list[bytes] = []
    start, first = 0, 0
    for item in source.lines(bytes):
        if isinstance(item, Problem):
            continue
        ref, line = item
        if line[:1] == b"{" and lines:
            yield _object(lines, start, first)
            lines = []
        if not lines:
            if not line.strip():
                continue
            start, first = ref.offset, ref.line
        lines.append(line)
        if line[:1] == b"}" or (line[:1] == b"{" and line.rstrip()[-1:] == b"}"):
            yield _object(lines, start, first)
            lines = []
    if lines:
        yield _object(lines, start, first)


def _object(lines: list[bytes], start: int, first: int) -> tuple[Ref, Any] | Problem:
    data = b"".join(lines)
    ref = Ref(start, len(data), first)
    try:
        value = decode_json(data)
    except TraceError as error:
        return Problem(ref, str(error))
    return (ref, value) if isinstance(value, dict) else Problem(ref, "not a JSON object")
