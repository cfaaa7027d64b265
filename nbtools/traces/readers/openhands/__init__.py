"""Reads logs of OpenHands 0 and 1.

A log has events as a JSON list or as lines, is an evaluation's ``output.jsonl`` with a run per line,
or is a folder with a file per event.

Calls and results are joined by ``cause``, because ``tool_call_id`` is not unique: some models give every call
the same. Older evaluations have ``[action, observation]`` pairs. Version 1 writes
``events/event-00000-<id>.json``; version 0 used ``events/0.json`` likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from nbtools.core.decoders import decoder_of
from nbtools.core.errors import TraceError
from nbtools.traces.conversation import tokens_of
from nbtools.traces.json_access import (
    epoch_seconds,
    float_of,
    id_text,
    integer_of,
    items,
    mapping,
    mappings,
    string,
)
from nbtools.traces.json_document import (
    JsonDocument,
    decode_array,
    decode_items,
    is_json_lines,
    open_document,
)
from nbtools.traces.model import NOWHERE, Call, Detail, EventKind, FileChange, Origin, Problem, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.openhands.events import (
    arguments_of,
    changes_of,
    detail_of,
    extras_of,
    has_ended,
    is_answer,
    is_call,
    is_call_of_acp,
    is_counted,
    kind_of,
    name_of_call,
    native_id,
    op_of,
    outcome_of,
    result_of,
    text_of_event,
    thought_of,
    type_of,
)
from nbtools.traces.readers.openhands.usage import TOKEN_NAMES, RunUsage, token_counts
from nbtools.traces.session_builder import LogBuilder, SessionBuilder, duration_of
from nbtools.traces.source import DECODE_ERRORS, Source, decode_json, read_regular

_FILE = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9a-fA-F-]{8,})?\.json")
_V1 = {"source", "kind", "timestamp"}
_BEGINNING = re.compile(rb'\[?\s*\{\s*"(?:id|timestamp|source|kind)"\s*:')
"""The beginning of an event, whose kind comes last, after a prompt that may be long."""


class _Line(msgspec.Struct):
    history: msgspec.Raw = msgspec.Raw(b"null")
    instance_id: Any = None
    metrics: Any = None


_SUBJECTS = (
    "command",
    "path",
    "code",
    "pattern",
    "url",
    "browser_actions",
    "query",
    "task",
    "final_thought",
    "message",
    "thought",
    "name",
)
_WORKSPACE_KEYS = ("working_dir", "repo_name", "repo_branch")
_THOUGHTS: tuple[EventKind, EventKind] = ("thinking", "assistant_text")


_EVENT = re.compile(
    rb'"kind"\s*:\s*"(?:SystemPrompt|Message|Action|Observation|AgentError|ConversationStateUpdate)Event"'
)


class OpenHands(Format):
    name = "openhands"

    def recognises(self, head: Head) -> bool:
        if head.path.is_dir():
            return bool(_event_files(head.path))
        first = head.first
        if isinstance(first, list):
            return any(_is_event(one) for one in first[:5])
        if isinstance(first, dict):
            run = "instance_id" in first or "metrics" in first or "test_result" in first
            return _is_event(first) or (
                isinstance(first.get("history"), list) and run and "trajectory" not in first
            )
        start = head.start.lstrip()
        if (
            _BEGINNING.match(start)
            and head.has("source", "timestamp")
            and (head.has("llm_message") or head.has("system_prompt"))
        ):
            return True
        if start.startswith(b"["):
            return head.has("source", "timestamp", "action", "args")
        return start.startswith(b"{") and head.has("instance_id") and _evaluation(head)

    def unreadable_variant(self, head: Head) -> str:
        return "OpenHands in an unknown variant" if head.is_json and _EVENT.search(head.start) else ""

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the other event files of the folder."""
        if not path.is_dir() and not _FILE.fullmatch(path.name):
            return ()
        if not path.is_dir() and not _holds_an_event(path):
            return ()
        return [other for other in _event_files(path if path.is_dir() else path.parent) if other != path]

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        is_event_file = _FILE.fullmatch(source.path.name) and _holds_an_event(source.path)
        if source.path.is_dir() or len(source.files) > 1 or is_event_file:
            yield from _folder(source, log)
        elif not _is_list(source) and is_json_lines(source):
            yield from _lines(source, log)
        else:
            yield from _document(source, log)
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        request = _event_of_pair(source.record(call.ref), 0)
        answer = _event_of_pair(source.record(call.result_ref), 1) if call.result_ref.length else {}
        return detail_of(call, request, answer)


