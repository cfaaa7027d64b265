"""Logs that are broken on purpose, and what must hold of reading them all the same."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from nbtools.traces import Trace
from nbtools.traces.model import Problem, Ref
from nbtools.traces.query.facts import facts_of
from nbtools.traces.reader import Format, Head, LogFile
from nbtools.traces.source import Source

_JUNK: list[Any] = [
    None,
    True,
    0,
    -1,
    7,
    1e300,
    2**70,
    "",
    "x",
    "a b",
    "exit_x",
    "{",
    "[]",
    "\x00",
    [],
    {},
    [None],
    [[]],
    [{}],
    {"a": [1]},
]


def _places(value: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    keys: Any = ()
    if isinstance(value, dict):
        keys = value.keys()
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield (*here, key)
        yield from _places(value[key], (*here, key))


@st.composite
def damaged(draw: st.DrawFn, documents: list[Any]) -> list[Any]:
    """Returns the document with a few values of another type, or missing."""
    documents = copy.deepcopy(documents)
    for _ in range(draw(st.integers(1, 4))):
        places = list(_places(documents))
        *way, last = draw(st.sampled_from(places)) if places else (0,)
        home = documents
        for key in way:
            home = home[key]
        if isinstance(home, dict) and draw(st.booleans()):
            del home[last]
        else:
            home[last] = copy.deepcopy(draw(st.sampled_from(_JUNK)))
    return documents


@st.composite
def spoilt(draw: st.DrawFn, data: bytes) -> bytes:
    """Returns the text cut short, or with a few wrong bytes."""
    if draw(st.booleans()):
        return data[: draw(st.integers(0, len(data)))]
    wrong = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        wrong[draw(st.integers(0, len(wrong) - 1))] = draw(st.sampled_from(b'\xff\x00"{}[],:\\\n0a'))
    return bytes(wrong)


def written(documents: list[Any], indent: int | None = None) -> bytes:
    return "".join(f"{json.dumps(one, indent=indent)}\n" for one in documents).encode()


def _size(source: Source, ref: Ref) -> int:
    return (
        len(source.read_file(ref.file, ref.member)) if ref.member else source.files[ref.file].stat().st_size
    )


def read_whole(path: Path, known: Format) -> Trace:
    """Everything there is to read; each row's bytes are in the file, ids are unique,
    each call has its details, there are facts.
    """
    assert known.recognises(Head(path, path.read_bytes())) in {True, False}
    source = Source(path, known.files(path))
    trace = Trace([LogFile(source, known)])
    for row in (*trace.events, *trace.calls, *trace.problems):
        refs = [row.ref, row.result_ref] if hasattr(row, "result_ref") else [row.ref]
        for ref in refs:
            assert ref.offset >= 0
            assert not ref.length or ref.offset + ref.length <= _size(source, ref)
            if not isinstance(row, Problem) and ref.length:
                source.record(ref)
    for call in trace.calls:
        assert isinstance(call.detail.result, str)
    names = [(call.session, call.id) for call in trace.calls]
    assert len(names) == len(set(names))
    assert facts_of(trace, trace)["malformed"] == len(trace.problems)
    return trace
