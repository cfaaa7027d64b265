"""Adds the rows of an Inspect AI sample from its events,
and resolves references to texts that are stored elsewhere in the log.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.core.decoders import converted
from nbtools.core.errors import TraceError
from nbtools.traces.conversation import TextPart, Usage, parts_of_message
from nbtools.traces.json_access import (
    epoch_seconds,
    float_of,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.json_document import NULL, locate_items, raw_items
from nbtools.traces.model import NOWHERE, EventKind, Metric, Op, Problem, Ref
from nbtools.traces.readers.inspect.scores import sample_result
from nbtools.traces.session_builder import SessionBuilder, status_of_exit_code, status_of_flag
from nbtools.traces.source import DECODE_ERRORS, decode_json

_KINDS: dict[str, EventKind] = {
    "error": "error",
    "compaction": "compaction",
    "input": "user",
    "logger": "progress",
    "info": "progress",
}
_SANDBOX_OPS: dict[str, Op] = {"exec": "shell", "read_file": "read", "write_file": "write"}
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
    input: msgspec.Raw = NULL
    input_refs: Any = None
    model: Any = None
    cache: Any = None
    output: Any = None
    sample: Any = None
    action: Any = None
    cmd: Any = None
    file: Any = None
    call: Any = None
    decision: Any = None
    approver: Any = None
    events: msgspec.Raw = NULL


class SampleRecord(msgspec.Struct):
    id: Any = None
    epoch: Any = None
    input: Any = None
    target: Any = None
    events: msgspec.Raw = NULL
    transcript: msgspec.Raw = NULL
    messages: msgspec.Raw = NULL
    events_data: msgspec.Raw = NULL
    attachments: msgspec.Raw = NULL
    model_usage: Any = None
    error: Any = None
    score: Any = None
    scores: Any = None
    limit: Any = None
    total_time: Any = None
    working_time: Any = None


@dataclass
class Run:
    """A run as the header describes it. ``tokens`` and ``metrics`` are those of the run;
    the first sample that ends takes them, as they count once. ``error`` is what ended the run.
    """

    eval: Mapping[str, Any]
    status: str
    samples_missing: bool = False
    tokens: Mapping[str, int] | None = None
    metrics: tuple[Metric, ...] = ()
    error: str = ""


_EVENT_DECODER = msgspec.json.Decoder(_Event)
_SCORER_SPANS = ("scorer", "scorers")
"""Types of the spans of one scorer, and of all."""
_REFERENCE = re.compile(r"attachment://([0-9a-zA-Z]{1,64})")
_MAX_NESTING = 100
_MAX_SPANS = 500
"""Spans around a call that are looked at to find the call whose tool made it."""
_MAX_SENT = 20
"""Messages of a scorer's request that are looked at, from its end: the others were sent before."""


class Attachments:
    """The attachments of a sample; each is decoded on access."""

    def __init__(self, raw: msgspec.Raw) -> None:
        try:
            self._raw = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except DECODE_ERRORS:
            self._raw = {}

    def resolve(self, value: Any, depth: int = 0) -> Any:
        """Returns the value with its references replaced by their texts; one to a missing text stays."""
        if isinstance(value, str):
            return _REFERENCE.sub(self._text, value) if "attachment://" in value else value
        if depth < _MAX_NESTING and isinstance(value, list):
            return [self.resolve(one, depth + 1) for one in value]
        if depth < _MAX_NESTING and isinstance(value, dict):
            return {key: self.resolve(one, depth + 1) for key, one in value.items()}
        return value

    def _text(self, reference: re.Match[str]) -> str:
        raw = self._raw.get(reference[1])
        try:
            text = decode_json(bytes(raw)) if raw is not None else None
        except TraceError:
            text = None
        return text if isinstance(text, str) else reference[0]


