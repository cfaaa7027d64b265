"""Builds the rows of an ATIF trajectory, including the deviations of known producers."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.traces.atif_extra import CallExtra, SessionExtra, extra_of
from nbtools.traces.display_builders import changes_of, exit_code_of_result
from nbtools.traces.json_access import arguments, epoch_seconds, float_of, id_text, integer_of, mapping, mappings, string, text_of
from nbtools.traces.json_document import decode_items, locate_items, open_document
from nbtools.traces.model import (
    PREVIEW,
    Call,
    Event,
    EventKind,
    FileChange,
    Op,
    Origin,
    Problem,
    Ref,
    Row,
    Session,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.readers.atif.links import Links, embedded_names
from nbtools.traces.session_builder import SessionBuilder
from nbtools.traces.source import DECODE_ERRORS


def tool_name(recorded: Mapping[str, Any]) -> str:
    return next((text for key in ("function_name", "function", "name") if (text := string(recorded.get(key)))), "?")


def native_of(recorded: Mapping[str, Any]) -> str:
    return id_text(recorded.get("tool_call_id")) or id_text(recorded.get("id"))


def arguments_in(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments(next((recorded[key] for key in ("arguments", "args", "input") if key in recorded), None))


def results_of(step: Mapping[str, Any], native: str) -> list[Mapping[str, Any]]:
    """Returns the results of the call with this id in a step; with an empty id, the results that name no call."""
    return [one for one in mappings(mapping(step.get("observation")).get("results")) if id_text(one.get("source_call_id")) == native]


def results_in_later_step(step: Mapping[str, Any], native: str) -> list[Mapping[str, Any]]:
    """Returns the results in a later step for a call: by its id, or everything that the step contains."""
    found = results_of(step, native) if native else []
    return found or results_of(step, "") or [{"content": step.get("message")}]


def answers_to(step: Mapping[str, Any]) -> Iterator[str]:
    """Yields the ids of the calls whose results a step has."""
    yield from (id_text(one.get("source_call_id")) for one in mappings(mapping(step.get("observation")).get("results")))
    yield from (id_text(step.get(key)) for key in ("source_call_id", "tool_call_id") if step.get("source") != "agent")


def child_references(results: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yields the references to sub-agents' trajectories in results."""
    for one in results:
        references = one.get("subagent_trajectory_ref")
        yield from mappings(references if isinstance(references, list) else [references])


def status_of(
    extra: CallExtra, recorded: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], op: Op
) -> tuple[Status, StatusSource, int | None]:
    """Returns status, its source and exit code: from a producer's extra fields, or from a command's output.

    Otherwise only whether there is a result is known.
    """
    if extra.status is not None:
        return extra.status, extra.status_source, extra.exit_code
    fields = [extra_fields for one in (recorded, *answers) for extra_fields in _extra_fields(one)]
    code = next((code for one in fields if (code := integer_of(one.get("exit_code"))) is not None), None)
    if code is None and op == "shell":
        code = next((code for one in answers if (code := exit_code_of_result(text_of(one.get("content")))) is not None), None)
    flags = [flag for one in fields if isinstance(flag := one.get("is_error"), bool)]
    if flags:
        return ("error" if True in flags else "ok"), "flag", code
    if code is not None:
        return ("error" if code else "ok"), "exit_code", code
    return ("unknown" if answers else "unanswered"), "none", None


