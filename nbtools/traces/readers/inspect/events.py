"""Builds rows from the events of an Inspect AI sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.conversation import TextPart, Usage, parts_of_message
from nbtools.traces.display_builders import changes_of
from nbtools.traces.json_access import epoch_seconds, float_of, id_text, integer_of, items, mapping, mappings, string, text_of
from nbtools.traces.json_document import locate_items
from nbtools.traces.model import NOWHERE, EventKind, Origin, Problem, Ref, Row, Session
from nbtools.traces.readers.inspect.attachments import Attachments
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import DECODE_ERRORS, decode_json

_NULL = msgspec.Raw(b"null")
_KINDS: dict[str, EventKind] = {"error": "error", "compaction": "compaction", "input": "user", "logger": "progress", "info": "progress"}
_TEXTS = ("name", "message", "data", "explanation", "input", "error", "score", "type", "action")


class _Event(msgspec.Struct):
    """An event, without large fields that no row needs: the model's input, and the state before and after."""

    event: Any = None
    id: Any = None
    timestamp: Any = None
    completed: Any = None
    working_time: Any = None
    span_id: Any = None
    parent_id: Any = None
    type: Any = None
    name: Any = None
    function: Any = None
    arguments: Any = None
    result: Any = None
    error: Any = None
    message: Any = None
    data: Any = None
    explanation: Any = None
    score: Any = None
    input: msgspec.Raw = _NULL
    model: Any = None
    output: Any = None
    sample: Any = None
    action: Any = None
    cmd: Any = None
    file: Any = None
    call: Any = None
    decision: Any = None
    approver: Any = None
    events: msgspec.Raw = _NULL


class _Sample(msgspec.Struct):
    id: Any = None
    epoch: Any = None
    input: Any = None
    events: msgspec.Raw = _NULL
    attachments: msgspec.Raw = _NULL
    model_usage: Any = None
    error: Any = None


_EVENT_DECODER = msgspec.json.Decoder(_Event)


