"""OpenHands' logs: events as a JSON list or a line each, an evaluation's ``output.jsonl`` with a run a line, a folder with a file an event.

Calls are joined to results by ``cause``: ``tool_call_id`` is not unique, some models give every call the same.  Older evaluations have
``[action, observation]`` pairs.  Version 1 writes ``events/event-00000-<id>.json``; version 0 kept ``events/0.json`` the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.document import Opened, array, holds_lines, opened, parts
from nbtools.traces.format import Head
from nbtools.traces.formats.openhands.results import detail_of
from nbtools.traces.formats.openhands.run import Run
from nbtools.traces.loose import items, mapping, string
from nbtools.traces.model import NOWHERE, Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.source import Source, decoded

_FILE = re.compile(r"(?:event-)?(\d{1,9})(?:-[0-9a-fA-F-]{8,})?\.json")
_V1 = {"source", "kind", "timestamp"}
_BEGINNING = re.compile(rb'\[?\s*\{\s*"(?:id|timestamp|source|kind)"\s*:')
"""Of an event, which names its kind last: behind a prompt that may be long."""


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
        """The other events of the folder."""
        if not path.is_dir() and not _FILE.fullmatch(path.name):
            return ()
        if not path.is_dir() and not _holds_an_event(path):
            return ()
        return [other for other in _event_files(path if path.is_dir() else path.parent) if other != path]

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        alone = _FILE.fullmatch(source.path.name) and _holds_an_event(source.path)
        if source.path.is_dir() or len(source.files) > 1 or alone:
            yield from _folder(source, origin)
        elif _is_list(source):
            yield from _list(source, origin)
        elif holds_lines(source):
            yield from _lines(source, origin)
        else:
            yield from _document(source, origin)

    def detail(self, source: Source, call: Call) -> Detail:
        asked = _one_of(source.record(call.ref), 0)
        answer = _one_of(source.record(call.result_ref), 1) if call.result_ref.length else {}
        return detail_of(call, asked, answer)


def _folder(source: Source, origin: Origin) -> Iterator[Row]:
    named = [(int(found[1]), number) for number, path in enumerate(source.files) if (found := _FILE.fullmatch(path.name))]
    place = source.files[named[0][1]].parent
    run = Run((place.parent if place.name == "events" else place).name, origin)
    for _, file in sorted(named):
        ref = NOWHERE
        try:
            data = source.document(file)
            ref = Ref(0, len(data), 0, file)
            event = decoded(data)
        except TraceError as error:
            yield Problem(ref, str(error))
            continue
        yield from _event(run, event, ref)
    yield from run.end({}, NOWHERE)


def _list(source: Source, origin: Origin) -> Iterator[Row]:
    text = source.document()
    document = opened(text, list[msgspec.Raw])
    yield from document.problems
    run = Run(source.path.stem, origin)
    for part in parts(document, document.value or []):
        if isinstance(part, Problem):
            yield part
        else:
            yield from _event(run, part[1], part[0])
    yield from run.end({}, Ref(0, len(text)))


def _lines(source: Source, origin: Origin) -> Iterator[Row]:
    """Runs, or events of one run."""
    names: dict[str, int] = {}
    alone = Run(source.path.stem, origin)
    for line in source.lines(lambda line: (line, msgspec.json.decode(line, type=_Line))):
        if isinstance(line, Problem):
            yield line
            continue
        ref, (text, recorded) = line
        if _holds_history(recorded):
            yield from _run(source, origin, ref, Opened(recorded, text, len(text)), names)
        else:
            yield from _event(alone, decoded(text), ref)
    if alone.records:
        yield from alone.end({}, Ref(0, source.path.stat().st_size))


def _document(source: Source, origin: Origin) -> Iterator[Row]:
    """A run, or its only event, over many lines."""
    text = source.document()
    document = opened(text, _Line)
    yield from document.problems
    ref = Ref(0, len(text))
    if document.value is not None and _holds_history(document.value):
        yield from _run(source, origin, ref, document, {})
    elif document.value is not None:
        run = Run(source.path.stem, origin)
        yield from _event(run, decoded(document.text), ref)
        yield from run.end({}, ref)


def _holds_history(recorded: _Line) -> bool:
    return bytes(recorded.history) != b"null" or recorded.instance_id is not None


def _run(source: Source, origin: Origin, ref: Ref, document: Opened[_Line], names: dict[str, int]) -> Iterator[Row]:
    recorded = document.value or _Line()
    name = string(recorded.instance_id) or source.path.stem
    names[name] = names.get(name, 0) + 1
    run = Run(name if names[name] == 1 else f"{name}#{names[name]}", origin)
    for part in array(document, recorded.history, ref):
        if isinstance(part, Problem):
            yield part
        else:
            yield from _event(run, part[1], part[0])
    yield from run.end(mapping(recorded.metrics), ref)


def _event(run: Run, event: Any, ref: Ref) -> Iterator[Row]:
    if isinstance(event, list):
        yield from run.pair(_one_of(event, 0), _one_of(event, 1), ref)
    elif isinstance(event, dict):
        yield from run.event(event, ref)
    else:
        yield Problem(ref, "this is no event")


def _one_of(record: Any, place: int) -> Mapping[str, Any]:
    """The event itself, or the one at ``place`` of a pair."""
    pair = items(record)
    return mapping(record) if not pair else mapping(pair[place]) if place < len(pair) else {}


def _is_event(value: Any) -> bool:
    event = mapping(value)
    if event.keys() >= _V1:
        return string(event["kind"]).endswith(("Event", "Observation", "Condensation"))
    return {"source", "timestamp"} <= event.keys() and ("action" in event or "observation" in event)


def _evaluation(head: Head) -> bool:
    return head.has("agent_class") or head.has("history", "action", "args") or head.has("tool_call_metadata")


def _is_list(source: Source) -> bool:
    """Whether the file begins with a list, or with an object over many lines, which then is its only event."""
    with source.opened(0) as file:
        return bool(file.read(4096).lstrip()[:1] == b"[")


def _holds_an_event(path: Path) -> bool:
    try:
        return _is_event(decoded(path.read_bytes()))
    except (OSError, TraceError):
        return False


def _event_files(folder: Path) -> list[Path]:
    """In the order of their numbers; those of the folder itself, or of ``events`` in it."""
    for place in (folder, folder / "events"):
        named = [(int(found[1]), path) for path in place.glob("*.json") if (found := _FILE.fullmatch(path.name))]
        if named and _holds_an_event(min(named)[1]):
            return [path for _, path in sorted(named)]
    return []
