"""Exports a log as a notebook: its messages as text, and every call as a cell in nbtools' own tools,
with the recorded result; or as a lesson, which asks before each step what the reader would do.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
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
from nbtools.traces.explorer.export.safe_markdown import code_block, inline_code, plain, sanitize_markdown
from nbtools.traces.explorer.recorded_card import recorded_card
from nbtools.traces.explorer.redaction import redacting
from nbtools.traces.explorer.step_detail import redacted_call, redacted_detail
from nbtools.traces.explorer.summary import summary_of
from nbtools.traces.export.removal import Patterns, Removal, RemovingRedactor, removal_for
from nbtools.traces.json_access import text_of
from nbtools.traces.model import Call, Detail, Event, Session
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.visible_labels import visible_labels
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
_MAX_RESULT = 2_000
"""Maximum number of characters of a result in a lesson's answer."""
_SPEAKERS = {"user": "Person", "assistant_text": "Agent", "scorer": "Scorer"}


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
        removal = removal_for(trace.sessions, redact, keep, home=home)
        exported = (LessonExporter if lesson else Exporter)(trace, report, removal)
        exported.find_secrets()
        text = msgspec.json.format(
            msgspec.json.encode(_notebook(exported.cells(), removal), order="sorted"), indent=1
        )
    try:
        return create_file(target, text + b"\n")
    except OSError as error:
        raise TraceError(f"{target}: {error.strerror or error}.") from error


def _notebook(cells: Iterable[Cell], removal: Removal) -> dict[str, Any]:
    """Builds the JSON of nbformat's schema 4.5, with sources without secrets; outputs have none.

    Texts are stored line by line, so that a changed line is one line in a diff.
    """

    def cleaned(cell: Cell) -> list[str]:
        return removal.text(cell["source"]).splitlines(keepends=True)

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
                yield self._call_cell(row) if isinstance(row, Call) else self._message_cell(row)

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

    def _message_cell(self, event: Event) -> Cell:
        text = self._text(event)
        shown = sanitize_markdown(text)
        if len(text) > _FOLD_LENGTH:  # every notebook folds this element
            shown = f"<details><summary>{plain(one_line(text, 120))}</summary>\n\n{shown}\n\n</details>"
        return markdown_cell(f"**{_SPEAKERS[event.kind]}**\n\n{shown}")

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

    def _call_cell(self, call: Call) -> Cell:
        self._report(self._count, len(self._trace.calls))
        self._count += 1
        ground, detail = self._ground(call), call.detail
        with redacting(RemovingRedactor(removal=self._removal)):
            card = recorded_card(redacted_call(call), redacted_detail(detail), cwd=ground.cwd)
        # lines are coloured piece by piece, so the card is cleaned before it is drawn
        card = Card.model_validate(remove_from_card(card.model_dump(mode="json"), self._removal))
        data = {
            mime: content.splitlines(keepends=True) if isinstance(content, str) else content
            for mime, content in bundle(card).items()
        }
        output = {"output_type": "display_data", "data": data, "metadata": {"nbtools": {"recorded": True}}}
        cell = _code(self._source(call, detail))
        metadata = {"nbtools": {"session": call.session, "call": call.id}}
        return {**cell, "metadata": metadata, "outputs": [output]}

    def _ground(self, call: Call) -> WorkingDirectory:
        if call.session not in self._grounds:
            self._grounds[call.session] = working_directory_of(call, sessions=self._sessions)
        return self._grounds[call.session]

    def _source(self, call: Call, detail: Detail) -> str:
        """Returns the cell that runs the call again, or a comment that says why it cannot be run."""
        try:
            return cell_source(canonical_call(call, self._ground(call), detail=detail))
        except TraceError as error:
            return f"# {one_line(f'{call.name} {call.subject}'.strip())}\n# {one_line(str(error))}"