class Sample:
    """Builds the session of one sample."""

    SHAPE = _Sample

    def __init__(self, sample: _Sample, run: Mapping[str, Any], status: str, origin: Origin, first: int = 0) -> None:
        self.sample, self.run, self.status = sample, run, status
        self.timeline = SessionBuilder(f"{id_text(sample.id)}_epoch_{integer_of(sample.epoch) or 1}", origin, first)
        self.attachments = Attachments(sample.attachments)
        self.parents: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        """The call whose tool runs in a span, by the span's id."""
        self.tools: set[str] = set()
        self.ids: set[str] = set()
        self.latest = ""
        self.decisions: dict[str, str] = {}

    def event(self, text: bytes, ref: Ref, inside: str = "") -> Iterator[Row]:
        """Yields the rows of an event. ``text`` is what stands at ``ref``; ``inside`` is the call in whose event this one is nested."""
        event = _decode_event(text)
        if event is None:
            yield Problem(ref, "This record is not an event.")
            return
        at = epoch_seconds(event.timestamp)
        self.timeline.note_time_and_model(at)
        kind = string(event.event)
        if kind == "tool":
            yield from self._tool(event, ref, at, inside)
        elif kind == "sandbox":
            yield from self._sandbox(event, ref, at, inside)
        elif kind == "model":
            yield from self._model(event, ref, at)
        elif kind == "sample_init":
            yield from self._input(event, ref, at)
        else:
            yield self._other(event, ref, at)
        if event.events != _NULL:
            yield from self._nested_events(event, text, ref, self.latest if kind == "tool" else inside)

    def _tool(self, event: _Event, ref: Ref, at: float | None, inside: str) -> Iterator[Row]:
        span = string(event.span_id)
        parent = inside or self._enclosing_call(span)
        answered, failed = event.result is not None, bool(event.error)
        native = id_text(event.id)
        args = mapping(self.attachments.resolve(event.arguments))
        id_ = unique_name(native, self.ids)
        call = self.timeline.call(
            id_,
            string(event.function) or "?",
            args,
            ref,
            native_id=native,
            level="nested" if inside else "model",
            parent=parent,
            at=at,
            ended=epoch_seconds(event.completed),
            duration=_duration(event, at),
            status="error" if failed else "ok" if answered else "unanswered",
            status_source="flag" if failed or answered else "none",
            answered=answered,
            result_size=len(text_of(self.attachments.resolve(event.result))),
            permission=self.decisions.get(native, ""),
            counted=not native or id_ == native,
            result_ref=ref if answered else NOWHERE,
        )
        if span in self.tools:
            self.owners.setdefault(span, call.id)
        yield call
        yield from changes_of(call, args)
        self.latest = call.id

    def _sandbox(self, event: _Event, ref: Ref, at: float | None, inside: str) -> Iterator[Row]:
        """Yields what a tool does in its sandbox, as a call nested in the tool's call."""
        action, code = string(event.action), integer_of(event.result)
        args = mapping(self.attachments.resolve(_sandbox_args(event.cmd, event.file)))
        name = f"sandbox.{action}"
        call = self.timeline.call(
            unique_name(name, self.ids),
            name,
            args,
            ref,
            level="nested",
            parent=inside or self._enclosing_call(string(event.span_id)),
            at=at,
            ended=epoch_seconds(event.completed),
            duration=_duration(event, at),
            status="unknown" if code is None else "error" if code else "ok",
            status_source="none" if code is None else "exit_code",
            exit_code=code,
            answered=event.output is not None or code is not None,
            result_size=len(text_of(event.output)),
            result_ref=ref,
        )
        yield msgspec.structs.replace(call, op={"exec": "shell", "read_file": "read", "write_file": "write"}.get(action, "other"))

    def _model(self, event: _Event, ref: Ref, at: float | None) -> Iterator[Row]:
        model = string(event.model)
        self.timeline.note_time_and_model(None, model)
        for choice in mappings(mapping(event.output).get("choices")):
            for part in parts_of_message(self.attachments.resolve(choice.get("message")), "assistant"):
                if isinstance(part, TextPart):
                    key = id_text(mapping(choice.get("message")).get("id"))
                    fields = {"at": at, "role": "assistant", "model": model, "type": "model", "parent": string(event.span_id), "key": key}
                    yield self.timeline.event(part.kind, part.text, ref, **fields)
        if event.error:
            yield self.timeline.event("error", text_of(event.error), ref, at=at, model=model, type="model", parent=string(event.span_id))

    def _input(self, event: _Event, ref: Ref, at: float | None) -> Iterator[Row]:
        input_ = self.attachments.resolve(mapping(event.sample).get("input"))
        for message in input_ if isinstance(input_, list) else [input_]:
            for part in parts_of_message(message):
                if isinstance(part, TextPart):
                    yield self.timeline.event(part.kind, part.text, ref, at=at, role=part.role, type="sample_init")

    def _other(self, event: _Event, ref: Ref, at: float | None) -> Row:
        kind, span = string(event.event), id_text(event.id)
        if kind == "span_begin" and span:
            self.parents[span] = string(event.parent_id)
            self.tools |= {span} if event.type == "tool" else set()
        elif kind == "approval":
            self.decisions[id_text(mapping(event.call).get("id"))] = f"{string(event.decision)} ({string(event.approver)})"
        value = next((value for name in _TEXTS if (value := _decoded_value(getattr(event, name)))), "")
        text = text_of(self.attachments.resolve(value))
        parent = string(event.parent_id) or string(event.span_id)
        return self.timeline.event(_KINDS.get(kind, "system"), text, ref, at=at, type=kind, key=span, parent=parent)

    def _nested_events(self, event: _Event, text: bytes, ref: Ref, inside: str) -> Iterator[Row]:
        """Yields the rows of events nested in this one, as in older logs."""
        for begins, data in locate_items(text, raw_items(event.events)):
            yield from self.event(data, Ref(ref.offset + begins, len(data), 0, ref.file, ref.member), inside)

    def _enclosing_call(self, span: str) -> str:
        """Returns the call of the nearest enclosing tool span; a cycle of spans ends the search."""
        seen: set[str] = set()
        while span and span not in seen:
            if span in self.owners:
                return self.owners[span]
            seen.add(span)
            span = self.parents.get(span, "")
        return ""

    def end(self, ref: Ref, records: int) -> Iterator[Row]:
        """Yields the session."""
        usage = Usage()
        for used in mapping(self.sample.model_usage).values():
            usage.add(mapping(used))
        revision, packages, title = mapping(self.run.get("revision")), mapping(self.run.get("packages")), self.sample.input
        models = dict.fromkeys(filter(None, (string(self.run.get("model")), *self.timeline.models)))
        yield Session(
            id=self.timeline.session,
            format="inspect",
            agent="inspect_ai",
            agent_version=string(packages.get("inspect_ai")),
            title=(title if isinstance(title, str) else text_of(items(title)[-1:])).strip().partition("\n")[0][:200],
            repository=string(revision.get("origin")),
            commit=string(revision.get("commit")),
            models=tuple(models),
            started=min(self.timeline.times, default=None),
            ended=max(self.timeline.times, default=None),
            records=records,
            tokens=usage.tokens(),
            native_tokens={key: count for key, count in usage.native.items() if key in {"input", "output"}},
            counts={"task": self.run.get("task"), "model": self.run.get("model"), "status": self.status},
            ref=ref,
        )


def unique_name(name: str, taken: set[str]) -> str:
    """Returns the name, with a number where it is taken already, and marks it as taken."""
    count, unique = 1, name or "?"
    while unique in taken:
        count += 1
        unique = f"{name}#{count}"
    taken.add(unique)
    return unique


def raw_items(value: msgspec.Raw) -> list[msgspec.Raw]:
    """Returns the undecoded items of a list; an empty list for anything else."""
    try:
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    except DECODE_ERRORS:
        return []


def _decode_event(text: bytes) -> _Event | None:
    try:
        return _EVENT_DECODER.decode(text)
    except DECODE_ERRORS:
        try:
            return msgspec.convert(decode_json(text), _Event)
        except (TraceError, msgspec.ValidationError):
            return None


def args_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the arguments of a tool's event or a sandbox event."""
    if event.get("event") == "sandbox":
        return _sandbox_args(event.get("cmd"), event.get("file")) | ({"input": event["input"]} if event.get("input") else {})
    return mapping(event.get("arguments"))


def result_of(event: Mapping[str, Any]) -> str:
    if event.get("event") == "sandbox":
        return text_of(event.get("output"))
    return text_of(event.get("result")) or text_of(mapping(event.get("error")).get("message"))


def _sandbox_args(command: Any, file: Any) -> dict[str, Any]:
    return {"command": command} if command is not None else {"path": file}


def _duration(event: _Event, at: float | None) -> float | None:
    worked, ended = float_of(event.working_time), epoch_seconds(event.completed)
    return worked if worked is not None else ended - at if ended is not None and at is not None else None


def _decoded_value(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        try:
            return decode_json(bytes(value))
        except TraceError:
            return None
    return value
