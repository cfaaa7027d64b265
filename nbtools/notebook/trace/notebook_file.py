"""A log as a notebook to learn from: its story, and every call in our own words, ready to be run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nbtools.core.errors import TraceError
from nbtools.notebook.bundle import bundle
from nbtools.notebook.trace.call_cell import cell_of
from nbtools.notebook.trace.how_far import Tell, telling
from nbtools.notebook.trace.recorded import card_of_recorded
from nbtools.notebook.trace.summary import summary_of
from nbtools.notebook.visible import one_line, seen
from nbtools.replay import Ground, ground_of, meaning_of
from nbtools.traces.loose import text_of
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.trace import Trace

Cell: TypeAlias = dict[str, Any]

_LONG = 1_500
"""Characters of a text that stand open; a longer one is folded behind its beginning."""
_LONGEST = 50_000
_TOLD = {"user": "Person", "assistant_text": "Agent"}
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}#{1,6} +(.+?) *#*")
_INLINE_CODE = re.compile(r"(`[^`]+`)")


def write_notebook(trace: Trace, path: str | Path) -> Path:
    """Writes ``trace`` to ``path`` and returns the path; where there is a file already, the next free name beside it (``story-1.ipynb``).

    Of rewound branches and of what the model did not ask for itself nothing is told.  Raises ``TraceError`` where the log has changed since
    it was read, or the file cannot be written.
    """
    target = Path(path).expanduser()
    with telling(f"Writing {target.name}") as tell:
        text = msgspec.json.format(msgspec.json.encode(_notebook(_Story(trace, tell).cells()), order="sorted"), indent=1)
    try:
        return _created(target, text + b"\n")
    except OSError as error:
        raise TraceError(f"{target}: {error.strerror or error}.") from error


def _created(target: Path, content: bytes) -> Path:
    """Writes a new file and never over another one, also where two programs write at the same time.  Raises ``OSError``."""
    for number in count():
        path = target.with_stem(f"{target.stem}-{number}") if number else target
        with suppress(FileExistsError):
            file = path.open("xb")
            break
    with file:
        try:
            file.write(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return path


def _notebook(cells: Iterable[Cell]) -> dict[str, Any]:
    """Written by our own hand, by nbformat's schema 4.5: that package takes seconds to load, to check what is right anyway."""
    return {
        "cells": [{**cell, "id": f"step-{number}"} for number, cell in enumerate(cells, 1)],
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


class _Story:
    def __init__(self, trace: Trace, tell: Tell) -> None:
        self._trace = trace
        self._tell = tell
        self._count = 0
        self._grounds: dict[str, Ground] = {}

    def cells(self) -> Iterator[Cell]:
        yield _markdown(self._title())
        yield _code("%load_ext nbtools")
        for session in self._trace.sessions:
            rows = sorted((*self._events.get(session.id, ()), *self._calls.get(session.id, ())), key=lambda row: row.seq)
            if rows and len(self._trace.sessions) > 1:
                named = session.title or session.id
                yield _markdown(f"## {'Sub-agent' if session.parent else 'Session'} {_plain(named)}")
            for row in rows:
                yield from self._told_call(row) if isinstance(row, Call) else self._told(row)

    @cached_property
    def _sessions(self) -> dict[str, Session] | None:
        """Of one log; the ids of several may be the same."""
        return {one.id: one for one in self._trace.sessions} if len(self._trace.readings) == 1 else None

    @cached_property
    def _events(self) -> dict[str, list[Event]]:
        return _by_session(one for one in self._trace.events if one.live and one.kind in _TOLD and one.text.strip())

    @cached_property
    def _calls(self) -> dict[str, list[Call]]:
        return _by_session(one for one in self._trace.calls if one.live and one.level == "model")

    @cached_property
    def _readings(self) -> dict[int, Any]:
        return {id(event): reading for event, reading in zip(self._trace.events, self._trace.events.readings, strict=True)}

    def _title(self) -> str:
        summary = summary_of(self._trace)
        first = self._trace.sessions[0] if self._trace.sessions else None
        cwd = f" in `{first.cwd}`" if first is not None and first.cwd else ""
        said = (
            f"A recorded session{cwd}: {len(self._trace.calls):,} calls, each a cell that makes it, with the recorded result. "
            "Cells change files when they are run: put this notebook into a copy of the repository first, or work in one with "
            "`%tools workspace FOLDER`."
        )
        begun = summary.title.partition("⏎")[0].strip()  # what the person began with may have several lines
        return f"# {_plain(begun or summary.title)}\n\n{said}"

    def _told(self, event: Event) -> Iterator[Cell]:
        text = "\n".join(map(seen, self._whole(event)[:_LONGEST].splitlines())).strip()
        yield _markdown(f"**{_TOLD[event.kind]}**\n\n{_folded(text) if len(text) > _LONG else tamed(text)}")

    def _whole(self, event: Event) -> str:
        """All of a text of which the row has the beginning, where it can be found in the record."""
        if event.size <= len(event.text):
            return event.text
        record = self._readings[id(event)].source.record(event.ref)
        found = [text for text in _texts(record) if text.startswith(event.text)]
        return max(found, key=len, default=f"{event.text} …")

    def _told_call(self, call: Call) -> Iterator[Cell]:
        self._tell(self._count, len(self._trace.calls))
        self._count += 1
        yield from self._call(call)

    def _call(self, call: Call) -> Iterator[Cell]:
        if call.session not in self._grounds:
            self._grounds[call.session] = ground_of(call, sessions=self._sessions)
        ground, detail = self._grounds[call.session], call.detail
        try:
            source = cell_of(meaning_of(call, ground, detail=detail))
        except TraceError as error:
            source = _commented(call, str(error))
        output = _shown(bundle(card_of_recorded(call, detail, cwd=ground.cwd)))
        yield _code(source, [output], {"nbtools": {"session": call.session, "call": call.id}})


def _commented(call: Call, why: str) -> str:
    lines = [f"{call.name} {call.subject}".strip(), why]
    return "\n".join(f"# {one_line(line)}" for line in lines)


def _folded(text: str) -> str:
    """HTML that every notebook folds."""
    return f"<details><summary>{_plain(one_line(text, 120))}</summary>\n\n{tamed(text)}\n\n</details>"


def tamed(text: str) -> str:
    """Markdown of somebody else's: no tags, no pictures (they would be fetched), no headings among ours, no fence left open."""
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        found = _FENCE.match(line)
        if fence:
            fence = "" if found and found[1].startswith(fence) and not found[2].strip() else fence
            lines.append(line)
        elif found:
            fence = found[1]
            lines.append(line)
        else:
            lines.append(_tamed_line(line))
    return "\n".join([*lines, fence] if fence else lines)


def _tamed_line(line: str) -> str:
    heading = _HEADING.fullmatch(line)
    if heading:
        return f"**{_plain(heading[1])}**"
    parts = _INLINE_CODE.split(line)
    return "".join(part if number % 2 else part.replace("<", "&lt;").replace("![", "\\![") for number, part in enumerate(parts))


def _plain(text: str) -> str:
    """In a heading: no tags, no Markdown."""
    return re.sub(r"([\\`*_\[\]#<>])", r"\\\1", one_line(text, 200)).replace("\\<", "&lt;").replace("\\>", "&gt;")


def _markdown(text: str) -> Cell:
    return {"cell_type": "markdown", "metadata": {}, "source": _lines(text)}


def _code(source: str, outputs: Sequence[Mapping[str, Any]] = (), metadata: Mapping[str, Any] | None = None) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata or {}),
        "outputs": list(outputs),
        "source": _lines(source),
    }


def _shown(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """A recorded result as a cell's output."""
    data = {mime: _lines(content) if isinstance(content, str) else content for mime, content in bundle.items()}
    return {"output_type": "display_data", "data": data, "metadata": {"nbtools": {"recorded": True}}}


def _lines(text: str) -> list[str]:
    """As notebooks keep texts: a line an entry, so that a change to one is one in a diff."""
    return text.splitlines(keepends=True)


def _by_session(rows: Iterator[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row.session, []).append(row)
    return found


def _texts(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < 8 and isinstance(value, dict | list):
        if isinstance(value, list):
            yield text_of(value)
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item, depth + 1)
