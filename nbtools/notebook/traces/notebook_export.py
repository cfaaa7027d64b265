"""Exports a log as a notebook: its messages as text, and every call as a cell in nbtools' own tools,
with the recorded result.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from nbtools.cards.card import bundle
from nbtools.cards.card_model import Card
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.browser import IN_BROWSER
from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.notebook.frontend import Kernel
from nbtools.notebook.live_display import LiveDisplay
from nbtools.notebook.traces.call_cells import cell_source
from nbtools.replay import WorkingDirectory, canonical_call, working_directory_of
from nbtools.traces.explorer.export.new_file import create_file
from nbtools.traces.explorer.export.safe_markdown import inline_code, plain, sanitize_markdown
from nbtools.traces.explorer.recorded_card import recorded_card
from nbtools.traces.explorer.redaction import redacting
from nbtools.traces.explorer.step_detail import redacted_call, redacted_detail
from nbtools.traces.explorer.summary import summary_of
from nbtools.traces.export.removal import Patterns, Removal, RemovingRedactor, removal_for
from nbtools.traces.json_access import text_of
from nbtools.traces.model import Call, Detail, Event, Session
from nbtools.traces.row_texts import texts_of_call
from nbtools.traces.sharing.wire_texts import remove_from_card
from nbtools.traces.trace import Trace

ProgressCallback: TypeAlias = Callable[[int, int], None]
"""Called with the number of calls done and their total."""


@contextmanager
def progress_line(label: str) -> Iterator[ProgressCallback]:
    """Shows a long export's progress as one line in a notebook, nowhere else.
    The line is empty at the end.
    """
    ipython = sys.modules.get("IPython")  # programs run without it
    shell: Any = ipython.get_ipython() if ipython else None
    shows = (
        hasattr(shell, "kernel") and not IN_BROWSER
    )  # Pyodide's kernel shows outputs only when the work is done
    display = LiveDisplay(Kernel(shell).display_target(None), first=1.0, interval=0.5) if shows else None

    def report(done: int, total: int) -> None:
        if display is not None:
            display.update(lambda: {"text/plain": f"{label}: {done:,} of {counted(total, 'call')}"})

    try:
        yield report
    finally:
        if display is not None:
            display.remove()


Cell: TypeAlias = dict[str, Any]

_FOLD_LENGTH = 1_500
"""Characters from which a text is folded behind its beginning."""
_MAX_LENGTH = 50_000
_SPEAKERS = {"user": "Person", "assistant_text": "Agent"}


def to_notebook(
    trace: Trace,
    path: str | Path,
    *,
    lesson: bool = False,
    redact: Patterns = (),
    keep: Collection[str] = (),
    home: bool = True,
) -> Path:
    """Writes ``trace`` to ``path`` and returns the path;
    if that exists, the next free name beside it (``story-1.ipynb``).

    Rewound branches and calls that the model did not make itself are left out.  A ``lesson`` asks before each
    step.  Secrets are removed as by ``traces.share``, and the first cell says how many.  Raises
    ``TraceError`` for an invalid pattern, if the log has changed since it was read, and if the file cannot be
    written.
    """
    target = Path(path).expanduser()
    with progress_line(f"Writing {target.name}") as report:
        exporter: type[Exporter] = Exporter
        if lesson:
            from nbtools.notebook.traces.lesson_export import (  # noqa: PLC0415 - inherits from this module's class
                LessonExporter,
            )

            exporter = LessonExporter
        removal = removal_for(trace.sessions, redact, keep, home=home)
        exported = exporter(trace, report, removal)
        exported.find_secrets()
        text = msgspec.json.format(
            msgspec.json.encode(_notebook(exported.cells(), removal), order="sorted"), indent=1
        )
    try:
        return create_file(target, text + b"\n")
    except OSError as error:
        raise TraceError(f"{target}: {error.strerror or error}.") from error


def _notebook(cells: Iterable[Cell], removal: Removal) -> dict[str, Any]:
    """Builds the JSON of nbformat's schema 4.5, with sources without secrets; outputs have none."""

    def cleaned(cell: Cell) -> list[str]:
        return _lines(removal.text("".join(cell["source"])))

    # Not by the package nbformat: importing it takes seconds,
    # only to validate what is correct by construction.
    return {
        "cells": [
            {**cell, "id": f"step-{number}", "source": cleaned(cell)} for number, cell in enumerate(cells, 1)
        ],
        "metadata": {
            "kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }


class Exporter:
    def __init__(self, trace: Trace, report: ProgressCallback, removal: Removal) -> None:
        self._trace = trace
        self._removal = removal
        self._report = report
        self._count = 0
        self._grounds: dict[str, WorkingDirectory] = {}

    def find_secrets(self) -> None:
        """Searches all texts before any is written, because a secret is removed wherever it occurs."""
        for events in self._events.values():
            for event in events:
                self._removal.spans(self._full_text(event))
        for calls in self._calls.values():
            for call in calls:
                for text in texts_of_call(call):
                    self._removal.spans(text)

    def cells(self) -> Iterator[Cell]:
        yield markdown_cell(self._title())
        yield _code("%load_ext nbtools")
        for session in self._trace.sessions:
            rows = self._rows(session)
            yield from self._heading(session) if rows else ()
            for row in rows:
                yield from self._call_cells(row) if isinstance(row, Call) else self._message_cells(row)

    def _rows(self, session: Session) -> list[Event | Call]:
        return sorted(
            (*self._events.get(session.id, ()), *self._calls.get(session.id, ())), key=lambda row: row.seq
        )

    def _heading(self, session: Session) -> Iterator[Cell]:
        if len(self._trace.sessions) > 1:
            yield markdown_cell(
                f"## {'Sub-agent' if session.parent else 'Session'} {plain(session.title or session.id)}"
            )

    @cached_property
    def _sessions(self) -> dict[str, Session] | None:
        """The sessions by id, if there is one log: ids of several logs may clash."""
        return {one.id: one for one in self._trace.sessions} if len(self._trace.readings) == 1 else None

    @cached_property
    def _events(self) -> dict[str, list[Event]]:
        return _by_session(
            one for one in self._trace.events if one.live and one.kind in _SPEAKERS and one.text.strip()
        )

    @cached_property
    def _calls(self) -> dict[str, list[Call]]:
        return _by_session(one for one in self._trace.calls if one.live and one.level == "model")

    @cached_property
    def _readings(self) -> dict[int, Any]:
        return {
            id(event): reading
            for event, reading in zip(self._trace.events, self._trace.events.log_files, strict=True)
        }

    def _title(self) -> str:
        summary = summary_of(self._trace)
        first = self._trace.sessions[0] if self._trace.sessions else None
        cwd = f" in {inline_code(one_line(first.cwd))}" if first is not None and first.cwd else ""
        introduction = (
            f"A recorded session{cwd}: {len(self._trace.calls):,} calls, each as a cell that runs it again,"
            " with the recorded result. Running a cell changes files: move this notebook into a copy of the"
            " repository first, or switch to one with `%tools workspace FOLDER`."
        )
        introduction += f"\n\n{self._removal.note} from this notebook." if self._removal.note else ""
        first_line = summary.title.partition("⏎")[0].strip()  # the first prompt may have several lines
        return f"# {plain(first_line or summary.title)}\n\n{introduction}"

    def _message_cells(self, event: Event) -> Iterator[Cell]:
        text = self._text(event)
        shown = _folded(text) if len(text) > _FOLD_LENGTH else sanitize_markdown(text)
        yield markdown_cell(f"**{_SPEAKERS[event.kind]}**\n\n{shown}")

    def _text(self, event: Event) -> str:
        return "\n".join(
            map(seen, self._removal.text(self._full_text(event))[:_MAX_LENGTH].splitlines())
        ).strip()

    def _full_text(self, event: Event) -> str:
        """Returns the full text of an event, of which the row has the beginning,
        if it can be found in the record.
        """
        if event.size <= len(event.text):
            return event.text
        record = self._readings[id(event)].record(event.ref)
        found = [text for text in _texts(record) if text.startswith(event.text)]
        return max(found, key=len, default=f"{event.text} …")

    def _call_cells(self, call: Call) -> Iterator[Cell]:
        self._report(self._count, len(self._trace.calls))
        self._count += 1
        yield from self._call(call)

    def _call(self, call: Call) -> Iterator[Cell]:
        ground, detail = self._ground(call), call.detail
        source = self._source(call, detail)
        output = _output(bundle(self._card(call, detail, ground.cwd)))
        yield _code(source, [output], {"nbtools": {"session": call.session, "call": call.id}})

    def _card(self, call: Call, detail: Detail, cwd: str) -> Card:
        """Returns the recorded card without secrets:
        lines are coloured piece by piece, so it is cleaned before it is drawn.
        """
        with redacting(RemovingRedactor(removal=self._removal)):
            card = recorded_card(redacted_call(call), redacted_detail(detail), cwd=cwd)
        return Card.model_validate(remove_from_card(card.model_dump(mode="json"), self._removal))

    def _ground(self, call: Call) -> WorkingDirectory:
        if call.session not in self._grounds:
            self._grounds[call.session] = working_directory_of(call, sessions=self._sessions)
        return self._grounds[call.session]

    def _source(self, call: Call, detail: Detail) -> str:
        """Returns the cell that runs the call again, or a comment that says why it cannot be run."""
        try:
            return cell_source(canonical_call(call, self._ground(call), detail=detail))
        except TraceError as error:
            return _comment_cell(call, str(error))


def _comment_cell(call: Call, why: str) -> str:
    lines = [f"{call.name} {call.subject}".strip(), why]
    return "\n".join(f"# {one_line(line)}" for line in lines)


def _folded(text: str) -> str:
    """Returns HTML that every notebook folds."""
    return (
        f"<details><summary>{plain(one_line(text, 120))}</summary>\n\n{sanitize_markdown(text)}\n\n</details>"
    )


def markdown_cell(text: str, slide: str = "") -> Cell:
    """Returns a cell; ``slide`` is its type in a slide show."""
    metadata = {"slideshow": {"slide_type": slide}} if slide else {}
    return {"cell_type": "markdown", "metadata": metadata, "source": _lines(text)}


def _code(
    source: str, outputs: Sequence[Mapping[str, Any]] = (), metadata: Mapping[str, Any] | None = None
) -> Cell:
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": dict(metadata or {}),
        "outputs": list(outputs),
        "source": _lines(source),
    }


def _output(bundle: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a recorded result as a cell's output."""
    data = {
        mime: _lines(content) if isinstance(content, str) else content for mime, content in bundle.items()
    }
    return {"output_type": "display_data", "data": data, "metadata": {"nbtools": {"recorded": True}}}


def _lines(text: str) -> list[str]:
    """Splits text as notebooks store it, one entry per line, so that a changed line is one line in a diff."""
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
