"""Builds the rows of one OpenTelemetry trace from its spans, in the order of their start times."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from nbtools.core.errors import TraceError
from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, TextPart, Usage
from nbtools.traces.display_builders import changes_of
from nbtools.traces.json_access import arguments, float_of, integer_of, mapping, string, text_of
from nbtools.traces.model import NOWHERE, Call, EventKind, Origin, Ref, Row, Session, Status
from nbtools.traces.readers.otlp.attributes import attributes_of
from nbtools.traces.readers.otlp.conventions import arguments_of, call_id_of, exception_of, parts_in_span, result_of
from nbtools.traces.readers.otlp.spans import Span
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import Source

_MODELS = ("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.model.id")
_TOKENS = {
    "input_tokens": ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt"),
    "output_tokens": ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion"),
    "cache_read_tokens": ("gen_ai.usage.cache_read.input_tokens", "llm.token_count.prompt_details.cache_read"),
    "cache_write_tokens": ("gen_ai.usage.cache_creation.input_tokens", "llm.token_count.prompt_details.cache_write"),
    "reasoning_tokens": ("gen_ai.usage.reasoning.output_tokens", "llm.token_count.completion_details.reasoning"),
}
_FAILED = {"2", "STATUS_CODE_ERROR"}


class TraceBuilder:
    def __init__(self, trace: str, spans: Sequence[Span], source: Source, origin: Origin, first: int = 0) -> None:
        self.spans = [*spans]
        self.spans.reverse()
        self.spans.sort(key=_sort_key)
        self.source = source
        self.timeline = SessionBuilder(trace, origin, first)
        self.usage = Usage()
        self.parents = {span.id: span.parent for span in spans if span.id and not span.log}
        self.calls: dict[str, str] = {}
        """Call ids by span."""
        self.ids: set[str] = set()
        self.has_tools = any(span.meaning == "tool" for span in spans)
        self.has_models = any(span.meaning == "model" for span in spans)
        self.waiting: dict[str, Call] = {}
        """Calls whose span has no result, which a message may contain."""
        self.seen_parts: set[tuple[object, ...]] = set()
        self.agent = self.conversation = ""

    def rows(self) -> Iterator[Row]:
        for span in self.spans:
            if span.meaning == "tool":
                span.call = self._unique_id(span.id)
                self.calls.setdefault(span.id, span.call)
        for span in self.spans:
            recorded = self._record(span.ref)
            attributes = attributes_of(recorded.get("attributes"))
            self._note(span, attributes)
            if span.meaning == "tool":
                yield from self._tool(span, recorded, attributes)
            elif span.meaning == "model" or (span.meaning == "agent" and not self.has_models):
                yield from self._messages(span, recorded, attributes)
            if span.meaning in {"agent", "other"}:
                yield self._other(span, recorded)
        yield from self.waiting.values()
        yield from self.timeline.unanswered_calls()
        yield self._session()

    def _record(self, ref: Ref) -> Mapping[str, Any]:
        try:
            return mapping(self.source.record(ref))
        except TraceError:
            return {}

    def _note(self, span: Span, attributes: Mapping[str, Any]) -> None:
        self.timeline.note_time_and_model(span.start)
        self.timeline.note_time_and_model(span.end)
        self.agent = self.agent or string(attributes.get("gen_ai.agent.name"))
        self.conversation = self.conversation or string(attributes.get("gen_ai.conversation.id")) or string(attributes.get("session.id"))
        if span.meaning == "model":
            self.timeline.note_time_and_model(None, _first(attributes, _MODELS))
            self.usage.add({name: next((attributes[key] for key in keys if key in attributes), None) for name, keys in _TOKENS.items()})

    def _tool(self, span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[Row]:
        args, result = arguments(arguments_of(attributes)), result_of(recorded, attributes)
        status, source = _status(span, recorded, attributes)
        parent = self._enclosing_call(span)
        call = self.timeline.call(
            span.call,
            span.tool,
            args,
            span.ref,
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
        if result is None and call.native_id and call.native_id not in self.waiting:
            self.waiting[call.native_id] = call
            return
        yield call
        yield from changes_of(call, args)

    def _messages(self, span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]) -> Iterator[Row]:
        """Yields the new parts of a conversation: each request repeats all earlier messages."""
        model = _first(attributes, _MODELS)
        for index, (message_number, is_response, piece) in enumerate(parts_in_span(recorded)):
            key = _part_key(message_number, piece)
            if key in self.seen_parts:
                continue
            self.seen_parts.add(key)
            at = span.end if is_response else span.start
            if isinstance(piece, TextPart) or not self.has_tools:
                yield from self.timeline.add_part(piece, f"{span.id}/{index}", span.ref, at, model)
            elif isinstance(piece, ResultPart):
                yield from self._with_result(piece, span)
        if error := exception_of(recorded):
            yield self.timeline.event("error", error, span.ref, at=span.end, model=model, type=span.name, key=span.id, parent=span.parent)

    def _with_result(self, piece: ResultPart, span: Span) -> Iterator[Row]:
        call = self.waiting.pop(piece.id, None)
        if call is None:
            return
        call = replace(call, answered=True, result_size=len(text_of(piece.content)), result_ref=span.ref)
        yield call
        yield from changes_of(call, arguments(arguments_of(attributes_of(self._record(call.ref).get("attributes")))))

    def _other(self, span: Span, recorded: Mapping[str, Any]) -> Row:
        error = exception_of(recorded) if str(mapping(recorded.get("status")).get("code")) in _FAILED else ""
        text = f"{span.name}: {error}" if error else span.name
        kind: EventKind = "error" if error else "system"
        return self.timeline.event(kind, text, span.ref, at=span.start, type=span.meaning, key=span.id, parent=span.parent)

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

    def _unique_id(self, name: str) -> str:
        count, unique_id = 1, name or "?"
        while unique_id in self.ids:
            count += 1
            unique_id = f"{name}#{count}"
        self.ids.add(unique_id)
        return unique_id

    def _session(self) -> Session:
        resource = next((span.resource for span in self.spans if span.resource), {})
        root = next((span for span in self.spans if span.parent not in self.parents), self.spans[0])
        return Session(
            id=self.timeline.session,
            format="otlp",
            agent=self.agent or string(resource.get("service.name")),
            agent_version=string(resource.get("service.version")),
            title=root.name,
            repository=string(resource.get("vcs.repository.url.full")),
            branch=string(resource.get("vcs.ref.head.name")),
            commit=string(resource.get("vcs.ref.head.revision")),
            models=tuple(self.timeline.models),
            started=min(self.timeline.times, default=None),
            ended=max(self.timeline.times, default=None),
            records=len(self.spans),
            tokens=self.usage.tokens(),
            native_tokens=dict(self.usage.native),
            counts={"conversation": self.conversation} if self.conversation else {},
            ref=root.ref,
        )


def _sort_key(span: Span) -> tuple[float, float]:
    """Sort key of a span. An enclosing span may start at the same time but ends later and is written later: such spans sort first."""
    return math.inf if span.start is None else span.start, -math.inf if span.end is None else -span.end


def _part_key(message_number: int, piece: MessagePart) -> tuple[object, ...]:
    """Returns the identity of a message part: calls and results by id, text by its place in the conversation."""
    if isinstance(piece, TextPart):
        return (message_number, piece.role, piece.kind, piece.text)
    if isinstance(piece, CallPart):
        return ("asked", piece.id) if piece.id else (message_number, piece.name, text_of(piece.args))
    return ("answered", piece.id) if piece.id else (message_number, text_of(piece.content))


def _status(span: Span, recorded: Mapping[str, Any], attributes: Mapping[str, Any]) -> tuple[Status, Any]:
    """Returns status and source. By convention a failed span records it; a span without an end has not finished."""
    success = attributes.get("success")
    failed = str(mapping(recorded.get("status")).get("code")) in _FAILED
    if failed or attributes.get("error.type") or success in (False, "false"):
        return "error", "flag"
    return ("unanswered", "none") if span.end is None and not span.log else ("ok", "flag")


def _duration(span: Span, attributes: Mapping[str, Any]) -> float | None:
    if span.start is not None and span.end is not None and span.end >= span.start:
        return span.end - span.start
    duration = attributes.get("duration_ms")
    milliseconds = float_of(duration) if not isinstance(duration, str) else integer_of(duration)
    return None if milliseconds is None else milliseconds / 1000


def _first(attributes: Mapping[str, Any], keys: Sequence[str]) -> str:
    return next((text for key in keys if (text := string(attributes.get(key)))), "")
