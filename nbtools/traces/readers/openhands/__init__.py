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

from nbtools.core.decoders import decoder_of
from nbtools.traces.json_access import mapping, string
from nbtools.traces.json_document import (
    JsonDocument,
    decode_array,
    decode_file,
    decode_items,
    is_json_lines,
    open_document,
)
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.openhands.events import detail_of
from nbtools.traces.readers.openhands.run import Run, event_of_pair, metrics_of_state
from nbtools.traces.session_builder import LogBuilder, SessionBuilder
from nbtools.traces.source import Source, decode_json, read_json

EVENT_FILE = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9a-fA-F-]{8,})?\.json")
"""The name of a file with one event, in a folder that is a log."""
_V1 = {"source", "kind", "timestamp"}
_BEGINNING = re.compile(rb'\[?\s*\{\s*"(?:id|timestamp|source|kind)"\s*:')
"""The beginning of an event, whose kind comes last, after a prompt that may be long."""


class _Line(msgspec.Struct):
    history: msgspec.Raw = msgspec.Raw(b"null")
    instance_id: Any = None
    metrics: Any = None


_EVENT = re.compile(
    rb'"kind"\s*:\s*"(?:SystemPrompt|Message|Action|Observation|AgentError|ConversationStateUpdate)Event"'
)


class OpenHands(Format):
    name = "openhands"

    def recognises(self, head: Head) -> bool:
        if head.path.is_dir():
            return bool(event_files(head.path))
        first = head.first
        if isinstance(first, list):
            return any(_is_event(one) for one in first[:5])
        if isinstance(first, dict):
            run = "instance_id" in first or "metrics" in first or "test_result" in first
            return _is_event(first) or (
                isinstance(first.get("history"), list) and run and "trajectory" not in first
            )
        start = head.start.lstrip()
        has_prompt = head.has("llm_message") or head.has("system_prompt")
        if _BEGINNING.match(start) and head.has("source", "timestamp") and has_prompt:
            return True
        if start.startswith(b"["):
            return head.has("source", "timestamp", "action", "args")
        is_evaluation = (
            head.has("agent_class") or head.has("history", "action", "args") or head.has("tool_call_metadata")
        )
        return start.startswith(b"{") and head.has("instance_id") and is_evaluation

    def unreadable_variant(self, head: Head) -> str:
        return "OpenHands in an unknown variant" if head.is_json and _EVENT.search(head.start) else ""

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the other event files of the folder."""
        if not path.is_dir() and not (EVENT_FILE.fullmatch(path.name) and _holds_an_event(path)):
            return ()
        return [other for other in event_files(path if path.is_dir() else path.parent) if other != path]

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        is_event_file = EVENT_FILE.fullmatch(source.path.name) and _holds_an_event(source.path)
        if source.path.is_dir() or len(source.files) > 1 or is_event_file:
            yield from _folder(source, log)
        elif not _is_list(source) and is_json_lines(source):
            yield from _lines(source, log)
        else:
            yield from _document(source, log)
        yield from log.take()

    def detail(self, source: Source, call: Call) -> Detail:
        request = event_of_pair(source.record(call.ref), 0)
        answer = event_of_pair(source.record(call.result_ref), 1) if call.result_ref.length else {}
        return detail_of(call, request, answer)


def _folder(source: Source, log: LogBuilder) -> Iterator[Row]:
    named = ((EVENT_FILE.fullmatch(path.name), number) for number, path in enumerate(source.files))
    numbered = [(int(found[1]), number) for found, number in named if found]
    folder = source.files[numbered[0][1]].parent
    run = Run(log.session((folder.parent if folder.name == "events" else folder).name))
    yield from log.read((decode_file(source, file) for _, file in sorted(numbered)), run.record)
    run.end(metrics_of_state(_final_state(folder)), NOWHERE)


def _final_state(folder: Path) -> Mapping[str, Any]:
    """Returns the state that version 1 keeps beside its folder of events, like an update of the state."""
    state = read_json(folder.parent / "base_state.json") if folder.name == "events" else None
    return {"kind": "ConversationStateUpdateEvent", "value": state}


def _lines(source: Source, log: LogBuilder) -> Iterator[Row]:
    """Yields the rows of lines that are runs, or events of one run."""
    run_of_lines = Run(SessionBuilder(log, source.path.stem))
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
        run_of_lines.end({}, source.whole())


def _document(source: Source, log: LogBuilder) -> Iterator[Row]:
    """Yields the rows of a list of events, of a run, or of an event, formatted over many lines."""
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
    run = Run(log.session(source.path.stem))
    if is_list:
        yield from log.read(decode_items(document, document.value or []), run.record)
    else:
        run.record(decode_json(document.text), ref)
    run.end({}, ref)


def _holds_history(recorded: _Line) -> bool:
    return bytes(recorded.history) != b"null" or recorded.instance_id is not None


def _recorded_run(source: Source, log: LogBuilder, ref: Ref, document: JsonDocument[_Line]) -> Iterator[Row]:
    recorded = document.value or _Line()
    run = Run(log.session(string(recorded.instance_id) or source.path.stem))
    yield from log.read(decode_array(document, recorded.history, ref), run.record)
    run.end(mapping(recorded.metrics), ref)


def _is_event(value: Any) -> bool:
    event = mapping(value)
    if event.keys() >= _V1:
        return string(event["kind"]).endswith(("Event", "Observation", "Condensation"))
    return {"source", "timestamp"} <= event.keys() and ("action" in event or "observation" in event)


def _is_list(source: Source) -> bool:
    """Returns whether the file begins with a list, not with an object, which then is its only event."""
    return source.first_character() == b"["


def _holds_an_event(path: Path) -> bool:
    return _is_event(read_json(path))


def event_files(folder: Path) -> list[Path]:
    """Returns the event files in the folder or its subfolder ``events``, in the order of their numbers."""
    for candidate in (folder, folder / "events"):
        named = ((EVENT_FILE.fullmatch(path.name), path) for path in candidate.glob("*.json"))
        numbered = [(int(found[1]), path) for found, path in named if found]
        if numbered and _holds_an_event(min(numbered)[1]):
            return [path for _, path in sorted(numbered)]
    return []
