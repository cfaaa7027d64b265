"""Reads logs of Inspect AI; each sample is a session.

A log is an ``.eval`` file (a zip archive with a file per sample) or a ``.json`` file (one document).

The header counts the tokens and the samples of the whole run, also of samples that are not in the log.

Texts of more than 100 characters are stored once among the sample's attachments; events refer to them. Spans
nest events: a call made in a tool's span belongs to that tool's call. In older logs such events are inside
the event itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from nbtools.core.errors import TraceError
from nbtools.traces.archives import archive_members
from nbtools.traces.display_builders import detail_of, media_of
from nbtools.traces.json_access import (
    epoch_seconds,
    id_text,
    integer_of,
    items,
    mapping,
    names,
    string,
    text_of,
)
from nbtools.traces.json_document import NULL, decode_items, locate_items, open_document, raw_items
from nbtools.traces.model import PREVIEW, Call, Detail, Origin, Problem, Ref, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.inspect.events import (
    Attachments,
    Run,
    Sample,
    SampleRecord,
    args_of,
    native_tokens,
    result_of,
    usage_of,
)
from nbtools.traces.readers.inspect.scores import (
    Score,
    input_text,
    metrics_of,
    scores_of,
    target_text,
)
from nbtools.traces.readers.messages import message_detail
from nbtools.traces.session_builder import LogBuilder
from nbtools.traces.source import Source

_ZIP = b"PK\x03\x04"
_SAMPLES = "samples/"
_HEADERS = ("header.json", "_journal/start.json")
"""Names of the header: the second is written at the start of a run, the first at its end."""
_MAX_HEADER = 128 << 20
"""Bytes of a header, which is also read to list the log."""
_EXTRA = names("view agent model_call_id message_id truncated working_time span_id metadata error")


class _Log(msgspec.Struct):
    samples: msgspec.Raw = NULL
    eval: Any = None
    status: Any = None
    stats: Any = None
    results: Any = None
    error: Any = None


class _Transcript(msgspec.Struct):
    events: msgspec.Raw = NULL


class _EventsData(msgspec.Struct):
    messages: msgspec.Raw = NULL


class _Attached(msgspec.Struct):
    attachments: msgspec.Raw = NULL


@dataclass(frozen=True)
class RunFacts:
    """A run, as the header of an archive describes it. ``text`` names its dataset and what it is about."""

    task: str
    model: str
    created: float | None
    text: str


def run_of_archive(path: Path) -> RunFacts:
    """Reads the header of a ``.eval`` file only. Raises ``TraceError``."""
    header, problems = _header(Source(path), archive_members(path))
    fields = mapping(header.eval)
    if not fields and problems:
        raise TraceError(problems[0].why)
    task, dataset = string(fields.get("task")), string(mapping(fields.get("dataset")).get("name"))
    text = " ".join(filter(None, (task, dataset, string(header.status))))
    return RunFacts(task, string(fields.get("model")), epoch_seconds(fields.get("created")), text)


class InspectAI(Format):
    name = "inspect"

    def recognises(self, head: Head) -> bool:
        if head.start.startswith(_ZIP):
            return any(name in _HEADERS or name.startswith(_SAMPLES) for name in archive_members(head.path))
        return head.has("version", "eval", "run_id", "task_id") and head.start.lstrip()[:1] == b"{"

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        log = LogBuilder(self.name, origin)
        members = archive_members(source.path)
        if not members:
            yield from _document(source, log)
            return
        header, problems = _header(source, members)
        yield from problems
        samples = [name for name in members if name.startswith(_SAMPLES) and name.endswith(".json")]
        run = _run(header, len(samples))
        for name in samples:
            try:
                text = source.read_file(member=name)
            except TraceError as error:
                yield Problem(Ref(0, 0, member=name), str(error))
            else:
                yield from _sample(text, Ref(0, len(text), member=name), run, log)

    def record(self, source: Source, ref: Ref) -> Any:
        return _resolved(source, ref)

    def detail(self, source: Source, call: Call) -> Detail:
        event = mapping(_resolved(source, call.ref))
        if "role" in event:
            return message_detail(call, event, _resolved(source, call.result_ref) if call.answered else None)
        result = result_of(event)
        media = tuple(media_of(event.get("result")))
        extra = {key: event[key] for key in _EXTRA if event.get(key) is not None}
        truncated = len(result) if event.get("truncated") else 0
        return detail_of(call, args_of(event), result, media, extra, truncated)


@dataclass(frozen=True)
class SampleTexts:
    """The texts of a sample as a whole."""

    input: str
    target: str
    scores: tuple[Score, ...]
    error: str


def read_sample(source: Source, ref: Ref) -> SampleTexts:
    """Reads the texts of the sample at ``ref``. Raises ``TraceError`` where the log has changed."""
    sample = open_document(source.bytes_of(ref), SampleRecord, ref.file).value
    if sample is None:
        raise source.outdated()
    resolve = Attachments(sample.attachments).resolve
    return SampleTexts(
        input_text(resolve(sample.input)),
        target_text(resolve(sample.target)),
        tuple(scores_of(sample.scores, sample.score, resolve)),
        text_of(resolve(mapping(sample.error).get("message"))),
    )


def _header(source: Source, members: Sequence[str]) -> tuple[_Log, tuple[Problem, ...]]:
    name = next((name for name in _HEADERS if name in members), "")
    if not name:
        why = (
            "The archive has neither header.json nor _journal/start.json,"
            " so its task and model are not known."
        )
        return _Log(), (Problem(Ref(0, 0), why),)
    try:
        log = open_document(source.read_file(member=name, most=_MAX_HEADER), _Log)
    except TraceError as error:
        return _Log(), (Problem(Ref(0, 0, member=name), str(error)),)
    return log.value or _Log(), log.problems


def _document(source: Source, log: LogBuilder) -> Iterator[Row]:
    text = source.read_file()
    document = open_document(text, _Log)
    yield from document.problems
    if document.value is not None:
        samples = raw_items(document.value.samples)
        run = _run(document.value, len(samples))
        for begins, data in locate_items(document.text, samples):
            yield from _sample(data, Ref(begins, max(min(len(data), document.end - begins), 0)), run, log)


def _run(header: _Log, samples: int) -> Run:
    """``samples`` is the number of samples in the log."""
    fields, results = mapping(header.eval), mapping(header.results)
    dataset, config = mapping(fields.get("dataset")), mapping(fields.get("config"))
    planned = integer_of(results.get("total_samples"))
    if planned is None:
        planned = len(items(dataset.get("sample_ids"))) * (integer_of(config.get("epochs")) or 1)
    usage = mapping(mapping(header.stats).get("model_usage"))
    return Run(
        fields,
        string(header.status),
        samples_missing=samples < planned,
        tokens=native_tokens(usage_of(usage)) if usage else None,
        metrics=metrics_of(results),
        error=string(mapping(header.error).get("message"))[:PREVIEW],
    )


def _sample(text: bytes, ref: Ref, run: Run, log: LogBuilder) -> Iterator[Row]:
    """Yields the rows of a sample. ``text`` is what stands at ``ref``;
    it is longer where a truncated sample was closed.
    """
    document = open_document(text, SampleRecord, ref.file)
    document = document._replace(end=min(document.end, ref.length))
    yield from (Problem(ref, problem.why, problem.recovered) for problem in document.problems)
    if (record := document.value) is None:
        return
    session = log.session(f"{id_text(record.id)}_epoch_{integer_of(record.epoch) or 1}")
    sample = Sample(session, record, run)

    @cache
    def pool() -> Sequence[tuple[Ref, Any] | Problem]:
        found = open_document(bytes(record.events_data), _EventsData).value
        return [*decode_items(document, raw_items(found.messages), ref)] if found else []

    sample.pool = pool
    steps = raw_items(record.events) or raw_items(_transcript(record.transcript))
    if steps:
        sample.note_messages(decode_items(document, raw_items(record.messages), ref))
        yield from log.read(decode_items(document, steps, ref, bytes), sample.event)
    else:
        steps = raw_items(record.messages)
        yield from log.read(decode_items(document, steps, ref), sample.message)
    sample.end(ref, len(steps))
    yield from log.take()


def _resolved(source: Source, ref: Ref) -> Any:
    """Returns the record at ``ref`` with the texts that it refers to."""
    record = source.record(ref)
    return _attachments(source, ref).resolve(record) if b"attachment://" in source.bytes_of(ref) else record


def _transcript(transcript: msgspec.Raw) -> msgspec.Raw:
    """Returns the events of logs of 2024, which have them inside of a ``transcript``."""
    found = open_document(bytes(transcript), _Transcript).value
    return found.events if found else NULL


_LAST: WeakKeyDictionary[Source, tuple[tuple[int, str], bytes, Attachments]] = WeakKeyDictionary()
"""The sample whose attachments were needed last, by source: its file and member, and its bytes."""


def _attachments(source: Source, ref: Ref) -> Attachments:
    """Returns the attachments of the sample that contains the event at ``ref``."""
    text = source.read_file(ref.file, ref.member)
    if not ref.member:
        log = open_document(text, _Log).value
        samples = raw_items(log.samples) if log else []
        located = locate_items(text, samples)
        inside = (data for begins, data in located if begins <= ref.offset < begins + len(data))
        text = next(inside, b"{}")
    place, last = (ref.file, ref.member), _LAST.get(source)
    if last is None or last[0] != place or last[1] != text:
        found = open_document(text, _Attached).value
        last = place, text, Attachments(found.attachments if found else NULL)
        _LAST[source] = last
    return last[2]