def recorded_duration(recorded: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns the duration in seconds, where a producer recorded it in extra fields."""
    durations = [float_of(fields.get("duration_ms")) for one in (recorded, *answers) for fields in _extra_fields(one)]
    return next((milliseconds / 1000 for milliseconds in durations if milliseconds is not None), None)


def _extra_fields(one: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    extra = mapping(one.get("extra"))
    return mapping(extra.get("metadata")), extra


_EDITS = {"Edit", "MultiEdit", "Write", "write_file", "replace", "str_replace_editor"}
_CHANGING_COMMANDS = {"create", "str_replace", "insert"}
"""Commands of ``str_replace_editor`` that change a file."""
_KINDS: dict[str, EventKind] = {"user": "user", "agent": "assistant_text"}
_NULL = msgspec.Raw(b"null")
_MAX_DEPTH = 50


class _Document(msgspec.Struct):
    schema_version: Any = None
    steps: msgspec.Raw = _NULL
    agent: Any = None
    final_metrics: Any = None
    extra: Any = None
    subagent_trajectories: msgspec.Raw = _NULL


def trajectory(
    text: bytes, at: Ref, origin: Origin, links: Links, *, counted: bool, first: int = 0, id_: str = "", depth: int = 0
) -> Generator[Row, None, int]:
    """Yields the rows of a trajectory and of those embedded in it; returns the next sequence number.

    ``text`` is what stands at ``at``; it is longer where a truncated document was closed.
    """
    document = open_document(text, _Document, at.file)
    document = document._replace(end=min(document.end, at.length))
    yield from (Problem(at, problem.why, problem.recovered) for problem in document.problems)
    if document.value is None:
        return first
    reading = _TrajectoryReader(document.value, id_ or links.session_of(at.file), origin, links, counted=counted, first=first)
    steps = _raw_items(document.value.steps)
    embedded = _raw_items(document.value.subagent_trajectories) if depth < _MAX_DEPTH else []
    ids = [links.register(*embedded_names(bytes(raw)), f"{reading.id}.{number}") for number, raw in enumerate(embedded)]
    for part in decode_items(document, steps, at):
        yield from (part,) if isinstance(part, Problem) else reading.step(mapping(part[1]), part[0])
    yield from reading.end()
    yield reading.session(at, len(steps))
    first = reading.timeline.seq
    for (begins, data), child in zip(locate_items(document.text, embedded), ids, strict=True):
        here = Ref(at.offset + begins, max(min(len(data), document.end - begins), 0), file=at.file)
        first = yield from trajectory(data, here, origin, links, counted=False, first=first, id_=child, depth=depth + 1)
    return first


class _TrajectoryReader:
    def __init__(self, document: _Document, id_: str, origin: Origin, links: Links, *, counted: bool, first: int) -> None:
        self.document, self.links, self.counted = document, links, counted
        self.id = id_
        self.agent = mapping(document.agent)
        self.timeline = SessionBuilder(id_, origin, first)
        self.sums = {"step_input": 0, "step_output": 0}
        self.steps = 0
        self._ids: set[str] = set()
        self._waiting: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        """Calls without a result in their own step, with their records."""
        self._natives: dict[str, list[str]] = {}

    def step(self, step: Mapping[str, Any], ref: Ref) -> Iterator[Row]:
        self.steps += 1
        at, metrics = epoch_seconds(step.get("timestamp")), mapping(step.get("metrics"))
        self.timeline.note_time_and_model(at, string(step.get("model_name")))
        self.sums["step_input"] += integer_of(metrics.get("prompt_tokens")) or 0
        self.sums["step_output"] += integer_of(metrics.get("completion_tokens")) or 0
        calls = mappings(step.get("tool_calls"))
        late = [*self._answered_calls(step)] if self._waiting and not calls else []
        yield from self._messages(step, calls, at, ref, is_answer=bool(late))
        for waiting in late:
            yield from self._with_result(*waiting, results_in_later_step(step, waiting[0].native_id), ref, at)
        prefix = self._unique_id(id_text(step.get("step_id")) or str(self.steps))
        for position, recorded in enumerate(calls):
            yield from self._call(step, recorded, f"{prefix}.{position}", at, ref)
        if not late:
            yield from self._shared_results(step, at, ref)

    def _messages(self, step: Mapping[str, Any], calls: Sequence[Any], at: float | None, ref: Ref, *, is_answer: bool) -> Iterator[Row]:
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

    def _shared_results(self, step: Mapping[str, Any], at: float | None, ref: Ref) -> Iterator[Row]:
        """Yields results that belong to no single call, such as a screen shared by several."""
        results = results_of(step, "")
        for one in results:
            yield self._event(step, "tool_result", text_of(one.get("content")), at, ref)
        for reference in child_references(results):
            self.links.child(reference, self.id, "")

    def _call(self, step: Mapping[str, Any], recorded: Mapping[str, Any], id_: str, at: float | None, ref: Ref) -> Iterator[Row]:
        native, extra = native_of(recorded), extra_of(recorded, CallExtra)
        call = self.timeline.call(
            id_,
            tool_name(recorded),
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
        known = {"op": extra.op or call.op, "subject": (extra.subject or call.subject)[:PREVIEW], "paths": extra.paths or call.paths}
        call = replace(call, **known)
        if answers := results_of(step, native) if native else []:
            yield from self._with_result(call, recorded, answers, ref, None)
        elif results_of(step, ""):
            yield replace(call, status="unknown", result_ref=ref)
        elif extra.status is not None:
            yield replace(call, status=extra.status, status_source=extra.status_source, exit_code=extra.exit_code, duration=extra.duration)
        else:
            self._waiting[call.id] = (call, recorded)
            self._natives.setdefault(native, []).append(call.id)

    def _answered_calls(self, step: Mapping[str, Any]) -> Iterator[tuple[Call, Mapping[str, Any]]]:
        """Yields the calls of earlier steps whose results are in this step, by their ids.

        For producers that write ``id``, or no id at all, a system step answers the oldest waiting call.
        """
        natives = {*answers_to(step)} - {""}
        found = [id_ for native in natives for id_ in self._natives.pop(native, ())]
        if not natives and step.get("source") == "system":
            found = [id_ for id_ in islice(self._waiting, 1) if "tool_call_id" not in self._waiting[id_][1]]
        late = [self._waiting.pop(id_) for id_ in found if id_ in self._waiting]
        yield from sorted(late, key=lambda one: one[0].seq)

    def _with_result(
        self, call: Call, recorded: Mapping[str, Any], answers: Sequence[Mapping[str, Any]], ref: Ref, at: float | None
    ) -> Iterator[Row]:
        extra = extra_of(recorded, CallExtra)
        status, source, code = status_of(extra, recorded, answers, call.op)
        children = [self.links.child(one, self.id, call.id) or id_text(one.get("trajectory_id")) for one in child_references(answers)]
        call = replace(
            call,
            status=status,
            status_source=source,
            exit_code=code,
            answered=True,
            ended=call.ended if call.ended is not None else at,
            duration=extra.duration if extra.duration is not None else recorded_duration(recorded, answers),
            result_size=sum(len(text_of(one.get("content"))) for one in answers),
            child=extra.child or next(filter(None, children), ""),
            result_ref=ref,
        )
        yield call
        yield from _changes(call, arguments_in(recorded), extra)

    def end(self) -> Iterator[Row]:
        """Yields the calls without a result."""
        yield from (call for call, _ in self._waiting.values())
        self._waiting.clear()

    def _unique_id(self, step: str) -> str:
        """Returns the step's id, made unique."""
        unique_id = step if step not in self._ids else f"{step}#{self.steps}"
        self._ids.add(unique_id)
        return unique_id

    def session(self, ref: Ref, records: int) -> Session:
        metrics, extra = mapping(self.document.final_metrics), extra_of({"extra": self.document.extra}, SessionExtra)
        names = {"input": "total_prompt_tokens", "output": "total_completion_tokens", "cache_read": "total_cached_tokens"}
        native = {key: count for key, name in names.items() if (count := integer_of(metrics.get(name))) is not None}
        parent, call = self.links.parents.get(self.id, ("", ""))
        previous = self.links.continued.get(self.id, "")
        return Session(
            id=self.id,
            format="atif",
            format_version=string(self.document.schema_version).removeprefix("ATIF-v"),
            agent=string(self.agent.get("name")),
            agent_version=string(self.agent.get("version")),
            parent=extra.parent or parent,
            parent_call=extra.parent_call or call,
            title=extra.title or (f"continues {previous}" if previous else ""),
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
            cost=float_of(metrics.get("total_cost_usd")),
            counts={"schema_version": self.document.schema_version, "agent": self.agent.get("name"), **self.sums},
            ref=ref,
        )


def _changes(call: Call, args: Mapping[str, Any], extra: CallExtra) -> Iterator[FileChange]:
    """Yields file changes as recorded in extra fields, otherwise those that the counting rules treat as edits."""
    for one in extra.changes:
        yield FileChange(session=call.session, call=call.id, **msgspec.structs.asdict(one))
    edits = call.name in _EDITS and (call.name != "str_replace_editor" or string(args.get("command")) in _CHANGING_COMMANDS)
    if edits and extra.status is None and call.status != "error":
        path = string(args.get("path")) or string(args.get("file_path"))
        plain = FileChange(session=call.session, call=call.id, path=path)
        yield next((replace(change, path=path) for change in changes_of(call, args)), plain)


def _raw_items(value: msgspec.Raw) -> list[msgspec.Raw]:
    try:
        return msgspec.json.decode(value, type=list[msgspec.Raw])
    except DECODE_ERRORS:
        return []