class _Scoring:
    """Knows what scorers do: what stands in their spans, in older logs between the begin and the end of their
    steps, or after the span of the solvers, which are the agent.
    """

    def __init__(self) -> None:
        self._spans: set[str] = set()
        self._solvers: set[str] = set()
        self._steps: list[bool] = []
        self._scorer_steps = 0
        self._solved = False

    def see(self, event: _Event, kind: str) -> None:
        """Takes notice of where a span or a step begins or ends."""
        span = id_text(event.id)
        if kind == "span_begin" and span:
            if event.type in _SCORER_SPANS or string(event.parent_id) in self._spans:
                self._spans.add(span)
            elif event.type == "solvers":
                self._solvers.add(span)
                self._solved = False
        elif kind == "span_end" and span in self._solvers:
            self._solved = True
        elif kind == "step" and event.action == "begin":
            self._steps.append(event.type == "scorer")
            self._scorer_steps += self._steps[-1]
        elif kind == "step" and self._steps:
            self._scorer_steps -= self._steps.pop()

    def has(self, span: str) -> bool:
        """Returns whether what happens now in this span is a scorer's."""
        return self._solved or span in self._spans or self._scorer_steps > 0


class Sample:
    """Adds the events of one sample to its session."""

    def __init__(self, session: SessionBuilder, sample: SampleRecord, run: Run) -> None:
        self.session, self.sample, self.run = session, sample, run
        self.attachments = Attachments(sample.attachments)
        self.parents: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        """The call whose tool runs in a span, by the span's id."""
        self.tools: set[str] = set()
        self.scoring = _Scoring()
        self.latest = ""
        self.decisions: dict[str, str] = {}
        self.records = 0
        self.said: set[str] = set()
        """The texts of the input, and of the messages that were added."""
        self.pool: Callable[[], Sequence[tuple[Ref, Any] | Problem]] = list
        """Returns the messages that events name by their numbers, in logs since 2026."""
        self.inserted: list[tuple[Ref, Any, bool]] = []
        """Messages to the model that have no event, with whether they were there before its first answer."""

    def event(self, text: bytes, ref: Ref, inside: str = "") -> None:
        """Adds an event. ``text`` is what stands at ``ref``; ``inside``: the call whose event contains it."""
        event = _decode_event(text)
        if event is None:
            self.session.add(Problem(ref, "This record is not an event."))
            return
        at = epoch_seconds(event.timestamp)
        self.session.see(at)
        kind = string(event.event)
        if kind == "tool":
            self._tool(event, ref, at, inside)
        elif kind == "sandbox":
            self._sandbox(event, ref, at, inside)
        elif kind == "model":
            self._model(event, ref, at)
        elif kind == "sample_init":
            self._input(event, ref, at)
        else:
            self._other(event, ref, at)
        if event.events != NULL:  # in older logs, events are nested in others
            for begins, data in locate_items(text, raw_items(event.events)):
                here = Ref(ref.offset + begins, len(data), 0, ref.file, ref.member)
                self.event(data, here, self.latest if kind == "tool" else inside)

    def note_messages(self, messages: Iterable[tuple[Ref, Any] | Problem]) -> None:
        """Notes the messages to the model.
        Those that a solver inserts, such as its system message, have no event of their own.
        """
        at_first = True
        for item in messages:
            if not isinstance(item, Problem):
                role = mapping(item[1]).get("role")
                at_first = at_first and role != "assistant"
                if role in ("system", "user"):
                    self.inserted.append((*item, at_first))

    def _add_inserted(self, *, at_first: bool) -> None:
        added = [one for one in self.inserted if one[2] or not at_first]
        self.inserted = [one for one in self.inserted if at_first and not one[2]]
        for ref, message, _ in added:
            key = id_text(mapping(message).get("id"))
            for part in parts_of_message(self.attachments.resolve(message)):
                if isinstance(part, TextPart) and part.text not in self.said:
                    self.said.add(part.text)
                    self.session.event("system", part.text, ref, None, part.role, type="message", key=key)

    def message(self, message: Any, ref: Ref) -> None:
        """Adds a message of a sample that was recorded without events."""
        fields = mapping(self.attachments.resolve(message))
        model = string(fields.get("model"))
        for number, piece in enumerate(parts_of_message(fields)):
            self.session.part(piece, f"{self.records}.{number}", ref, None, model, id_text(fields.get("id")))
        self.records += 1

    def _tool(self, event: _Event, ref: Ref, at: float | None, inside: str) -> None:
        span, native = string(event.span_id), id_text(event.id)
        answered, failed = event.result is not None, bool(event.error)
        args = mapping(self.attachments.resolve(event.arguments))
        id_ = self.session.unique_id(native)
        status, source = status_of_flag(failed) if failed or answered else ("unanswered", "none")
        call = self.session.call(
            id_,
            string(event.function) or "?",
            ref,
            args,
            native_id=native,
            level="nested" if inside or self.scoring.has(span) else "model",
            parent=inside or self._enclosing_call(span),
            at=at,
            ended=epoch_seconds(event.completed),
            duration=_duration(event, at),
            status=status,
            status_source=source,
            answered=answered,
            result_size=len(text_of(self.attachments.resolve(event.result))),
            permission=self.decisions.get(native, ""),
            counted=not native or id_ == native,
            result_ref=ref if answered else NOWHERE,
        )
        if span in self.tools:
            self.owners.setdefault(span, call.id)
        self.session.complete(call, args)
        self.latest = call.id

    def _sandbox(self, event: _Event, ref: Ref, at: float | None, inside: str) -> None:
        """Adds what a tool does in its sandbox, as a call nested in the tool's call."""
        action, code = string(event.action), integer_of(event.result)
        args = mapping(self.attachments.resolve(_sandbox_args(event.cmd, event.file)))
        status, source = status_of_exit_code(code)
        call = self.session.call(
            self.session.unique_id(f"sandbox.{action}"),
            f"sandbox.{action}",
            ref,
            args,
            level="nested",
            parent=inside or self._enclosing_call(string(event.span_id)),
            at=at,
            ended=epoch_seconds(event.completed),
            duration=_duration(event, at),
            status=status,
            status_source=source,
            exit_code=code,
            answered=event.output is not None or code is not None,
            result_size=len(text_of(event.output)),
            result_ref=ref,
        )
        self.session.add(replace(call, op=_SANDBOX_OPS.get(action, "other")))

    def _model(self, event: _Event, ref: Ref, at: float | None) -> None:
        self._add_inserted(at_first=True)
        model, parent = string(event.model), string(event.span_id)
        by_scorer = self.scoring.has(parent)
        if by_scorer:
            self._add_prompt(event, ref, at)
        first = self.session.log.seq + 1
        self.session.see(None, model)
        for choice in mappings(mapping(event.output).get("choices")):
            key = id_text(mapping(choice.get("message")).get("id"))
            for part in parts_of_message(self.attachments.resolve(choice.get("message")), "assistant"):
                if isinstance(part, TextPart):
                    kind: EventKind = "scorer" if by_scorer else part.kind
                    place = ("scorer" if by_scorer else "assistant", model, "model", key, parent)
                    self.session.message(kind, part.text, ref, at, *place)
        if event.error:
            self.session.event("error", text_of(event.error), ref, at, "", model, "model", "", parent)
        used = mapping(mapping(event.output).get("usage"))
        if used and event.cache != "read":  # an answer from Inspect's own cache was no request
            usage = Usage()
            usage.add(used)
            flags = ("scorer",) if by_scorer else ()
            self.session.request(usage.tokens(), ref, first, model=model, at=at, flags=flags)

    def _add_prompt(self, event: _Event, ref: Ref, at: float | None) -> None:
        """Adds what a scorer sent to its model; a text that is a step already is not repeated."""
        sent: list[tuple[Ref, Any] | Problem] = [(ref, raw) for raw in raw_items(event.input)[-_MAX_SENT:]]
        for numbers in items(event.input_refs)[-_MAX_SENT:]:
            start, end = (integer_of(number) for number in (*items(numbers), None, None)[:2])
            if start is not None and end is not None and 0 <= start < end:
                sent += self.pool()[max(start, end - _MAX_SENT) : end]
        for one in sent[-_MAX_SENT:]:
            if isinstance(one, Problem):
                continue
            place, message = one[0], mapping(self.attachments.resolve(_decoded_value(one[1])))
            for part in parts_of_message(message):
                is_new = isinstance(part, TextPart) and part.text not in self.said
                if is_new and isinstance(part, TextPart) and message.get("role") in ("system", "user"):
                    self.said.add(part.text)
                    key, span = id_text(message.get("id")), string(event.span_id)
                    self.session.event("scorer", part.text, place, at, part.role, "", "input", key, span)

    def _input(self, event: _Event, ref: Ref, at: float | None) -> None:
        input_ = self.attachments.resolve(mapping(event.sample).get("input"))
        for message in input_ if isinstance(input_, list) else [input_]:
            for part in parts_of_message(message):
                if isinstance(part, TextPart):
                    self.said.add(part.text)
                    self.session.message(part.kind, part.text, ref, at, part.role, type="sample_init")

    def _other(self, event: _Event, ref: Ref, at: float | None) -> None:
        kind, span = string(event.event), id_text(event.id)
        self.scoring.see(event, kind)
        if kind == "span_begin" and span:
            self.parents[span] = string(event.parent_id)
            self.tools |= {span} if event.type == "tool" else set()
        elif kind == "approval":
            decision = f"{string(event.decision)} ({string(event.approver)})"
            self.decisions[id_text(mapping(event.call).get("id"))] = decision
        value = next((value for name in _TEXTS if (value := _decoded_value(getattr(event, name)))), "")
        text = text_of(self.attachments.resolve(value))
        parent = string(event.parent_id) or string(event.span_id)
        self.session.message(_KINDS.get(kind, "system"), text, ref, at, type=kind, key=span, parent=parent)

    def _enclosing_call(self, span: str) -> str:
        """Returns the call of the nearest enclosing tool span."""
        for _ in range(_MAX_SPANS):  # spans may be in a cycle
            if span in self.owners or not span:
                break
            span = self.parents.get(span, "")
        return self.owners.get(span, "")

    def end(self, ref: Ref, records: int) -> None:
        self._add_inserted(at_first=False)
        usage, run = usage_of(mapping(self.sample.model_usage)), self.run.eval
        revision, packages = mapping(run.get("revision")), mapping(run.get("packages"))
        title = self.sample.input
        title = title if isinstance(title, str) else text_of(items(title)[-1:])
        counts = {"task": run.get("task"), "model": run.get("model"), "status": self.run.status}
        if self.run.error:
            counts["run_error"] = self.run.error
        if self.run.tokens is not None:
            counts["tokens"], self.run.tokens = self.run.tokens, None
        metrics, self.run.metrics = self.run.metrics, ()
        if self.run.samples_missing:
            self.session.flags["truncated"] = None
        self.session.end(
            agent="inspect_ai",
            agent_version=string(packages.get("inspect_ai")),
            title=title.strip().partition("\n")[0][:200],
            repository=string(revision.get("origin")),
            commit=string(revision.get("commit")),
            models=tuple(dict.fromkeys(filter(None, (string(run.get("model")), *self.session.models)))),
            records=records,
            tokens=usage.tokens(),
            native_tokens=native_tokens(usage),
            sample=sample_result(
                self.session.id,
                self.sample,
                usage.tokens(),
                [request for request in self.session.requests if "scorer" in request.flags],
                self.attachments.resolve,
            ),
            metrics=metrics,
            counts=counts,
            ref=ref,
        )


