"""Rollouts of Codex.

One call is told by several records: what the model asked, what events say of its end, and the output.  Events that repeat what an item
says (messages, prompts) are told as progress; a session's text comes from its items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.traces.format import Head
from nbtools.traces.formats.codex.detail import detail
from nbtools.traces.formats.codex.reading import Reading
from nbtools.traces.formats.codex.records import decode
from nbtools.traces.model import Call, Detail, Origin, Problem, Row
from nbtools.traces.source import Source

_ENVELOPE = re.compile(rb'"type"\s*:\s*"(?:session_meta|response_item|event_msg|turn_context|compacted|world_state)"')
_STATE = re.compile(rb'^\s*\{\s*"record_type"\s*:\s*"state"', re.MULTILINE)
_NAMED = re.compile(rb'"type"\s*:\s*"session_meta".{0,400}?"id"\s*:\s*"([^"\\]+)"', re.DOTALL)
_ROLLED_BACK = b'"thread_rolled_back"'
_START = 1 << 20
_PIECE = 1 << 18


class Codex:
    name = "codex"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if head.has("payload") and _ENVELOPE.search(head.start):
            return True
        first = head.first
        bare = isinstance(first, dict) and "type" not in first and {"id", "timestamp", "instructions"} <= first.keys()
        return bare or (head.is_json and _STATE.search(head.start) is not None)

    def files(self, path: Path) -> Sequence[Path]:
        """A sub-agent's log is one by itself, anywhere."""
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        name = _name(source)
        reading = Reading(origin, name, _rewound(source, origin, name))
        for item in source.lines(decode):
            if isinstance(item, Problem):
                reading.problem(item)
            else:
                reading.line(*item)
            if reading.out:
                yield from reading.out
                reading.out.clear()
        reading.finish()
        yield from reading.out

    def detail(self, source: Source, call: Call) -> Detail:
        return detail(source, call)


def _name(source: Source) -> str:
    """The session's id, also for records before the line that says it."""
    found = _NAMED.search(_start(source))
    return found[1].decode("utf-8", "replace") if found else source.path.stem


def _start(source: Source) -> bytes:
    try:
        with source.path.open("rb") as opened:
            return opened.read(_START)
    except OSError:
        return b""


def _rewound(source: Source, origin: Origin, name: str) -> frozenset[int]:
    """The turns that were taken back later.  Few logs have any: only those are read twice."""
    if not _mentions(source, _ROLLED_BACK):
        return frozenset()
    reading = Reading(origin, name, frozenset())
    for item in source.lines(decode):
        if not isinstance(item, Problem):
            reading.line(*item)
        reading.out.clear()
    return frozenset(reading.taken_back)


def _mentions(source: Source, words: bytes) -> bool:
    """Read piece by piece: a mapped file would count as memory of this process."""
    try:
        with source.path.open("rb", buffering=0) as opened:
            before = b""
            while piece := opened.read(_PIECE):
                if words in piece or words in before + piece[: len(words)]:
                    return True
                before = piece[-len(words) :]
    except OSError:
        return False
    return False
