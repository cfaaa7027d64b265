"""Conversations as APIs and frameworks write them: Anthropic Messages, OpenAI chat and Responses, Gemini contents, pydantic-ai histories.

A list of messages, an object that holds one (a request, an answer, both), or lines of either.  Lines that are messages are one session;
lines that hold conversations are a session each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.traces.conversation import Answered, Asked, Piece, is_message, pieces
from nbtools.traces.document import Opened, holds_lines, line_of, opened, parts
from nbtools.traces.format import Head
from nbtools.traces.loose import arguments, mapping, mappings, name_of, string, text_of
from nbtools.traces.model import Call, Detail, Origin, Problem, Ref, Row, Session
from nbtools.traces.recalled import detail_of, media_of
from nbtools.traces.source import UNREADABLE, Source
from nbtools.traces.stamps import seconds
from nbtools.traces.timeline import Timeline
from nbtools.traces.usage import Usage

_NONE = msgspec.Raw(b"null")
_ASKED = ("system", "instructions", "messages", "contents", "history", "input")
_GIVEN = ("output", "choices", "candidates")
_WITHIN = ("request", "body", "response")
_TIMES = ("timestamp", "created_at", "created")
_TELLING = 20
"""Messages by which a list is recognised as a conversation."""


class _Holder(msgspec.Struct):
    """An object that may hold a conversation; each field is what it is in one API or another."""

    system: msgspec.Raw = _NONE
    instructions: msgspec.Raw = _NONE
    messages: msgspec.Raw = _NONE
    contents: msgspec.Raw = _NONE
    history: msgspec.Raw = _NONE
    input: msgspec.Raw = _NONE
    output: msgspec.Raw = _NONE
    choices: msgspec.Raw = _NONE
    candidates: msgspec.Raw = _NONE
    request: msgspec.Raw = _NONE
    body: msgspec.Raw = _NONE
    response: msgspec.Raw = _NONE
    model: Any = None
    usage: Any = None
    role: Any = None
    id: Any = None
    session_id: Any = None
    conversation_id: Any = None
    kind: Any = None
    type: Any = None


class Messages:
    name = "messages"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if head.first is not None:
            return _holds(head.first)
        if begun := opened(head.start, Any).value:
            return _holds(begun)
        spoken = head.has("role", "content") or head.has("parts") or head.has("type", "call_id")
        return spoken and (head.start.lstrip()[:1] == b"[" or any(map(head.has, (*_ASKED[2:], *_GIVEN))))

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        reading = _Reading(source, origin)
        if holds_lines(source):
            for line in source.lines(line_of):
                yield from (line,) if isinstance(line, Problem) else reading.line(*line)
        else:
            text = source.document()
            yield from reading.line(Ref(0, len(text)), opened(text, msgspec.Raw))
        yield from reading.end()

    def detail(self, source: Source, call: Call) -> Detail:
        """The piece of the message by its number, which the call's id ends with."""
        said = list(pieces(source.record(call.ref)))
        number = int(call.id.rpartition(".")[2])
        asked = said[number] if number < len(said) else None
        found = pieces(source.record(call.result_ref)) if call.answered else iter(())
        answers = [one for one in found if isinstance(one, Answered) and one.id == call.native_id]
        content = _of_call(said, number, answers)
        args = arguments(asked.args) if isinstance(asked, Asked) else {}
        return detail_of(call, args, text_of(content), tuple(media_of(content)))


def _of_call(said: Sequence[Piece], number: int, answers: Sequence[Answered]) -> Any:
    """What answers the call that is piece ``number``; without ids results come in the order of the calls of that name."""
    asked = said[number] if number < len(said) else None
    if not isinstance(asked, Asked) or not answers or asked.id:
        return answers[0].content if answers else None
    before = sum(isinstance(one, Asked) and not one.id and one.name == asked.name for one in said[:number])
    named = [one for one in answers if not one.name or one.name == asked.name]
    return (named[before] if before < len(named) else named[0]).content if named else None


class _Reading:
    def __init__(self, source: Source, origin: Origin) -> None:
        self.source, self.origin = source, origin
        self.ids: set[str] = set()
        self.latest = 0
        self.loose = _Talk("", origin)
        """Of lines that are a message each."""

    def line(self, ref: Ref, document: Opened[msgspec.Raw]) -> Iterator[Row]:
        yield from document.problems
        if document.value is None:
            return
        held = _holder(document.value)
        if held is None or not _asks(held):
            self.loose.timeline.session = self.loose.timeline.session or self._free(self.source.path.stem)
            yield from self._messages(self.loose, document, held, ref)
            return
        named = (name_of(held.session_id), name_of(held.conversation_id), name_of(held.id))
        stem = f"{self.source.path.stem}{f'#{ref.line}' if ref.line > 1 else ''}"
        talk = _Talk(self._free(next(filter(None, named), stem)), self.origin, self.latest)
        yield from self._messages(talk, document, held, ref)
        yield from talk.end(ref)
        self.latest = talk.timeline.seq

    def end(self) -> Iterator[Row]:
        if self.loose.records:
            yield from self.loose.end(Ref(0, self.source.path.stat().st_size))

    def _messages(self, talk: _Talk, document: Opened[Any], held: _Holder | None, ref: Ref) -> Iterator[Row]:
        for group, role in _groups(document, document.value or _NONE, held):
            for part in parts(document, group, ref):
                yield from (part,) if isinstance(part, Problem) else talk.message(part[1], part[0], role)
        if held is not None and not _is_one(held):
            talk.holder(held)

    def _free(self, name: str) -> str:
        """A session's id that no other has."""
        number, free = 1, name
        while free in self.ids:
            number += 1
            free = f"{name}#{number}"
        self.ids.add(free)
        return free


