"""A trajectory on its way into rows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.traces.atif_extra import CallExtra, SessionExtra, told
from nbtools.traces.document import opened, parts, placed
from nbtools.traces.formats.atif.answers import (
    answers_to,
    arguments_in,
    brought,
    child_in,
    lasted,
    name_in,
    native_of,
    results_of,
    status_of,
)
from nbtools.traces.formats.atif.links import Links, embedded_names
from nbtools.traces.loose import mapping, mappings, name_of, number, string, text_of, whole
from nbtools.traces.model import PREVIEW, Call, Event, EventKind, FileChange, Origin, Problem, Ref, Row, Session, Tokens
from nbtools.traces.recalled import changes_of
from nbtools.traces.source import UNREADABLE
from nbtools.traces.stamps import seconds
from nbtools.traces.timeline import Timeline

_EDITS = {"Edit", "MultiEdit", "Write", "write_file", "replace", "str_replace_editor"}
_CHANGING = {"create", "str_replace", "insert"}
"""Commands of ``str_replace_editor`` that change a file."""
_KINDS: dict[str, EventKind] = {"user": "user", "agent": "assistant_text"}
_NONE = msgspec.Raw(b"null")
_DEEPEST = 50


class _Document(msgspec.Struct):
    schema_version: Any = None
    steps: msgspec.Raw = _NONE
    agent: Any = None
    final_metrics: Any = None
    extra: Any = None
    subagent_trajectories: msgspec.Raw = _NONE


def trajectory(
    text: bytes, at: Ref, origin: Origin, links: Links, *, counted: bool, first: int = 0, id_: str = "", depth: int = 0
) -> Generator[Row, None, int]:
    """A trajectory and those embedded in it; ``text`` is what stands at ``at``.

    It is longer than that where it was closed because the file is cut short.
    """
    document = opened(text, _Document, at.file)
    document = document._replace(end=min(document.end, at.length))
    yield from (Problem(at, problem.why, problem.recovered) for problem in document.problems)
    if document.value is None:
        return first
    reading = _Reading(document.value, id_ or links.session_of(at.file), origin, links, counted=counted, first=first)
    steps = _raws(document.value.steps)
    embedded = _raws(document.value.subagent_trajectories) if depth < _DEEPEST else []
    ids = [links.take(*embedded_names(bytes(raw)), f"{reading.id}.{number}") for number, raw in enumerate(embedded)]
    for part in parts(document, steps, at):
        yield from (part,) if isinstance(part, Problem) else reading.step(mapping(part[1]), part[0])
    yield from reading.end()
    yield reading.session(at, len(steps))
    first = reading.timeline.seq
    for (begins, data), child in zip(placed(document.text, embedded), ids, strict=True):
        here = Ref(at.offset + begins, max(min(len(data), document.end - begins), 0), file=at.file)
        first = yield from trajectory(data, here, origin, links, counted=False, first=first, id_=child, depth=depth + 1)
    return first


class _Reading:
    def __init__(self, document: _Document, id_: str, origin: Origin, links: Links, *, counted: bool, first: int) -> None:
        self.document, self.links, self.counted = document, links, counted
        self.id = id_
        self.agent = mapping(document.agent)
        self.timeline = Timeline(id_, origin, first)
        self.sums = {"step_input": 0, "step_output": 0}
        self.steps = 0
        self._ids: set[str] = set()
        self._waiting: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        """Calls without a result in their own step, with what is recorded of them."""
        self._natives: dict[str, list[str]] = {}

    def step(self, step: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        self.steps += 1
        at, metrics = seconds(step.get("timestamp")), mapping(step.get("metrics"))
        self.timeline.met(at, string(step.get("model_name")))
        self.sums["step_input"] += whole(metrics.get("prompt_tokens")) or 0
        self.sums["step_output"] += whole(metrics.get("completion_tokens")) or 0
        calls = mappings(step.get("tool_calls"))
        late = [*self._late(step)] if self._waiting and not calls else []
        yield from self._said(step, calls, at, ref, is_answer=bool(late))
        for waiting in late:
            yield from self._answered(*waiting, brought(step, waiting[0].native_id), ref, at)
        prefix = self._free(name_of(step.get("step_id")) or str(self.steps))
        for position, recorded in enumerate(calls):
            yield from self._call(step, recorded, f"{prefix}.{position}", at, ref)
        if not late:
            yield from self._seen(step, at, ref)

    def _said(self, step: Mapping[str, Any], calls: Sequence[Any], at: float | None, ref: Ref, *, is_answer: bool) -> Iterator[Row]:
        if reasoning := text_of(step.get("reasoning_content")):
            yield self._event(step, "thinking", reasoning, at, ref)
        message = step.get("message")
        for picture in mappings(message):
            if picture.get("type") in ("image", "audio"):
                yield self._event(step, "attachment", string(mapping(picture.get("source")).get("path")), at, ref)
        text = text_of(message)
        if not is_answer and (text or not (calls or reasoning)):
            yield self._event(step, _KINDS.get(string(step.get("source")), "system"), text, at, ref)

    def _event(self, step: Mapping[str, Any], kind: EventKind, text: str, at: float | None, ref: Ref) -> Event:
        copied = "copied_context" if step.get("is_copied_context") is True else ""
        fields = {"role": string(step.get("source")), "model": string(step.get("model_name")), "type": copied}
        return self.timeline.event(kind, text, ref, at=at, **fields)

    def _seen(self, step: Mapping[str, Any], at: float | None, ref: Ref) -> Iterator[Row]:
        """Results that are of no call, or of several: a screen that they share."""
        results = results_of(step, "")
        for one in results:
            yield self._event(step, "tool_result", text_of(one.get("content")), at, ref)
        for reference in child_in(results):
            self.links.child(reference, self.id, "")

    def _call(self, step: Mapping[str, Any], recorded: Mapping[str, Any], id_: str, at: float | None, ref: Ref) -> Iterator[Row]:
        native, extra = native_of(recorded), told(recorded, CallExtra)
        call = self.timeline.call(
            id_,
            name_in(recorded),
            arguments_in(recorded),
            ref,
            native_id=extra.native_id or native,
            level=extra.level,
            parent=extra.parent,
            at=at if extra.started is None else extra.started,
            ended=extra.ended,
            permission=extra.permission,
            live=extra.live,
            counted=self.counted,
        )
        told_of = {"op": extra.op or call.op, "subject": (extra.subject or call.subject)[:PREVIEW], "paths": extra.paths or call.paths}
        call = replace(call, **told_of)
        if answers := results_of(step, native) if native else []:
            yield from self._answered(call, recorded, answers, ref, None)
        elif results_of(step, ""):
            yield replace(call, status="unknown", result_ref=ref)
        elif extra.status is not None:
            yield replace(call, status=extra.status, status_source=extra.status_source, exit_code=extra.exit_code, duration=extra.duration)
        else:
            self._waiting[call.id] = (call, recorded)
            self._natives.setdefault(native, []).append(call.id)

    def _late(self, step: Mapping[str, Any]) -> Iterator[tuple[Call, Mapping[str, Any]]]:
        """The calls of earlier steps that this one has results of, by their ids.

        Of a producer who writes ``id``, or no id at all, a system's step answers the oldest call.
        """
        natives = {*answers_to(step)} - {""}
        found = [id_ for native in natives for id_ in self._natives.pop(native, ())]
        if not natives and step.get("source") == "system":
            found = [id_ for id_ in islice(self._waiting, 1) if "tool_call_id" not in self._waiting[id_][1]]
        late = [self._waiting.pop(id_) for id_ in found if id_ in self._waiting]
        yield from sorted(late, key=lambda one: one[0].seq)

    def _answered(
        self, call: Call, recorded: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], ref: Ref, at: float | None
    ) -> Iterator[Row]:
        extra = told(recorded, CallExtra)
        status, source, code = status_of(extra, recorded, answers, call.op)
        children = [self.links.child(one, self.id, call.id) or name_of(one.get("trajectory_id")) for one in child_in(answers)]
        call = replace(
            call,
            status=status,
            status_source=source,
            exit_code=code,
            answered=True,
            ended=call.ended if call.ended is not None else at,
            duration=extra.duration if extra.duration is not None else lasted(recorded, answers),
            result_size=sum(len(text_of(one.get("content"))) for one in answers),
            child=extra.child or next(filter(None, children), ""),
            result_ref=ref,
        )
        yield call
        yield from _changes(call, arguments_in(recorded), extra)

    def end(self) -> Iterator[Row]:
        """The calls that nothing answered."""
        yield from (call for call, _ in self._waiting.values())
        self._waiting.clear()

    def _free(self, step: str) -> str:
        """Step ids should be unique."""
        free = step if step not in self._ids else f"{step}#{self.steps}"
        self._ids.add(free)
        return free

    def session(self, ref: Ref, records: int) -> Session:
        metrics, extra = mapping(self.document.final_metrics), told({"extra": self.document.extra}, SessionExtra)
        names = {"input": "total_prompt_tokens", "output": "total_completion_tokens", "cache_read": "total_cached_tokens"}
        native = {key: count for key, name in names.items() if (count := whole(metrics.get(name))) is not None}
        parent, call = self.links.parents.get(self.id, ("", ""))
        before = self.links.continued.get(self.id, "")
        return Session(
            id=self.id,
            format="atif",
            format_version=string(self.document.schema_version).removeprefix("ATIF-v"),
            agent=string(self.agent.get("name")),
            agent_version=string(self.agent.get("version")),
            parent=extra.parent or parent,
            parent_call=extra.parent_call or call,
            title=extra.title or (f"continues {before}" if before else ""),
            cwd=extra.cwd,
            repository=extra.repository,
            branch=extra.branch,
            commit=extra.commit,
            flags=extra.flags,
            models=tuple(dict.fromkeys(filter(None, (string(self.agent.get("model_name")), *self.timeline.models)))),
            started=min(self.timeline.times, default=None),
            ended=max(self.timeline.times, default=None),
            records=records,
            tokens=Tokens(
                input=native["input"] - native.get("cache_read", 0) if "input" in native else None,
                cache_read=native.get("cache_read"),
                output=native.get("output"),
            ),
            native_tokens=native,
            cost=number(metrics.get("total_cost_usd")),
            counts={"schema_version": self.document.schema_version, "agent": self.agent.get("name"), **self.sums},
            ref=ref,
        )


def _changes(call: Call, args: Mapping[str, Any], extra: CallExtra) -> Iterator[FileChange]:
    """As recorded beside the format, else what the counting rules take for an edit."""
    for one in extra.changes:
        yield FileChange(session=call.session, call=call.id, **msgspec.structs.asdict(one))
    edits = call.name in _EDITS and (call.name != "str_replace_editor" or string(args.get("command")) in _CHANGING)
    if edits and extra.status is None and call.status != "error":
        path = string(args.get("path")) or string(args.get("file_path"))
        plain = FileChange(session=call.session, call=call.id, path=path)
        yield next((replace(change, path=path) for change in changes_of(call, args)), plain)


def _raws(value: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    except UNREADABLE:
        return []
