"""Reads ATIF 1.x, the Agent Trajectory Interchange Format of Harbor.

A trajectory is one JSON document, with results in the step of their calls.

The format has no flag for errors, no durations and no diffs: they are read from ``extra`` where a producer
stored them there (``atif_extra`` defines our fields). Some producers omit call ids, write ``id`` and
``name``, put results into a step of their own (even before the call's), or write the version without its
prefix. Sub-agents are embedded or in separate files, and a trajectory may be continued in another file;
embedded trajectories are not counted in facts.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import asdict, replace

from nbtools.core.result import Media
from nbtools.traces.atif_extra import CallExtra, ResultExtra, SessionExtra, extra_of
from nbtools.traces.conversation import tokens_of
from nbtools.traces.display_builders import changes_of, detail_of, exit_code_of_result
from nbtools.traces.display_json import diffs_of, display_from_json
from nbtools.traces.json_access import (
    arguments,
    counts_in,
    epoch_seconds,
    first_string,
    float_of,
    id_text,
    integer_of,
    mapping,
    mappings,
    string,
    text_of,
)
from nbtools.traces.json_document import NULL, decode_items, locate_items, open_document, raw_items
from nbtools.traces.model import (
    PREVIEW,
    Call,
    Detail,
    EventKind,
    FileChange,
    Op,
    Origin,
    Problem,
    Ref,
    Row,
    Status,
    StatusSource,
    Tokens,
)
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.atif.links import Links, embedded_names, images_in, linked_files
from nbtools.traces.session_builder import (
    LogBuilder,
    SessionBuilder,
    call_number,
    status_of_exit_code,
    status_of_flag,
)
from nbtools.traces.source import Source

_EDITS = {"Edit", "MultiEdit", "Write", "write_file", "replace", "str_replace_editor"}
_CHANGING_COMMANDS = {"create", "str_replace", "insert"}
"""Commands of ``str_replace_editor`` that change a file."""
_KINDS: dict[str, EventKind] = {"user": "user", "agent": "assistant_text"}
_BARE_VERSION = re.compile(rb'"schema_version"\s*:\s*"v?1\.\d{1,3}(?:\.\d{1,3})?"')
_MAX_DEPTH = 50


class _Document(msgspec.Struct):
    schema_version: Any = None
    steps: msgspec.Raw = NULL
    agent: Any = None
    final_metrics: Any = None
    extra: Any = None
    subagent_trajectories: msgspec.Raw = NULL


class Atif(Format):
    name = "atif"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        if not head.has("schema_version", "steps"):
            return False
        return b'"ATIF-v' in head.start or (
            _BARE_VERSION.search(head.start) is not None and head.has("step_id", "source")
        )

    def files(self, path: Path) -> Sequence[Path]:
        return linked_files(path)

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        links, log = Links(source), LogBuilder(self.name, origin)
        for file in range(len(source.files)):
            text = source.read_file(file)
            yield from _trajectory(text, Ref(0, len(text), file=file), log, links, counted=file == 0)

    def detail(self, source: Source, call: Call) -> Detail:
        step = mapping(source.record(call.ref))
        calls = mappings(step.get("tool_calls"))
        position = call_number(call)
        recorded = calls[position] if position < len(calls) else {}
        native = native_of(recorded)
        if call.result_ref in {call.ref, Ref(0, 0)}:
            results = results_of(step, native) or results_of(step, "")
        else:
            results = results_in_later_step(mapping(source.record(call.result_ref)), native)
        content = [one.get("content") for one in results]
        media = tuple(images_in(content, source.files[call.ref.file].parent))
        detail = detail_of(call, arguments_in(recorded), "\n".join(map(text_of, content)), media)
        detail = dataclasses.replace(detail, cwd=extra_of(recorded, CallExtra).cwd or detail.cwd)
        return _with_recorded_display(detail, extra_of(results[0], ResultExtra)) if results else detail


def _with_recorded_display(detail: Detail, recorded: ResultExtra) -> Detail:
    """Returns the detail with the display that was recorded, where there is one."""
    if recorded.plain:
        return dataclasses.replace(detail, display=detail.result)
    if recorded.display is None:
        return detail
    display = display_from_json(recorded.display, detail.result)
    media = (display,) if isinstance(display, Media) else detail.media
    changes = diffs_of(display) or detail.changes
    return dataclasses.replace(detail, display=display, changes=changes, media=media)


def _trajectory(
    text: bytes, at: Ref, log: LogBuilder, links: Links, *, counted: bool, id_: str = "", depth: int = 0
) -> Iterator[Row]:
    """Yields the rows of a trajectory and of those embedded in it.

    ``text`` is what stands at ``at``; it is longer where a truncated document was closed.
    """
    document = open_document(text, _Document, at.file)
    document = document._replace(end=min(document.end, at.length))
    yield from (Problem(at, problem.why, problem.recovered) for problem in document.problems)
    if document.value is None:
        return
    reading = _TrajectoryReader(
        SessionBuilder(log, id_ or links.session_of(at.file)), document.value, links, counted=counted
    )
    steps = raw_items(document.value.steps)
    embedded = raw_items(document.value.subagent_trajectories) if depth < _MAX_DEPTH else []
    ids = [
        links.register(*embedded_names(bytes(raw)), f"{reading.session.id}.{number}")
        for number, raw in enumerate(embedded)
    ]
    yield from log.read(decode_items(document, steps, at), reading.step)
    reading.end(at, len(steps))
    yield from log.take()
    for (begins, data), child in zip(locate_items(document.text, embedded), ids, strict=True):
        here = Ref(at.offset + begins, max(min(len(data), document.end - begins), 0), file=at.file)
        yield from _trajectory(data, here, log, links, counted=False, id_=child, depth=depth + 1)


_METRICS = {"prompt_tokens": "input", "completion_tokens": "output", "cached_tokens": "cache_read"}


class _TrajectoryReader:
    """Adds the steps of a trajectory. The calls that wait for a result in a later step wait with their
    records.
    """

    def __init__(self, session: SessionBuilder, document: _Document, links: Links, *, counted: bool) -> None:
        self.session, self.document, self.links, self.counted = session, document, links, counted
        self.agent = mapping(document.agent)
        self.sums = {"step_input": 0, "step_output": 0}
        self.spent: list[dict[str, int]] = []
        self.continues = False
        """Whether steps were copied from an earlier trajectory, whose tokens and cost the totals include."""
        self._step_ids: set[str] = set()
        self._known_ids: set[str] = set()
        """The log's own ids of the calls so far."""
        self._early: dict[str, tuple[Mapping[str, Any], float | None, Ref]] = {}
        """Steps with results of calls that have not come yet, by the calls' ids."""

    def step(self, record: Any, ref: Ref) -> None:
        step, session = mapping(record), self.session
        session.records += 1
        self.continues |= step.get("is_copied_context") is True
        at, metrics = epoch_seconds(step.get("timestamp")), mapping(step.get("metrics"))
        first = session.log.seq + 1
        session.see(at, string(step.get("model_name")))
        self.sums["step_input"] += integer_of(metrics.get("prompt_tokens")) or 0
        self.sums["step_output"] += integer_of(metrics.get("completion_tokens")) or 0
        calls = mappings(step.get("tool_calls"))
        late = [] if calls else self._answered_calls(step)
        early: list[str] = []
        if not calls and not late:
            early = [native for native in answers_to(step) if native and native not in self._known_ids]
        self._early |= dict.fromkeys(early, (step, at, ref))
        self._messages(step, calls, at, ref, is_answer=bool(late or early))
        for call, recorded in late:
            self._with_result(call, recorded, results_in_later_step(step, call.native_id), ref, at)
        step_id = id_text(step.get("step_id")) or str(session.records)
        prefix = step_id if step_id not in self._step_ids else f"{step_id}#{session.records}"
        self._step_ids.add(prefix)
        for position, recorded in enumerate(calls):
            self._call(step, recorded, f"{prefix}.{position}", at, ref)
        if not late and not early:
            self._shared_results(step, at, ref)
        if metrics:
            self._request(step, metrics, ref, at, first)

    def _request(
        self, step: Mapping[str, Any], metrics: Mapping[str, Any], ref: Ref, at: float | None, first: int
    ) -> None:
        """Adds the request of a step. A step copied from an earlier trajectory was paid for there."""
        used = counts_in(metrics, _METRICS)
        cost = float_of(metrics.get("cost_usd"))
        if (used or cost is not None) and step.get("is_copied_context") is not True:
            self.spent.append(used)
            model = string(step.get("model_name")) or string(self.agent.get("model_name"))
            key = id_text(step.get("step_id"))
            self.session.request(tokens_of(used), ref, first, id=key, model=model, at=at, cost=cost)

    def _messages(
        self, step: Mapping[str, Any], calls: Sequence[Any], at: float | None, ref: Ref, *, is_answer: bool
    ) -> None:
        if reasoning := text_of(step.get("reasoning_content")):
            self._event(step, "thinking", reasoning, at, ref)
        message = step.get("message")
        for picture in mappings(message):
            if picture.get("type") in ("image", "audio"):
                self._event(step, "attachment", string(mapping(picture.get("source")).get("path")), at, ref)
        text = text_of(message)
        if not is_answer and (text or not (calls or reasoning)):
            self._event(step, _KINDS.get(string(step.get("source")), "system"), text, at, ref)

    def _event(self, step: Mapping[str, Any], kind: EventKind, text: str, at: float | None, ref: Ref) -> None:
        copied = "copied_context" if step.get("is_copied_context") is True else ""
        role, model = string(step.get("source")), string(step.get("model_name"))
        self.session.message(kind, text, ref, at, role, model, copied)

    def _shared_results(self, step: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        """Adds results that belong to no single call, such as a screen shared by several."""
        results = results_of(step, "")
        for one in results:
            self._event(step, "tool_result", text_of(one.get("content")), at, ref)
        for reference in child_references(results):
            self.links.child(reference, self.session.id, "")

    def _call(
        self, step: Mapping[str, Any], recorded: Mapping[str, Any], id_: str, at: float | None, ref: Ref
    ) -> None:
        native, extra = native_of(recorded), extra_of(recorded, CallExtra)
        self._known_ids.add(native)
        call = self.session.call(
            id_,
            tool_name(recorded),
            ref,
            arguments_in(recorded),
            native_id=extra.native_id or native,
            level=extra.level,
            by_sub_agent=extra.by_sub_agent,
            parent=extra.parent,
            at=at if extra.started is None else extra.started,
            ended=extra.ended,
            permission=extra.permission,
            counted=self.counted,
        )
        if extra.op or extra.subject or extra.paths or not extra.live:
            call = replace(
                call,
                op=extra.op or call.op,
                subject=(extra.subject or call.subject)[:PREVIEW],
                paths=extra.paths or call.paths,
                live=extra.live,
            )
        if answers := results_of(step, native) if native else []:
            self._with_result(call, recorded, answers, ref, None)
        elif native in self._early:
            answer, answered_at, place = self._early.pop(native)
            self._with_result(call, recorded, results_in_later_step(answer, native), place, answered_at)
        elif results_of(step, ""):
            self.session.add(replace(call, status="unknown", result_ref=ref))
        elif extra.status is not None:
            status: dict[str, Any] = {"status": extra.status, "status_source": extra.status_source}
            self.session.add(replace(call, **status, exit_code=extra.exit_code, duration=extra.duration))
        else:
            self.session.wait(call, recorded)

    def _answered_calls(self, step: Mapping[str, Any]) -> list[tuple[Call, Mapping[str, Any]]]:
        """Returns the calls of earlier steps whose results are in this step, by their ids.

        For producers that write ``id``, or no id at all, a system step answers the oldest waiting call.
        """
        natives = {*answers_to(step)} - {""}
        found = [waiting for native in natives for waiting in self.session.all_waiting(native)]
        if not natives and step.get("source") == "system":
            oldest = self.session.all_waiting()[:1]
            found = [waiting for waiting in oldest if "tool_call_id" not in waiting[1]]
        for call, _ in found:
            self.session.take(call)
        return sorted(found, key=lambda waiting: waiting[0].seq)

    def _with_result(
        self,
        call: Call,
        recorded: Mapping[str, Any],
        answers: Sequence[Mapping[str, Any]],
        ref: Ref,
        at: float | None,
    ) -> None:
        extra = extra_of(recorded, CallExtra)
        status, source, code = status_of(extra, recorded, answers, call.op)
        session = self.session.id
        children = [
            self.links.child(one, session, call.id) or id_text(one.get("trajectory_id"))
            for one in child_references(answers)
        ]
        self.session.result(
            call,
            ref,
            sum(len(text_of(one.get("content"))) for one in answers),
            call.ended if call.ended is not None else at,
            status,
            source,
            _changes(replace(call, status=status, answered=True), arguments_in(recorded), extra),
            extra.duration if extra.duration is not None else recorded_duration(recorded, answers),
            exit_code=code,
            child=extra.child or next(filter(None, children), ""),
        )

    def end(self, ref: Ref, records: int) -> None:
        for missing, (step, at, place) in self._early.items():
            for result in results_in_later_step(step, missing):
                self._event(step, "tool_result", text_of(result.get("content")), at, place)
        metrics = mapping(self.document.final_metrics)
        extra = extra_of({"extra": self.document.extra}, SessionExtra)
        native = counts_in(metrics, {f"total_{key}": name for key, name in _METRICS.items()})
        sums = {
            name: sum(counts)
            for name in _METRICS.values()
            if (counts := [one[name] for one in self.spent if name in one])
        }
        version = self.document.schema_version
        parent, call = self.links.parents.get(self.session.id, ("", ""))
        own, cost = {**sums, **native}, float_of(metrics.get("total_cost_usd"))
        if self.continues:
            costs = [request.cost for request in self.session.requests]
            complete = costs and None not in costs
            own, cost = sums, sum(filter(None, costs)) if complete else None
        previous = self.links.continued.get(self.session.id, "")
        known = {name: value for name, value in asdict(extra).items() if name != "format"}
        known |= {"parent": extra.parent or parent, "parent_call": extra.parent_call or call}
        known["title"] = extra.title or (f"continues {previous}" if previous else "")
        models = (string(self.agent.get("model_name")), *self.session.models)
        self.session.end(
            Tokens() if self.continues else None,
            **known,
            format_version=string(version).removeprefix("ATIF-").removeprefix("v"),
            agent=string(self.agent.get("name")),
            agent_version=string(self.agent.get("version")),
            models=tuple(dict.fromkeys(filter(None, models))),
            records=records,
            tokens=tokens_of(own),
            native_tokens=native,
            cost=cost,
            counts={"schema_version": version, "agent": self.agent.get("name"), **self.sums},
            ref=ref,
        )


def _changes(call: Call, args: Mapping[str, Any], extra: CallExtra) -> Iterator[FileChange]:
    """Yields file changes from extra fields, otherwise those that the counting rules treat as edits."""
    for one in extra.changes:
        yield FileChange(session=call.session, call=call.id, **asdict(one))
    edits = call.name in _EDITS and (
        call.name != "str_replace_editor" or string(args.get("command")) in _CHANGING_COMMANDS
    )
    if edits and extra.status is None and call.status != "error":
        path = string(args.get("path")) or string(args.get("file_path"))
        plain = FileChange(session=call.session, call=call.id, path=path)
        yield next((replace(change, path=path) for change in changes_of(call, args)), plain)


def tool_name(recorded: Mapping[str, Any]) -> str:
    return first_string(recorded, ("function_name", "function", "name")) or "?"


def native_of(recorded: Mapping[str, Any]) -> str:
    return id_text(recorded.get("tool_call_id")) or id_text(recorded.get("id"))


def arguments_in(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    return arguments(next((recorded[key] for key in ("arguments", "args", "input") if key in recorded), None))


def results_of(step: Mapping[str, Any], native: str) -> list[Mapping[str, Any]]:
    """Returns a step's results of the call with this id; with an empty id, the results that name no call."""
    results = mappings(mapping(step.get("observation")).get("results"))
    return [one for one in results if id_text(one.get("source_call_id")) == native]


def results_in_later_step(step: Mapping[str, Any], native: str) -> list[Mapping[str, Any]]:
    """Returns the results in a later step for a call: by its id, or everything that the step contains."""
    found = results_of(step, native) if native else []
    return found or results_of(step, "") or [{"content": step.get("message")}]


def answers_to(step: Mapping[str, Any]) -> Iterator[str]:
    """Yields the ids of the calls whose results a step has."""
    for one in mappings(mapping(step.get("observation")).get("results")):
        yield id_text(one.get("source_call_id"))
    if step.get("source") != "agent":
        yield from (id_text(step.get(key)) for key in ("source_call_id", "tool_call_id"))


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
        codes = (exit_code_of_result(text_of(one.get("content"))) for one in answers)
        code = next((code for code in codes if code is not None), None)
    flags = [flag for one in fields if isinstance(flag := one.get("is_error"), bool)]
    if flags:
        return *status_of_flag(True in flags), code
    if not answers and code is None:
        return "unanswered", "none", None
    return *status_of_exit_code(code), code


def recorded_duration(recorded: Mapping[str, Any], answers: Sequence[Mapping[str, Any]]) -> float | None:
    """Returns the duration in seconds, where a producer recorded it in extra fields."""
    durations = [
        float_of(fields.get("duration_ms")) for one in (recorded, *answers) for fields in _extra_fields(one)
    ]
    return next((milliseconds / 1000 for milliseconds in durations if milliseconds is not None), None)


def _extra_fields(one: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    extra = mapping(one.get("extra"))
    return mapping(extra.get("metadata")), extra
