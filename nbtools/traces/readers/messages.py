"""Reads conversations in the formats of APIs and frameworks.

Supports Anthropic Messages, OpenAI chat and Responses, Gemini contents, and pydantic-ai histories.

A log is a list of messages, an object that contains one (a request, a response, or both), or lines of either.
Lines that are messages form one session; lines that contain conversations are a session each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from nbtools.core.decoders import decoder_of
from nbtools.traces.conversation import CallPart, MessagePart, ResultPart, Usage, is_message, parts_of_message
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import arguments, epoch_seconds, id_text, mapping, mappings, string, text_of
from nbtools.traces.json_document import (
    NULL,
    JsonDocument,
    decode_items,
    decode_line,
    is_json_lines,
    only_line,
    open_document,
)
from nbtools.traces.line_reading import LineReading
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, call_number
from nbtools.traces.source import DECODE_ERRORS, Source

_INPUT_FIELDS = ("system", "instructions", "messages", "contents", "history", "input")
_OUTPUT_FIELDS = ("output", "choices", "candidates")
_WRAPPER_FIELDS = ("request", "body", "response")
_TIMES = ("timestamp", "created_at", "created")
_SAMPLED_MESSAGES = 20
"""Number of messages by which a list is recognised as a conversation."""


class _Holder(msgspec.Struct):
    """An object that may contain a conversation; each field is used by one API or another."""

    system: msgspec.Raw = NULL
    instructions: msgspec.Raw = NULL
    messages: msgspec.Raw = NULL
    contents: msgspec.Raw = NULL
    history: msgspec.Raw = NULL
    input: msgspec.Raw = NULL
    output: msgspec.Raw = NULL
    choices: msgspec.Raw = NULL
    candidates: msgspec.Raw = NULL
    request: msgspec.Raw = NULL
    body: msgspec.Raw = NULL
    response: msgspec.Raw = NULL
    model: Any = None
    usage: Any = None
    role: Any = None
    id: Any = None
    session_id: Any = None
    conversation_id: Any = None
    kind: Any = None
    type: Any = None


class Messages(Format):
    name = "messages"

    def recognises(self, head: Head) -> bool:
        if head.first is not None:
            return _contains_messages(head.first)
        if beginning := open_document(head.start, Any).value:
            return _contains_messages(beginning)
        has_messages = head.has("role", "content") or head.has("parts") or head.has("type", "call_id")
        return has_messages and (
            head.start.lstrip()[:1] == b"[" or any(map(head.has, (*_INPUT_FIELDS[2:], *_OUTPUT_FIELDS)))
        )

    def begin(self, source: Source, origin: Origin) -> LineReading | None:
        if only_line(source) or not is_json_lines(source):
            return None
        reading = _MessagesReader(LogBuilder(self.name, origin), source)
        return LineReading(reading.log.rows, decode_line, reading.document, reading.end)

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        if lines := self.begin(source, origin):
            yield from lines.read(source)
            return
        reading = _MessagesReader(LogBuilder(self.name, origin), source)
        if line := only_line(source):
            document = open_document(line, msgspec.Raw)
            reading.document(document, Ref(0, len(line), 0 if document.problems else 1))
        else:
            text = source.read_file()
            reading.document(open_document(text, msgspec.Raw), Ref(0, len(text)))
        reading.end()
        yield from reading.log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        return message_detail(
            call, source.record(call.ref), source.record(call.result_ref) if call.answered else None
        )


def message_detail(call: Call, message: Any, answer: Any) -> Detail:
    """Returns the detail of a call in ``message`` whose result is in ``answer``.

    The result is found by the call's id, or without one by the position among the calls of the same name.
    """
    message_parts = list(parts_of_message(message))
    number = call_number(call)
    call_part = message_parts[number] if number < len(message_parts) else None
    result_parts = parts_of_message(answer) if call.answered else iter(())
    answers = [one for one in result_parts if isinstance(one, ResultPart) and one.id == call.native_id]
    content = _result_of_call(message_parts, number, answers)
    args = arguments(call_part.args) if isinstance(call_part, CallPart) else {}
    return detail_of(call, args, text_of(content), tuple(media_of(content)))


def _result_of_call(message_parts: Sequence[MessagePart], number: int, answers: Sequence[ResultPart]) -> Any:
    """Returns the result of the call that is part ``number``.
    Without ids, results come in the order of the calls with the same name.
    """
    call_part = message_parts[number] if number < len(message_parts) else None
    if not isinstance(call_part, CallPart) or not answers or call_part.id:
        return answers[0].content if answers else None
    before = sum(
        isinstance(one, CallPart) and not one.id and one.name == call_part.name
        for one in message_parts[:number]
    )
    named = [one for one in answers if not one.name or one.name == call_part.name]
    if not named:
        return None
    return named[before if before < len(named) else 0].content


class _MessagesReader:
    """Reads the documents of a log. ``single`` is the session of lines that are a message each."""

    def __init__(self, log: LogBuilder, source: Source) -> None:
        self.log, self.stem, self.source = log, source.path.stem, source
        self.single = _Conversation(SessionBuilder(log, ""))

    def document(self, document: JsonDocument[msgspec.Raw], ref: Ref) -> None:
        self.log.rows += document.problems
        if document.value is None:
            return
        holder = _holder(document.value)
        if holder is None or not _is_conversation(holder):
            self.single.session.id = self.single.session.id or self.log.unique_name(self.stem)
            self._messages(self.single, document, holder, ref)
            return
        ids = (id_text(holder.session_id), id_text(holder.conversation_id), id_text(holder.id))
        stem = f"{self.stem}{f'#{ref.line}' if ref.line > 1 else ''}"
        conversation = _Conversation(self.log.session(next(filter(None, ids), stem)))
        self._messages(conversation, document, holder, ref)
        conversation.end(ref)

    def end(self) -> None:
        if self.single.session.records:
            self.single.end(self.source.whole())

    def _messages(
        self, conversation: _Conversation, document: JsonDocument[Any], holder: _Holder | None, ref: Ref
    ) -> None:
        for group, role in _groups(document, document.value or NULL, holder):
            for part in decode_items(document, group, ref):
                if isinstance(part, Problem):
                    self.log.rows.append(part)
                else:
                    conversation.message(part[1], part[0], role)
        if holder is not None and not _is_message(holder):
            conversation.holder(holder)


class _Conversation:
    """Adds the messages of one session."""

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.usage = Usage()
        self.api = ""
        self._counted_ids: set[str] = set()

    def message(self, message: Any, ref: Ref, role: str) -> None:
        fields = mapping(message)
        inner = mapping(fields.get("message")) or fields
        times = (epoch_seconds(fields[key]) for key in _TIMES if key in fields)
        at = next((time for time in times if time is not None), None)
        model = string(inner.get("model")) or string(inner.get("model_name"))
        if not self.api:
            self.api = _api(inner)
        session, key = self.session, id_text(inner.get("id"))
        first = session.log.seq + 1
        for number, piece in enumerate(parts_of_message(message, role)):
            session.part(piece, f"{session.records}.{number}", ref, at, model, key)
        session.records += 1
        if "usage" in inner:
            self._add_usage(inner, ref, first, at, model)

    def holder(self, holder: _Holder) -> None:
        self.session.see(None, string(holder.model))
        self._add_usage({"id": holder.id, "usage": holder.usage}, NOWHERE, None, None, string(holder.model))

    def _add_usage(
        self, message: Mapping[str, Any], ref: Ref, first: int | None, at: float | None, model: str
    ) -> None:
        """Adds token usage; a message that is repeated with the same id is counted once."""
        key, usage = id_text(message.get("id")), mapping(message.get("usage"))
        if usage and not (key and key in self._counted_ids):
            self._counted_ids.add(key)
            self.usage.add(usage)
            own = Usage()
            own.add(usage)
            if own.native:
                self.session.request(own.tokens(), ref, first, id=key, model=model, at=at)

    def end(self, ref: Ref) -> None:
        self.session.end(format_version=self.api, native_tokens=dict(self.usage.native), ref=ref)


def _is_message(holder: _Holder) -> bool:
    """Returns whether the object itself is a message or an item, which may also have an input or output."""
    kind = string(holder.type)
    return (
        holder.role is not None
        or string(holder.kind) in {"request", "response"}
        or kind.endswith(("_call", "_call_output"))
        or kind == "reasoning"
    )


def _is_conversation(holder: _Holder) -> bool:
    """Returns whether it is a conversation, not only a message or a response."""
    return not _is_message(holder) and _has(holder, (*_INPUT_FIELDS[2:], *_WRAPPER_FIELDS[:2]))


def _has(holder: _Holder, names: Iterable[str]) -> bool:
    return any(getattr(holder, name) != NULL for name in names)


def _groups(
    document: JsonDocument[Any], value: msgspec.Raw, holder: _Holder | None
) -> Iterator[tuple[list[msgspec.Raw], str]]:
    """Yields the messages of a document with the role that applies where they do not name one,
    for each field that contains messages.
    """
    if holder is None:
        yield _list(value), "user"
    elif _is_message(holder) or not _has(holder, (*_INPUT_FIELDS[2:], *_OUTPUT_FIELDS, *_WRAPPER_FIELDS)):
        yield [value], "user"
    else:
        for name in (*_INPUT_FIELDS, *_OUTPUT_FIELDS):
            role = "assistant" if name in _OUTPUT_FIELDS else "user"
            if name in ("system", "instructions"):
                role = "system"
            yield _list(getattr(holder, name)), role
        for inner in (getattr(holder, name) for name in _WRAPPER_FIELDS):
            if bytes(inner)[:1] in {b"{", b"["}:
                yield from _groups(document, inner, _holder(inner))


def _holder(raw: msgspec.Raw) -> _Holder | None:
    try:
        return decoder_of(_Holder).decode(raw)
    except DECODE_ERRORS:
        return None


def _list(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """Returns the items of a list; a text or an object is a list of one."""
    if raw == NULL:
        return []
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except DECODE_ERRORS:
        return [raw]


def _contains_messages(value: Any) -> bool:
    if isinstance(value, list):
        return any(
            is_message(one) or (string(mapping(one).get("kind")) in {"request", "response"})
            for one in value[:_SAMPLED_MESSAGES]
        )
    fields = mapping(value)
    lists = [fields.get(name) for name in (*_INPUT_FIELDS[2:], *_OUTPUT_FIELDS)]
    return (
        is_message(fields)
        or any(_contains_messages(talk) for talk in lists if isinstance(talk, list))
        or bool(mappings(fields.get("choices")) and mapping(mappings(fields["choices"])[0].get("message")))
        or any(
            _contains_messages(fields[name]) for name in _WRAPPER_FIELDS if isinstance(fields.get(name), dict)
        )
    )


def _api(message: Mapping[str, Any]) -> str:
    kinds = {string(part.get("type")) for part in mappings(message.get("content"))}
    if any("part_kind" in part for part in mappings(message.get("parts"))):
        return "pydantic-ai"
    if kinds & {"input_text", "output_text"} or string(message.get("type")).endswith(
        ("_call", "_call_output")
    ):
        return "openai-responses"
    if "parts" in message:
        return "gemini"
    if "tool_calls" in message or message.get("role") == "tool":
        return "openai-chat"
    return (
        "anthropic"
        if kinds & {"tool_use", "tool_result", "thinking"} or message.get("type") == "message"
        else ""
    )