def _folder(source: Source, log: LogBuilder) -> Iterator[Row]:
    numbered = [
        (int(found[1]), number)
        for number, path in enumerate(source.files)
        if (found := _FILE.fullmatch(path.name))
    ]
    folder = source.files[numbered[0][1]].parent
    run = _Run(log.session((folder.parent if folder.name == "events" else folder).name))
    yield from log.read((_event_file(source, file) for _, file in sorted(numbered)), run.record)
    run.end(_metrics_of_state(_final_state(folder)), NOWHERE)


def _final_state(folder: Path) -> Mapping[str, Any]:
    """Returns the state that version 1 keeps beside its folder of events,
    as an update of the state would have it.
    """
    try:
        state = (
            decode_json(read_regular(folder.parent / "base_state.json")) if folder.name == "events" else None
        )
    except (OSError, TraceError, *DECODE_ERRORS):
        state = None
    return {"kind": "ConversationStateUpdateEvent", "value": state}


def _event_file(source: Source, file: int) -> tuple[Ref, Any] | Problem:
    ref = NOWHERE
    try:
        data = source.read_file(file)
        ref = Ref(0, len(data), 0, file)
        return ref, decode_json(data)
    except TraceError as error:
        return Problem(ref, str(error))


def _lines(source: Source, log: LogBuilder) -> Iterator[Row]:
    """Yields the rows of lines that are runs, or events of one run."""
    run_of_lines = _Run(SessionBuilder(log, source.path.stem))

    for line in source.lines(lambda line: (line, decoder_of(_Line).decode(line))):
        if isinstance(line, Problem):
            yield line
            continue
        ref, (text, recorded) = line
        if _holds_history(recorded):
            yield from _recorded_run(source, log, ref, JsonDocument(recorded, text, len(text)))
        else:
            run_of_lines.record(decode_json(text), ref)
            yield from log.take()
    if run_of_lines.session.records:
        run_of_lines.end({}, Ref(0, source.path.stat().st_size))


def _document(source: Source, log: LogBuilder) -> Iterator[Row]:
    """Yields the rows of a list of events, of a single run, or of a single event,
    formatted over many lines.
    """
    text = source.read_file()
    ref = Ref(0, len(text))
    is_list = _is_list(source)
    document: JsonDocument[Any] = open_document(text, list[msgspec.Raw] if is_list else _Line)
    yield from document.problems
    if not is_list and document.value is None:
        return
    if not is_list and _holds_history(document.value or _Line()):
        yield from _recorded_run(source, log, ref, document)
        return
    run = _Run(log.session(source.path.stem))
    if is_list:
        yield from log.read(decode_items(document, document.value or []), run.record)
    else:
        run.record(decode_json(document.text), ref)
    run.end({}, ref)


def _holds_history(recorded: _Line) -> bool:
    return bytes(recorded.history) != b"null" or recorded.instance_id is not None


def _recorded_run(source: Source, log: LogBuilder, ref: Ref, document: JsonDocument[_Line]) -> Iterator[Row]:
    recorded = document.value or _Line()
    run = _Run(log.session(string(recorded.instance_id) or source.path.stem))
    yield from log.read(decode_array(document, recorded.history, ref), run.record)
    run.end(mapping(recorded.metrics), ref)