class _Talk:
    """One session on its way into rows."""

    def __init__(self, id_: str, origin: Origin, first: int = 0) -> None:
        self.timeline = Timeline(id_, origin, first)
        self.usage = Usage()
        self.records = 0
        self.api = ""
        self.cwd = ""
        self._billed: set[str] = set()

    def message(self, message: Any, ref: Ref, role: str) -> Iterator[Row]:
        given = mapping(message)
        inner = mapping(given.get("message")) or given
        at = next((time for key in _TIMES if key in given and (time := seconds(given[key])) is not None), None)
        model = string(inner.get("model")) or string(inner.get("model_name"))
        self.api = self.api or _api(inner)
        self._bill(inner)
        for number, piece in enumerate(pieces(message, role)):
            yield from self.timeline.take(piece, f"{self.records}.{number}", ref, at, model, name_of(inner.get("id")))
        self.records += 1

    def holder(self, held: _Holder) -> None:
        self.timeline.met(None, string(held.model))
        self._bill({"id": held.id, "usage": held.usage})

    def _bill(self, given: Mapping[str, Any]) -> None:
        """A message that is repeated under its id is paid once."""
        key, usage = name_of(given.get("id")), mapping(given.get("usage"))
        if usage and not (key and key in self._billed):
            self._billed.add(key)
            self.usage.add(usage)

    def end(self, ref: Ref) -> Iterator[Row]:
        yield from self.timeline.end()
        yield Session(
            id=self.timeline.session,
            format="messages",
            format_version=self.api,
            models=tuple(self.timeline.models),
            started=min(self.timeline.times, default=None),
            ended=max(self.timeline.times, default=None),
            records=self.records,
            tokens=self.usage.tokens(),
            native_tokens=dict(self.usage.native),
            ref=ref,
        )


def _is_one(held: _Holder) -> bool:
    """Whether it is itself a message, or an item: those have an input or an output, too."""
    kind = string(held.type)
    return (
        held.role is not None
        or string(held.kind) in {"request", "response"}
        or kind.endswith(("_call", "_call_output"))
        or kind == "reasoning"
    )


def _asks(held: _Holder) -> bool:
    """Whether it is a conversation and not a message or an answer alone."""
    return not _is_one(held) and _has(held, (*_ASKED[2:], *_WITHIN[:2]))


def _has(held: _Holder, names: Iterable[str]) -> bool:
    return any(getattr(held, name) != _NONE for name in names)


def _groups(document: Opened[Any], value: msgspec.Raw, held: _Holder | None) -> Iterator[tuple[list[msgspec.Raw], str]]:
    """The messages in a value of the document, by the field that holds them, and who speaks where they do not say."""
    if held is None:
        yield _list(value), "user"
    elif _is_one(held) or not _has(held, (*_ASKED[2:], *_GIVEN, *_WITHIN)):
        yield [value], "user"
    else:
        for name in (*_ASKED, *_GIVEN):
            role = {"system": "system", "instructions": "system"}.get(name, "assistant" if name in _GIVEN else "user")
            yield _list(getattr(held, name)), role
        for inner in (getattr(held, name) for name in _WITHIN):
            yield from _groups(document, inner, _holder(inner)) if bytes(inner)[:1] in {b"{", b"["} else ()


def _holder(raw: msgspec.Raw) -> _Holder | None:
    try:
        return msgspec.json.decode(raw, type=_Holder)
    except UNREADABLE:
        return None


def _list(raw: msgspec.Raw) -> list[msgspec.Raw]:
    """The items of a list; a text or an object is one."""
    if raw == _NONE:
        return []
    try:
        return msgspec.json.decode(raw, type=list[msgspec.Raw])
    except UNREADABLE:
        return [raw]


def _holds(value: Any) -> bool:
    if isinstance(value, list):
        return any(is_message(one) or (string(mapping(one).get("kind")) in {"request", "response"}) for one in value[:_TELLING])
    held = mapping(value)
    talks = [held.get(name) for name in (*_ASKED[2:], *_GIVEN)]
    return (
        is_message(held)
        or any(_holds(talk) for talk in talks if isinstance(talk, list))
        or bool(mappings(held.get("choices")) and mapping(mappings(held["choices"])[0].get("message")))
        or any(_holds(held[name]) for name in _WITHIN if isinstance(held.get(name), dict))
    )


def _api(message: Mapping[str, Any]) -> str:
    kinds = {string(part.get("type")) for part in mappings(message.get("content"))}
    if any("part_kind" in part for part in mappings(message.get("parts"))):
        return "pydantic-ai"
    if kinds & {"input_text", "output_text"} or string(message.get("type")).endswith(("_call", "_call_output")):
        return "openai-responses"
    if "parts" in message:
        return "gemini"
    if "tool_calls" in message or message.get("role") == "tool":
        return "openai-chat"
    return "anthropic" if kinds & {"tool_use", "tool_result", "thinking"} or message.get("type") == "message" else ""
