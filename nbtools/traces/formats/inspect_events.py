"""The events of a sample of Inspect AI on their way into rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.attachments import Attachments
from nbtools.traces.conversation import Said, pieces
from nbtools.traces.document import placed
from nbtools.traces.loose import items, mapping, mappings, name_of, number, string, text_of, whole
from nbtools.traces.model import NOWHERE, EventKind, Origin, Problem, Ref, Row, Session
from nbtools.traces.recalled import changes_of
from nbtools.traces.source import UNREADABLE, decoded
from nbtools.traces.stamps import seconds
from nbtools.traces.timeline import Timeline
from nbtools.traces.usage import Usage

_NONE = msgspec.Raw(b"null")
_KINDS: dict[str, EventKind] = {"error": "error", "compaction": "compaction", "input": "user", "logger": "progress", "info": "progress"}
_TEXTS = ("name", "message", "data", "explanation", "input", "error", "score", "type", "action")


class _Recorded(msgspec.Struct):
    """An event, without what is large and says nothing that a row has: the model's input, the state before and after."""

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
    input: msgspec.Raw = _NONE
    model: Any = None
    output: Any = None
    sample: Any = None
    action: Any = None
    cmd: Any = None
    file: Any = None
    call: Any = None
    decision: Any = None
    approver: Any = None
    events: msgspec.Raw = _NONE


class _Sample(msgspec.Struct):
    id: Any = None
    epoch: Any = None
    input: Any = None
    events: msgspec.Raw = _NONE
    attachments: msgspec.Raw = _NONE
    model_usage: Any = None
    error: Any = None


_EVENT = msgspec.json.Decoder(_Recorded)


class Sample:
    """One of a log."""

    SHAPE = _Sample

    def __init__(self, sample: _Sample, run: Mapping[str, Any], status: str, origin: Origin, first: int = 0) -> None:
        self.sample, self.run, self.status = sample, run, status
        self.timeline = Timeline(f"{name_of(sample.id)}_epoch_{whole(sample.epoch) or 1}", origin, first)
        self.attachments = Attachments(sample.attachments)
        self.parents: dict[str, str] = {}
        self.owners: dict[str, str] = {}
        """The call whose tool runs in a span, and the span around a span."""
        self.tools: set[str] = set()
        self.ids: set[str] = set()
        self.latest = ""
        self.decisions: dict[str, str] = {}

    def event(self, text: bytes, ref: Ref, inside: str = "") -> Iterator[Row]:
        """``text`` is what stands at ``ref``; ``inside``: the call in whose event this one is written."""
        event = _recorded(text)
        if event is None:
            yield Problem(ref, "no event")
            return
        at = seconds(event.timestamp)
        self.timeline.met(at)
        kind = string(event.event)
        if kind == "tool":
            yield from self._tool(event, ref, at, inside)
        elif kind == "sandbox":
            yield from self._sandbox(event, ref, at, inside)
        elif kind == "model":
            yield from self._model(event, ref, at)
        elif kind == "sample_init":
            yield from self._asked(event, ref, at)
        else:
            yield self._other(event, ref, at)
        if event.events != _NONE:
            yield from self._inner(event, text, ref, self.latest if kind == "tool" else inside)

    def _tool(self, event: _Recorded, ref: Ref, at: float | None, inside: str) -> Iterator[Row]:
        span = string(event.span_id)
        parent = inside or self._around(span)
        answered, failed = event.result is not None, bool(event.error)
        native = name_of(event.id)
        args = mapping(self.attachments.put_into(event.arguments))
        id_ = free(native, self.ids)
        call = self.timeline.call(
            id_,
            string(event.function) or "?",
            args,
            ref,
            native_id=native,
            level="nested" if inside else "model",
            parent=parent,
            at=at,
            ended=seconds(event.completed),
            duration=_lasted(event, at),
            status="error" if failed else "ok" if answered else "unanswered",
            status_source="flag" if failed or answered else "none",
            answered=answered,
            result_size=len(text_of(self.attachments.put_into(event.result))),
            permission=self.decisions.get(native, ""),
            counted=not native or id_ == native,
            result_ref=ref if answered else NOWHERE,
        )
        if span in self.tools:
            self.owners.setdefault(span, call.id)
        yield call
        yield from changes_of(call, args)
        self.latest = call.id

    def _sandbox(self, event: _Recorded, ref: Ref, at: float | None, inside: str) -> Iterator[Row]:
        """What a tool does in its sandbox: a call in the tool's call."""
        action, code = string(event.action), whole(event.result)
        args = mapping(self.attachments.put_into(_sandbox_args(event.cmd, event.file)))
        name = f"sandbox.{action}"
        call = self.timeline.call(
            free(name, self.ids),
            name,
            args,
            ref,
            level="nested",
            parent=inside or self._around(string(event.span_id)),
            at=at,
            ended=seconds(event.completed),
            duration=_lasted(event, at),
            status="unknown" if code is None else "error" if code else "ok",
            status_source="none" if code is None else "exit_code",
            exit_code=code,
            answered=event.output is not None or code is not None,
            result_size=len(text_of(event.output)),
            result_ref=ref,
        )
        yield msgspec.structs.replace(call, op={"exec": "shell", "read_file": "read", "write_file": "write"}.get(action, "other"))

    def _model(self, event: _Recorded, ref: Ref, at: float | None) -> Iterator[Row]:
        model = string(event.model)
        self.timeline.met(None, model)
        for choice in mappings(mapping(event.output).get("choices")):
            for said in pieces(self.attachments.put_into(choice.get("message")), "assistant"):
                if isinstance(said, Said):
                    key = name_of(mapping(choice.get("message")).get("id"))
                    fields = {"at": at, "role": "assistant", "model": model, "type": "model", "parent": string(event.span_id), "key": key}
                    yield self.timeline.event(said.kind, said.text, ref, **fields)
        if event.error:
            yield self.timeline.event("error", text_of(event.error), ref, at=at, model=model, type="model", parent=string(event.span_id))

    def _asked(self, event: _Recorded, ref: Ref, at: float | None) -> Iterator[Row]:
        given = self.attachments.put_into(mapping(event.sample).get("input"))
        for message in given if isinstance(given, list) else [given]:
            for said in pieces(message):
                if isinstance(said, Said):
                    yield self.timeline.event(said.kind, said.text, ref, at=at, role=said.role, type="sample_init")

    def _other(self, event: _Recorded, ref: Ref, at: float | None) -> Row:
        kind, span = string(event.event), name_of(event.id)
        if kind == "span_begin" and span:
            self.parents[span] = string(event.parent_id)
            self.tools |= {span} if event.type == "tool" else set()
        elif kind == "approval":
            self.decisions[name_of(mapping(event.call).get("id"))] = f"{string(event.decision)} ({string(event.approver)})"
        value = next((value for name in _TEXTS if (value := _plain(getattr(event, name)))), "")
        text = text_of(self.attachments.put_into(value))
        parent = string(event.parent_id) or string(event.span_id)
        return self.timeline.event(_KINDS.get(kind, "system"), text, ref, at=at, type=kind, key=span, parent=parent)

    def _inner(self, event: _Recorded, text: bytes, ref: Ref, inside: str) -> Iterator[Row]:
        """Events that are written in this one, as older logs do."""
        for begins, data in placed(text, raws(event.events)):
            yield from self.event(data, Ref(ref.offset + begins, len(data), 0, ref.file, ref.member), inside)

    def _around(self, span: str) -> str:
        """The call of the nearest span around that is a tool's; spans that lead back to themselves end it."""
        seen: set[str] = set()
        while span and span not in seen:
            if span in self.owners:
                return self.owners[span]
            seen.add(span)
            span = self.parents.get(span, "")
        return ""

    def end(self, ref: Ref, records: int) -> Iterator[Row]:
        """The session."""
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


