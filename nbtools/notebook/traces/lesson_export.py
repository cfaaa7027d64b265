"""Exports a log as a lesson: before each step it asks what the reader would do,
with the agent's answer folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.message import counted
from nbtools.notebook.traces.notebook_export import Cell, Exporter, markdown_cell
from nbtools.traces.explorer.export.safe_markdown import code_block, plain, sanitize_markdown
from nbtools.traces.model import Call, Event, Session
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.review import review

_MAX_RESULT = 2_000
"""Maximum number of characters of a result in an answer."""


class LessonExporter(Exporter):
    """A step is what the agent said and the calls that it then made.
    Notes of the review are speaker notes behind their step.
    """

    def cells(self) -> Iterator[Cell]:
        self._checkpoints = 0
        self._notes = [
            one
            for one in review(self._trace).labels
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
            for event in step:
                if isinstance(event, Event):
                    yield from self._message_cells(event)
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
