"""Reader of Gemini CLI's telemetry file: OpenTelemetry records, each a JSON object over many lines, without separators.

It has the calls' ends, durations and decisions, which sessions lack, but no results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from nbtools.core.errors import TraceError
from nbtools.traces.json_access import arguments, epoch_seconds, float_of, integer_of, mapping, string, text_of
from nbtools.traces.model import PREVIEW, Call, Detail, Event, EventKind, Origin, Problem, Ref, Row, Session, Tokens
from nbtools.traces.reader import Head
from nbtools.traces.readers.gemini_cli.messages import op_of, paths_of, subject_of
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


class GeminiTelemetry:
    """Reads Gemini CLI's telemetry file."""

    name = "gemini-telemetry"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        return b"gemini_cli." in head.start and (head.has("hrTime") or head.has("event.name") or head.has("scopeMetrics"))

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        readings: dict[str, _SessionReader] = {}
        for found in _objects(source):
            if isinstance(found, Problem):
                yield found
                continue
            ref, record = found
            attributes = mapping(mapping(record).get("attributes"))
            id = string(attributes.get("session.id")) or "telemetry"  # noqa: A001 - the field's name
            reading = readings.setdefault(id, _SessionReader(id, origin))
            yield from reading.record(mapping(record), attributes, ref)
        for reading in readings.values():
            yield reading.session()

    def detail(self, source: Source, call: Call) -> Detail:
        attributes = mapping(mapping(source.record(call.ref)).get("attributes"))
        call_arguments = arguments(attributes.get("function_args"))
        error = text_of(attributes.get("error")) or text_of(attributes.get("error.message"))
        return Detail(args=call_arguments, result=error, display=error, command=string(call_arguments.get("command")), extra=attributes)


class _SessionReader:
    def __init__(self, id: str, origin: Origin) -> None:  # noqa: A002 - the field's name
        self.id, self.origin = id, origin
        self.seq = self.turn = self.records = 0
        self.times: list[float] = []
        self.models: dict[str, None] = {}
        self.tokens: dict[str, int] = {}

    def record(self, record: Mapping[str, Any], attributes: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        self.records += 1
        name = string(attributes.get("event.name"))
        at = _time(record, attributes)
        if at is not None:
            self.times = [min([at, *self.times]), max([at, *self.times])]
        self.turn += name == "gemini_cli.user_prompt"
        if name == "gemini_cli.api_response":
            self._add_tokens(attributes)
        yield self._call(attributes, at, ref) if name == _CALL else self._event(record, attributes, name, at, ref)

    def _add_tokens(self, attributes: Mapping[str, Any]) -> None:
        self.models.update({string(attributes.get("model")): None} if attributes.get("model") else {})
        for recorded, name in _TOKENS.items():
            self.tokens[name] = self.tokens.get(name, 0) + (integer_of(attributes.get(recorded)) or 0)

    def _call(self, attributes: Mapping[str, Any], at: float | None, ref: Ref) -> Call:
        call_arguments = arguments(attributes.get("function_args"))
        name = string(attributes.get("function_name")) or "?"
        milliseconds = float_of(attributes.get("duration_ms"))
        duration = milliseconds / 1000 if milliseconds is not None and 0 <= milliseconds < 1e12 else None
        success = attributes.get("success")
        rejected = attributes.get("decision") == "reject"
        return Call(
            session=self.id,
            id=f"{self.records - 1}",
            seq=self._next(),
            name=name,
            op="mcp" if attributes.get("tool_type") == "mcp" else op_of(name),
            origin=self.origin,
            native_id=string(attributes.get("call_id")),
            subject=subject_of(call_arguments),
            paths=paths_of(call_arguments),
            at=at - duration if at is not None and duration is not None else None,
            ended=at,
            duration=duration,
            status="denied" if rejected else "ok" if success is True else "error" if success is False else "unknown",
            status_source="flag" if rejected or isinstance(success, bool) else "none",
            answered=isinstance(success, bool),
            permission=string(attributes.get("decision")),
            turn=self.turn,
            ref=ref,
        )

    def _event(self, record: Mapping[str, Any], attributes: Mapping[str, Any], name: str, at: float | None, ref: Ref) -> Event:
        text = string(attributes.get("prompt")) or text_of(attributes.get("error")) or text_of(record.get("body"))
        return Event(
            session=self.id,
            seq=self._next(),
            kind=_KINDS.get(name, "system"),
            text=text[:PREVIEW],
            size=len(text),
            at=at,
            model=string(attributes.get("model")),
            turn=self.turn,
            key=string(attributes.get("prompt_id")),
            type=name or string(record.get("name")),
            ref=ref,
        )

    def session(self) -> Session:
        tokens = self.tokens
        return Session(
            id=self.id,
            format="gemini-telemetry",
            agent="gemini-cli",
            models=tuple(self.models),
            started=min(self.times, default=None),
            ended=max(self.times, default=None),
            records=self.records,
            tokens=Tokens(tokens["input"] - tokens["cached"], tokens["cached"], None, tokens["output"], tokens["thoughts"])
            if tokens
            else Tokens(),
            native_tokens=tokens,
        )

    def _next(self) -> int:
        self.seq += 1
        return self.seq - 1


def _time(record: Mapping[str, Any], attributes: Mapping[str, Any]) -> float | None:
    at = epoch_seconds(attributes.get("event.timestamp"))
    if at is not None:
        return at
    parts = record.get("hrTime")
    if isinstance(parts, list) and len(parts) == 2 and all(float_of(part) is not None for part in parts):
        return epoch_seconds(parts[0] + parts[1] / 1e9)
    return None


def _objects(source: Source) -> Iterator[tuple[Ref, Any] | Problem]:
    """Yields each object: from a line that begins with its brace to one that begins with the closing brace, or one line."""
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