def free(name: str, taken: set[str]) -> str:
    """The name, with a number where it is taken; it is then, too."""
    count, free_ = 1, name or "?"
    while free_ in taken:
        count += 1
        free_ = f"{name}#{count}"
    taken.add(free_)
    return free_


def raws(value: msgspec.Raw) -> list[msgspec.Raw]:
    """The items of a list, none where it is something else."""
    try:
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    except UNREADABLE:
        return []


def _recorded(text: bytes) -> _Recorded | None:
    try:
        return _EVENT.decode(text)
    except UNREADABLE:
        try:
            return msgspec.convert(decoded(text), _Recorded)
        except (TraceError, msgspec.ValidationError):
            return None


def args_of(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a tool's event or a sandbox's."""
    if event.get("event") == "sandbox":
        return _sandbox_args(event.get("cmd"), event.get("file")) | ({"input": event["input"]} if event.get("input") else {})
    return mapping(event.get("arguments"))


def result_of(event: Mapping[str, Any]) -> str:
    if event.get("event") == "sandbox":
        return text_of(event.get("output"))
    return text_of(event.get("result")) or text_of(mapping(event.get("error")).get("message"))


def _sandbox_args(command: Any, file: Any) -> dict[str, Any]:
    return {"command": command} if command is not None else {"path": file}


def _lasted(event: _Recorded, at: float | None) -> float | None:
    worked, ended = number(event.working_time), seconds(event.completed)
    return worked if worked is not None else ended - at if ended is not None and at is not None else None


def _plain(value: Any) -> Any:
    if isinstance(value, msgspec.Raw):
        try:
            return decoded(bytes(value))
        except TraceError:
            return None
    return value