class _Run:
    """Adds the events of a run.

    Calls wait for their results until the end, as a result may be followed by another; an observation names
    the event that caused it, by an id that is unique in the run.
    """

    def __init__(self, session: SessionBuilder) -> None:
        self.session = session
        self.calls: dict[str, tuple[Call, Mapping[str, Any]]] = {}
        self.changes: dict[str, FileChange] = {}
        self.metrics: Mapping[str, Any] = {}
        self.workspace: dict[str, str] = {}
        self.version = "0"
        self.usage = RunUsage(session)

    def record(self, record: Any, ref: Ref) -> None:
        if isinstance(record, list):
            self._pair(_event_of_pair(record, 0), _event_of_pair(record, 1), ref)
        elif isinstance(record, dict):
            self._event(record, ref)
        else:
            self.session.add(Problem(ref, "This record is not an event."))

    def _pair(self, action: Mapping[str, Any], observation: Mapping[str, Any], ref: Ref) -> None:
        """Adds a pair of older histories: an action and its observation, without ids."""
        position = f"pair.{self.session.records}"
        self._event({**action, "id": position}, ref)
        if observation.get("observation") is not None:
            self._event({**observation, "cause": position}, ref)
        else:
            self.session.records += 1

    def _event(self, event: Mapping[str, Any], ref: Ref) -> None:
        at, first = epoch_seconds(event.get("timestamp")), self.session.log.seq + 1
        self.session.records += 1
        totals = self._note(event, at)
        if is_call_of_acp(event):
            self._call_of_acp(event, at, ref)
        elif is_call(event):
            self._call(event, at, ref)
        elif is_answer(event) and (waiting := self._answered_call(event)) is not None:
            self._answer(waiting, event, at, ref)
        else:
            self._message(kind_of(event), text_of_event(event), event, at, ref)
        self.usage.add(event, totals, first, at, ref)

    def _note(self, event: Mapping[str, Any], at: float | None) -> Mapping[str, Any]:
        """Notes what an event says about the run, and returns the running totals in it."""
        self.session.see(
            at, string(mapping(mapping(event.get("tool_call_metadata")).get("model_response")).get("model"))
        )
        totals = mapping(event.get("llm_metrics")) or _metrics_of_state(event)
        self.metrics = totals or self.metrics
        self.version = "1" if "kind" in event else self.version
        if event.get("observation") == "recall":
            extras = extras_of(event)
            self.workspace |= {key: extras[key] for key in _WORKSPACE_KEYS if string(extras.get(key))}
        return totals

    def _message(
        self, kind: EventKind, text: str, event: Mapping[str, Any], at: float | None, ref: Ref
    ) -> None:
        response = mapping(mapping(event.get("tool_call_metadata")).get("model_response"))
        key = string(event.get("llm_response_id")) or string(response.get("id"))
        self.session.message(kind, text, ref, at, string(event.get("source")), type=type_of(event), key=key)

    def _call(self, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        for kind, text in zip(_THOUGHTS, thought_of(event), strict=True):
            if text:
                self._message(kind, text, event, at, ref)
        own = id_text(event.get("id"))
        id_ = own if own and own not in self.calls else f"{own or 'event'}#{self.session.records - 1}"
        arguments, op = arguments_of(event), op_of(event)
        path = string(arguments.get("path"))
        call = self.session.call(
            id_,
            name_of_call(event),
            ref,
            op=op,
            native_id=native_id(event),
            subject=_subject(op, arguments, path),
            paths=(path,) if path else (),
            at=at,
            permission=string(arguments.get("confirmation_state")),
            counted=is_counted(event) and id_ == (own or id_),
        )
        self.calls[id_] = (call, event)

    def _call_of_acp(self, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        """Adds a call of another agent. A later record of it has its result."""
        native = native_id(event)
        known = next(
            (
                id_
                for id_, (call, request) in self.calls.items()
                if call.native_id == native and is_call_of_acp(request)
            ),
            None,
        )
        if known is None:
            self._call(event, at, ref)
            known = next(reversed(self.calls))
        if has_ended(event):
            self._answer(known, event, at, ref)

    def _answered_call(self, event: Mapping[str, Any]) -> str | None:
        """Returns the id of the call that an event answers: its causing event.

        Version 1's errors name the tool call only, which is the last open one of that id.
        """
        cause = id_text(event.get("action_id") if "kind" in event else event.get("cause"))
        if cause in self.calls:
            return cause
        native = native_id(event)
        if cause or "kind" not in event or not native:
            return None
        return next(
            (
                id_
                for id_, (call, _) in reversed(self.calls.items())
                if call.native_id == native and not call.answered
            ),
            None,
        )

    def _answer(self, id_: str, event: Mapping[str, Any], at: float | None, ref: Ref) -> None:
        call, request = self.calls[id_]
        outcome = outcome_of(event)
        call = replace(
            call,
            status=outcome.status,
            status_source=outcome.source,
            exit_code=outcome.exit_code,
            answered=True,
            ended=at,
            duration=duration_of(call.at, at),
            result_size=len(result_of(event)),
            result_ref=ref,
        )
        self.calls[id_] = (call, request)
        self.changes.pop(id_, None)
        if _edits(request, call):
            self.changes[id_] = _change(call, arguments_of(request), extras_of(event))

    def end(self, metrics: Mapping[str, Any], ref: Ref) -> None:
        """Adds the calls and the session.

        ``metrics`` are those that an evaluation records; without them, the totals in events are used.
        """
        for id_, (call, _) in self.calls.items():
            self.session.complete(call, changes=[self.changes[id_]] if id_ in self.changes else ())
        usage = mapping(metrics.get("accumulated_token_usage"))
        totals = metrics or self.metrics
        for one in mappings(metrics.get("token_usages")):
            self.session.see(None, string(one.get("model")))
        self.usage.finish(metrics)
        self.session.end(
            format_version=self.version,
            agent="openhands",
            cwd=self.workspace.get("working_dir", ""),
            repository=self.workspace.get("repo_name", ""),
            branch=self.workspace.get("repo_branch", ""),
            tokens=tokens_of(token_counts(totals.get("accumulated_token_usage"))),
            native_tokens={
                name: integer_of(usage[key]) or 0
                for key, name in TOKEN_NAMES.items()
                if key in usage and name != "reasoning"
            },
            cost=float_of(totals.get("accumulated_cost")),
            ref=ref,
        )


def _metrics_of_state(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the totals in an update of version 1's state, summed over the uses of models;
    empty for other events.
    """
    value = mapping(event.get("value")) if event.get("kind") == "ConversationStateUpdateEvent" else {}
    stats = value if event.get("key") == "stats" else mapping(value.get("stats"))
    uses = [mapping(one) for one in mapping(stats.get("usage_to_metrics")).values()]
    if not uses:
        return {}
    usages = [mapping(one.get("accumulated_token_usage")) for one in uses]
    listed = [one for use in uses for one in mappings(use.get("token_usages"))]
    counts = {
        key: [count for one in usages if (count := integer_of(one.get(key))) is not None]
        for key in TOKEN_NAMES
    }
    costs = [cost for one in uses if (cost := float_of(one.get("accumulated_cost"))) is not None]
    return {
        "accumulated_token_usage": {key: sum(found) for key, found in counts.items() if found},
        "accumulated_cost": sum(costs) if costs else None,
        **({"token_usages": listed} if listed else {}),
    }


def _subject(op: str, arguments: Mapping[str, Any], path: str) -> str:
    if op in {"read", "write", "edit"} and path:
        return path
    found = next((string(arguments[key]) for key in _SUBJECTS if string(arguments.get(key))), "")
    return found.strip().partition("\n")[0]


def _edits(request: Mapping[str, Any], call: Call) -> bool:
    if call.status in {"error", "denied"}:
        return False
    if "kind" in request:
        return call.op in {"edit", "write"}
    return (
        string(request.get("action")) in {"edit", "write"}
        and mapping(request.get("args")).get("command") != "view"
    )


def _change(call: Call, arguments: Mapping[str, Any], extras: Mapping[str, Any]) -> FileChange:
    diff = next(changes_of(arguments, extras), None)
    recorded = isinstance(extras.get("new_content"), str) and diff is not None
    new = extras.get("prev_exist") is False or (
        arguments.get("command") == "create" and extras.get("prev_exist") is not True
    )
    patch = bool(string(extras.get("diff"))) and not recorded
    return FileChange(
        session=call.session,
        call=call.id,
        path=string(arguments.get("path")),
        kind="add" if new else "modify",
        added=diff.diff_stat.model_added_lines if diff else None,
        removed=diff.diff_stat.model_removed_lines if diff else None,
        basis=(
            "none"
            if diff is None
            else "recorded_texts"
            if recorded
            else "recorded_patch"
            if patch
            else "arguments"
        ),
    )


def _event_of_pair(record: Any, index: int) -> Mapping[str, Any]:
    """Returns the event itself, or the one at ``index`` of a pair."""
    pair = items(record)
    return mapping(record) if not pair else mapping(pair[index]) if index < len(pair) else {}


def _is_event(value: Any) -> bool:
    event = mapping(value)
    if event.keys() >= _V1:
        return string(event["kind"]).endswith(("Event", "Observation", "Condensation"))
    return {"source", "timestamp"} <= event.keys() and ("action" in event or "observation" in event)


def _evaluation(head: Head) -> bool:
    return head.has("agent_class") or head.has("history", "action", "args") or head.has("tool_call_metadata")


def _is_list(source: Source) -> bool:
    """Returns whether the file begins with a list, not with an object, which then is its only event."""
    return source.first_character() == b"["


def _holds_an_event(path: Path) -> bool:
    try:
        return _is_event(decode_json(read_regular(path)))
    except (OSError, TraceError):
        return False


def _event_files(folder: Path) -> list[Path]:
    """Returns the event files in the folder, or in its subfolder ``events``,
    in the order of their numbers.
    """
    for candidate in (folder, folder / "events"):
        numbered = [
            (int(found[1]), path)
            for path in candidate.glob("*.json")
            if (found := _FILE.fullmatch(path.name))
        ]
        if numbered and _holds_an_event(min(numbered)[1]):
            return [path for _, path in sorted(numbered)]
    return []
