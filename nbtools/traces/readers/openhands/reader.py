"""Reads logs of OpenHands 0 and 1.

A log has events as a JSON list or as lines, is an evaluation's ``output.jsonl`` with a run per line, or is a folder with a file per event.

Calls and results are joined by ``cause``, because ``tool_call_id`` is not unique: some models give every call the same. Older evaluations
have ``[action, observation]`` pairs. Version 1 writes ``events/event-00000-<id>.json``; version 0 used ``events/0.json`` likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.json_access import items, mapping, string
from nbtools.traces.json_document import JsonDocument, decode_array, decode_items, is_json_lines, open_document
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Head
from nbtools.traces.readers.openhands.events import detail_of
from nbtools.traces.readers.openhands.run import Run
from nbtools.traces.source import Source, decode_json

_FILE = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9a-fA-F-]{8,})?\.json")
_V1 = {"source", "kind", "timestamp"}
_BEGINNING = re.compile(rb'\[?\s*\{\s*"(?:id|timestamp|source|kind)"\s*:')
"""The beginning of an event, whose kind comes last, after a prompt that may be long."""


class _Line(msgspec.Struct):
    history: msgspec.Raw = msgspec.Raw(b"null")
    instance_id: Any = None
    metrics: Any = None


class OpenHands:
    name = "openhands"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if head.path.is_dir():
            return bool(_event_files(head.path))
        first = head.first
        if isinstance(first, list):
            return any(_is_event(one) for one in first[:5])
        if isinstance(first, dict):
            run = "instance_id" in first or "metrics" in first or "test_result" in first
            return _is_event(first) or (isinstance(first.get("history"), list) and run and "trajectory" not in first)
        start = head.start.lstrip()
        if _BEGINNING.match(start) and head.has("source", "timestamp") and (head.has("llm_message") or head.has("system_prompt")):
            return True
        if start.startswith(b"["):
            return head.has("source", "timestamp", "action", "args")
        return start.startswith(b"{") and head.has("instance_id") and _evaluation(head)

    def files(self, path: Path) -> Sequence[Path]:
        """Returns the other event files of the folder."""
        if not path.is_dir() and not _FILE.fullmatch(path.name):
            return ()
        if not path.is_dir() and not _holds_an_event(path):
            return ()
        return [other for other in _event_files(path if path.is_dir() else path.parent) if other != path]

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        is_event_file = _FILE.fullmatch(source.path.name) and _holds_an_event(source.path)
        if source.path.is_dir() or len(source.files) > 1 or is_event_file:
            yield from _folder(source, origin)
        elif _is_list(source):
            yield from _list(source, origin)
        elif is_json_lines(source):
            yield from _lines(source, origin)
        else:
            yield from _document(source, origin)

    def detail(self, source: Source, call: Call) -> Detail:
        request = _event_of_pair(source.record(call.ref), 0)
        answer = _event_of_pair(source.record(call.result_ref), 1) if call.result_ref.length else {}
        return detail_of(call, request, answer)


def _folder(source: Source, origin: Origin) -> Iterator[Row]:
    numbered = [(int(found[1]), number) for number, path in enumerate(source.files) if (found := _FILE.fullmatch(path.name))]
    folder = source.files[numbered[0][1]].parent
    run = Run((folder.parent if folder.name == "events" else folder).name, origin)
    for _, file in sorted(numbered):
        ref = NOWHERE
        try:
            data = source.read_file(file)
            ref = Ref(0, len(data), 0, file)
            event = decode_json(data)
        except TraceError as error:
            yield Problem(ref, str(error))
            continue
        yield from _event(run, event, ref)
    yield from run.end({}, NOWHERE)


def _list(source: Source, origin: Origin) -> Iterator[Row]:
    text = source.read_file()
    document = open_document(text, list[msgspec.Raw])
    yield from document.problems
    run = Run(source.path.stem, origin)
    for part in decode_items(document, document.value or []):
        if isinstance(part, Problem):
            yield part
        else:
            yield from _event(run, part[1], part[0])
    yield from run.end({}, Ref(0, len(text)))


def _lines(source: Source, origin: Origin) -> Iterator[Row]:
    """Yields the rows of lines that are runs, or events of one run."""
    names: dict[str, int] = {}
    run_of_lines = Run(source.path.stem, origin)
    for line in source.lines(lambda line: (line, msgspec.json.decode(line, type=_Line))):
        if isinstance(line, Problem):
            yield line
            continue
        ref, (text, recorded) = line
        if _holds_history(recorded):
            yield from _run(source, origin, ref, JsonDocument(recorded, text, len(text)), names)
        else:
            yield from _event(run_of_lines, decode_json(text), ref)
    if run_of_lines.records:
        yield from run_of_lines.end({}, Ref(0, source.path.stat().st_size))


def _document(source: Source, origin: Origin) -> Iterator[Row]:
    """Yields the rows of a single run, or a single event, formatted over many lines."""
    text = source.read_file()
    document = open_document(text, _Line)
    yield from document.problems
    ref = Ref(0, len(text))
    if document.value is not None and _holds_history(document.value):
        yield from _run(source, origin, ref, document, {})
    elif document.value is not None:
        run = Run(source.path.stem, origin)
        yield from _event(run, decode_json(document.text), ref)
        yield from run.end({}, ref)


def _holds_history(recorded: _Line) -> bool:
    return bytes(recorded.history) != b"null" or recorded.instance_id is not None


def _run(source: Source, origin: Origin, ref: Ref, document: JsonDocument[_Line], names: dict[str, int]) -> Iterator[Row]:
    recorded = document.value or _Line()
    name = string(recorded.instance_id) or source.path.stem
    names[name] = names.get(name, 0) + 1
    run = Run(name if names[name] == 1 else f"{name}#{names[name]}", origin)
    for part in decode_array(document, recorded.history, ref):
        if isinstance(part, Problem):
            yield part
        else:
            yield from _event(run, part[1], part[0])
    yield from run.end(mapping(recorded.metrics), ref)


def _event(run: Run, event: Any, ref: Ref) -> Iterator[Row]:
    if isinstance(event, list):
        yield from run.pair(_event_of_pair(event, 0), _event_of_pair(event, 1), ref)
    elif isinstance(event, dict):
        yield from run.event(event, ref)
    else:
        yield Problem(ref, "This record is not an event.")


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
    with source.open_file(0) as file:
        return bool(file.read(4096).lstrip()[:1] == b"[")


def _holds_an_event(path: Path) -> bool:
    try:
        return _is_event(decode_json(path.read_bytes()))
    except (OSError, TraceError):
        return False


def _event_files(folder: Path) -> list[Path]:
    """Returns the event files in the folder, or in its subfolder ``events``, in the order of their numbers."""
    for candidate in (folder, folder / "events"):
        numbered = [(int(found[1]), path) for path in candidate.glob("*.json") if (found := _FILE.fullmatch(path.name))]
        if numbered and _holds_an_event(min(numbered)[1]):
            return [path for _, path in sorted(numbered)]
    return []