class LessonExporter(Exporter):
    """A step is what the agent said and the calls that it then made.
    Notes of the review are speaker notes behind their step.
    """

    def cells(self) -> Iterator[Cell]:
        self._checkpoints = 0
        self._notes = [
            one
            for one in visible_labels(self._trace)[0]
            if one.kind == "note" and one.placed and one.value.strip()
        ]
        yield markdown_cell(self._lesson_title(), "slide")
        for session in self._trace.sessions:
            rows = self._rows(session)
            yield from self._heading(session) if rows else ()
            yield from self._note_cells(
                [one for one in self._notes if one.session == session.id and one.seq is None]
            )
            for step in _steps(rows):
                yield from self._step_cells(session, step)

    def _lesson_title(self) -> str:
        heading = self._title().partition("\n")[0]
        removed = f"\n\n{self._removal.note} from this lesson." if self._removal.note else ""
        return (
            f"{heading}\n\nA recorded session as a lesson: {counted(len(self._trace.calls), 'call')}. At each"
            " checkpoint, decide what you would do next; then unfold what the agent did. A difference is not"
            " a mistake: say what speaks for each.\n\nTo run a call here, copy its `%tool` line into a new"
            f" code cell, below one that has run `%load_ext nbtools`.{removed}"
        )

    def _step_cells(self, session: Session, step: Sequence[Event | Call]) -> Iterator[Cell]:
        calls = [row for row in step if isinstance(row, Call)]
        if calls:
            yield self._checkpoint(step)
        else:
            yield from (self._message_cell(event) for event in step if isinstance(event, Event))
        first, last = step[0].seq, step[-1].seq
        yield from self._note_cells(
            [
                one
                for one in self._notes
                if one.session == session.id and one.seq is not None and first <= one.seq <= last
            ]
        )

    def _checkpoint(self, step: Sequence[Event | Call]) -> Cell:
        self._checkpoints += 1
        parts = (
            self._call_answer(row) if isinstance(row, Call) else sanitize_markdown(self._text(row))
            for row in step
        )
        answer = "\n\n".join(parts)
        return markdown_cell(
            f"**Checkpoint {self._checkpoints}: what would you do next?**\n\n"
            f"<details><summary>What the agent did</summary>\n\n{answer}\n\n</details>",
            "subslide",
        )

    def _call_answer(self, call: Call) -> str:
        detail = call.detail
        recorded = self._removal.text(detail.result)  # before it is cut: half of a secret is not found
        result = "\n".join(map(seen, recorded[:_MAX_RESULT].splitlines())).strip()
        more = f"\n\n({len(recorded) - _MAX_RESULT:,} more characters)" if len(recorded) > _MAX_RESULT else ""
        ended = "" if call.status == "ok" else f" ({call.status})"
        heading = f"**{plain(call.name)}** {plain(one_line(call.subject))}{ended}"
        outcome = f"{code_block(result)}{more}" if result else "No result is recorded."
        return f"{heading}\n\n{code_block(self._source(call, detail))}\n\n{outcome}"

    def _note_cells(self, notes: Sequence[Label]) -> Iterator[Cell]:
        for note in notes:
            yield markdown_cell(f"**Speaker note**\n\n{sanitize_markdown(note.value)}", "notes")


def _steps(rows: Sequence[Event | Call]) -> Iterator[list[Event | Call]]:
    """Groups rows: a person's message alone, and the agent's texts with the calls that follow them."""
    step: list[Event | Call] = []
    for row in rows:
        is_prompt = _is_prompt(row)
        has_calls = any(isinstance(one, Call) for one in step)
        if step and (is_prompt or (has_calls and isinstance(row, Event)) or _is_prompt(step[-1])):
            yield step
            step = []
        step.append(row)
    if step:
        yield step


def _is_prompt(row: Event | Call) -> bool:
    return isinstance(row, Event) and row.kind == "user"


def markdown_cell(text: str, slide: str = "") -> Cell:
    """Returns a cell; ``slide`` is its type in a slide show."""
    metadata = {"slideshow": {"slide_type": slide}} if slide else {}
    return {"cell_type": "markdown", "metadata": metadata, "source": text}


def _code(source: str) -> Cell:
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source}


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