def usage_of(model_usage: Mapping[str, Any]) -> Usage:
    """Returns the token usage summed over the models."""
    usage = Usage()
    for used in model_usage.values():
        usage.add(mapping(used))
    return usage


def native_tokens(usage: Usage) -> dict[str, int]:
    return {key: count for key, count in usage.native.items() if key in {"input", "output"}}


def _decode_event(text: bytes) -> _Event | None:
    try:
        return _EVENT_DECODER.decode(text)
    except DECODE_ERRORS:
        try:
            return converted(decode_json(text), _Event)
        except (TraceError, msgspec.ValidationError):
            return None


def args_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the arguments of a tool's event or a sandbox event."""
    if event.get("event") == "sandbox":
        args = _sandbox_args(event.get("cmd"), event.get("file"))
        return {**args, "input": event["input"]} if event.get("input") else args
    return mapping(event.get("arguments"))


def result_of(event: Mapping[str, Any]) -> str:
    if event.get("event") == "sandbox":
        return text_of(event.get("output"))
    return text_of(event.get("result")) or text_of(mapping(event.get("error")).get("message"))


def _sandbox_args(command: Any, file: Any) -> dict[str, Any]:
    return {"command": command} if command is not None else {"path": file}


def _duration(event: _Event, at: float | None) -> float | None:
    worked, ended = float_of(event.working_time), epoch_seconds(event.completed)
    if worked is not None:
        return worked
    return ended - at if ended is not None and at is not None else None


def _decoded_value(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        try:
            return decode_json(bytes(value))
        except TraceError:
            return None
    return value
