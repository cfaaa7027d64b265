"""Reads logs of Inspect AI; each sample is a session.

A log is an ``.eval`` file (a zip archive with a file per sample) or a ``.json`` file (one document).

Texts of more than 100 characters are stored once among the sample's attachments; events refer to them. Spans nest events: a call made in a
tool's span belongs to that tool's call. In older logs such events are inside the event itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces import source as log_source
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import mapping, string
from nbtools.traces.json_document import decode_items, locate_items, open_document
from nbtools.traces.model import Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Head
from nbtools.traces.readers.inspect.attachments import Attachments
from nbtools.traces.readers.inspect.events import Sample, args_of, raw_items, result_of, unique_name
from nbtools.traces.source import Source

_ZIP = b"PK\x03\x04"
_SAMPLES = "samples/"
_HEADERS = ("header.json", "_journal/start.json")
"""Names of the header: the second is written at the start of a run, the first at its end."""
_EXTRA = ("view", "agent", "model_call_id", "message_id", "truncated", "working_time", "span_id", "metadata", "error")


class _Log(msgspec.Struct):
    samples: msgspec.Raw = msgspec.Raw(b"null")
    eval: Any = None
    status: Any = None


class _Run:
    """The state of reading a log's samples: the session ids so far, and the number of the next row."""

    def __init__(self, log: _Log, origin: Origin) -> None:
        self.log, self.origin = log, origin
        self.names: set[str] = set()
        self.first = 0


class _Attached(msgspec.Struct):
    attachments: msgspec.Raw = msgspec.Raw(b"null")


class InspectAI:
    name = "inspect"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if head.start.startswith(_ZIP):
            return any(name in _HEADERS or name.startswith(_SAMPLES) for name in log_source.archive_members(head.path))
        return head.has("version", "eval", "run_id", "task_id") and head.start.lstrip()[:1] == b"{"

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        names = log_source.archive_members(source.path)
        if names:
            header, problems = _header(source, names)
            yield from problems
            run = _Run(header, origin)
            for name in names:
                if name.startswith(_SAMPLES) and name.endswith(".json"):
                    yield from _member(source, name, run)
        else:
            yield from _document(source, origin)

    def detail(self, source: Source, call: Call) -> Detail:
        record = source.record(call.ref)
        event = mapping(_attachments(source, call.ref).resolve(record) if b"attachment://" in source.bytes_of(call.ref) else record)
        result = result_of(event)
        media = tuple(media_of(event.get("result")))
        extra = {key: event[key] for key in _EXTRA if event.get(key) is not None} | (
            {"error": event["error"]} if event.get("error") else {}
        )
        return detail_of(call, args_of(event), result, media, extra, len(result) if event.get("truncated") else 0)


def _header(source: Source, names: Sequence[str]) -> tuple[_Log, tuple[Problem, ...]]:
    name = next((name for name in _HEADERS if name in names), "")
    if not name:
        return _Log(), (
            Problem(Ref(0, 0), "The archive has neither header.json nor _journal/start.json, so its task and model are not known."),
        )
    try:
        log = open_document(source.read_file(member=name), _Log)
    except TraceError as error:
        return _Log(), (Problem(Ref(0, 0, member=name), str(error)),)
    return log.value or _Log(), log.problems


def _member(source: Source, name: str, run: _Run) -> Iterator[Row]:
    try:
        text = source.read_file(member=name)
    except TraceError as error:
        yield Problem(Ref(0, 0, member=name), str(error))
        return
    yield from _sample(text, Ref(0, len(text), member=name), run)


def _document(source: Source, origin: Origin) -> Iterator[Row]:
    text = source.read_file()
    log = open_document(text, _Log)
    yield from log.problems
    if log.value is None:
        return
    run, samples = _Run(log.value, origin), raw_items(log.value.samples)
    for begins, data in locate_items(log.text, samples):
        yield from _sample(data, Ref(begins, max(min(len(data), log.end - begins), 0)), run)


def _sample(text: bytes, ref: Ref, run: _Run) -> Iterator[Row]:
    """Yields the rows of a sample. ``text`` is what stands at ``ref``; it is longer where a truncated sample was closed."""
    document = open_document(text, Sample.SHAPE, ref.file)
    document = document._replace(end=min(document.end, ref.length))
    yield from (Problem(ref, problem.why, problem.recovered) for problem in document.problems)
    if document.value is None:
        return
    sample = Sample(document.value, mapping(run.log.eval), string(run.log.status), run.origin, run.first)
    sample.timeline.session = unique_name(sample.timeline.session, run.names)
    events = raw_items(document.value.events)
    for part in decode_items(document, events, ref, bytes):
        yield from (part,) if isinstance(part, Problem) else sample.event(part[1], part[0])
    yield from sample.end(ref, len(events))
    run.first = sample.timeline.seq


def _attachments(source: Source, ref: Ref) -> Attachments:
    """Returns the attachments of the sample that contains the event at ``ref``."""
    text = source.read_file(ref.file, ref.member)
    if not ref.member:
        log = open_document(text, _Log).value
        samples = raw_items(log.samples) if log else []
        text = next((data for begins, data in locate_items(text, samples) if begins <= ref.offset < begins + len(data)), b"{}")
    found = open_document(text, _Attached).value
    return Attachments(found.attachments if found else msgspec.Raw(b"null"))
