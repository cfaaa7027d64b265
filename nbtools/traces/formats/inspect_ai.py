"""Logs of Inspect AI: ``.eval`` (a zip with a file a sample) and ``.json`` (one document); a session a sample.

What is longer than 100 characters stands once among the sample's attachments; an event holds a mark in its place.  Spans nest events; a
call made in a tool's span belongs to that tool's call.  Older logs put such events inside the event instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces import archive
from nbtools.traces.attachments import Attachments
from nbtools.traces.document import opened, parts, placed
from nbtools.traces.format import Head
from nbtools.traces.formats.inspect_events import Sample, args_of, free, raws, result_of
from nbtools.traces.loose import mapping, string
from nbtools.traces.model import Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.recalled import detail_of, media_of
from nbtools.traces.source import Source

_ZIP = b"PK\x03\x04"
_SAMPLES = "samples/"
_HEADERS = ("header.json", "_journal/start.json")
"""The second is there from the start, the first when a run has ended."""
_EXTRA = ("view", "agent", "model_call_id", "message_id", "truncated", "working_time", "span_id", "metadata", "error")


class _Log(msgspec.Struct):
    samples: msgspec.Raw = msgspec.Raw(b"null")
    eval: Any = None
    status: Any = None


class _Run:
    """The samples of a log so far: the sessions' names, and the number that the next row gets."""

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
            return any(name in _HEADERS or name.startswith(_SAMPLES) for name in archive.names(head.path))
        return head.has("version", "eval", "run_id", "task_id") and head.start.lstrip()[:1] == b"{"

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        names = archive.names(source.path)
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
        recorded = source.record(call.ref)
        event = mapping(_attachments(source, call.ref).put_into(recorded) if b"attachment://" in source.bytes_of(call.ref) else recorded)
        result = result_of(event)
        media = tuple(media_of(event.get("result")))
        extra = {key: event[key] for key in _EXTRA if event.get(key) is not None} | (
            {"error": event["error"]} if event.get("error") else {}
        )
        return detail_of(call, args_of(event), result, media, extra, len(result) if event.get("truncated") else 0)


def _header(source: Source, names: Sequence[str]) -> tuple[_Log, tuple[Problem, ...]]:
    name = next((name for name in _HEADERS if name in names), "")
    if not name:
        return _Log(), (Problem(Ref(0, 0), "the archive has neither header.json nor _journal/start.json: what ran is not known."),)
    try:
        log = opened(source.document(member=name), _Log)
    except TraceError as error:
        return _Log(), (Problem(Ref(0, 0, member=name), str(error)),)
    return log.value or _Log(), log.problems


def _member(source: Source, name: str, run: _Run) -> Iterator[Row]:
    try:
        text = source.document(member=name)
    except TraceError as error:
        yield Problem(Ref(0, 0, member=name), str(error))
        return
    yield from _sample(text, Ref(0, len(text), member=name), run)


def _document(source: Source, origin: Origin) -> Iterator[Row]:
    text = source.document()
    log = opened(text, _Log)
    yield from log.problems
    if log.value is None:
        return
    run, samples = _Run(log.value, origin), raws(log.value.samples)
    for begins, data in placed(log.text, samples):
        yield from _sample(data, Ref(begins, max(min(len(data), log.end - begins), 0)), run)


def _sample(text: bytes, ref: Ref, run: _Run) -> Iterator[Row]:
    """``text`` is what stands at ``ref``; it is longer than that where it was closed because the log is cut short."""
    document = opened(text, Sample.SHAPE, ref.file)
    document = document._replace(end=min(document.end, ref.length))
    yield from (Problem(ref, problem.why, problem.recovered) for problem in document.problems)
    if document.value is None:
        return
    sample = Sample(document.value, mapping(run.log.eval), string(run.log.status), run.origin, run.first)
    sample.timeline.session = free(sample.timeline.session, run.names)
    events = raws(document.value.events)
    for part in parts(document, events, ref, bytes):
        yield from (part,) if isinstance(part, Problem) else sample.event(part[1], part[0])
    yield from sample.end(ref, len(events))
    run.first = sample.timeline.seq


def _attachments(source: Source, ref: Ref) -> Attachments:
    """Those of the sample that the event at ``ref`` stands in."""
    text = source.document(ref.file, ref.member)
    if not ref.member:
        log = opened(text, _Log).value
        samples = raws(log.samples) if log else []
        text = next((data for begins, data in placed(text, samples) if begins <= ref.offset < begins + len(data)), b"{}")
    found = opened(text, _Attached).value
    return Attachments(found.attachments if found else msgspec.Raw(b"null"))
