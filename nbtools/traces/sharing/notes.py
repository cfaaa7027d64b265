"""The notes, labels and verdicts of a review in a shared file:
text beside their steps, and chips to filter by.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.traces.explorer.explorer_messages import TraceContext, TraceLink
from nbtools.traces.explorer.reviewing.reviewer import UNREVIEWED, ReviewFacet
from nbtools.traces.model import Session
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.review import review
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.trace import Trace

if TYPE_CHECKING:
    from nbtools.traces.explorer.explorer import Explorer

_NAMES = {"note": "Note", "label": "Label", "verdict": "Verdict"}


class Notes:
    """The notes, labels and verdicts of ``trace``, by their first line;
    those about a session are at the first line of the session.
    """

    def __init__(self, trace: Trace, explorer: Explorer) -> None:
        explorer.add_facet(lambda one: ReviewFacet(one.reviewer))
        self._codes = {label.about: label.value for label in visible_labels(trace)[0] if label.kind == "code"}
        self._by_line: dict[int, list[Label]] = defaultdict(list)
        starts: dict[str, int] = {}
        for line, row in enumerate(explorer.lines.rows):
            starts.setdefault(row.id if isinstance(row, Session) else row.session, line)
        for label in shared_labels(trace):
            first = review(trace).rows_of(label)[0]
            place = (
                starts.get(label.session)
                if isinstance(first, Session)
                else explorer.lines.line_by_row.get(id(first))
            )
            if place is not None:
                self._by_line[place].append(label)

    def added(self, line: int, opened: dict[str, Any]) -> dict[str, Any]:
        """Returns the details of a step with its notes before its context."""
        notes = [self._context(label).model_dump(mode="json") for label in self._by_line.get(line, ())]
        return {**opened, "around": [*notes, *opened["around"]]}

    def _context(self, label: Label) -> TraceContext:
        place = "session" if label.whole_session else ""
        if not label.whole_session and label.step != label.last_step:
            place = f"steps {label.step}–{label.last_step}"
        changed = "the step has changed since" if label.status == "changed" else ""
        head = ", ".join(
            filter(None, (f"{_NAMES[label.kind]} by {one_line(label.reviewer, 100)}", place, changed))
        )
        quoted = f"“{one_line(label.span, 300)}”: " if label.span else ""
        code = self._codes.get(label.id, "")
        text = seen(label.value, keep="\t\n") + (f" ({one_line(code, 100)})" if code else "")
        return TraceContext(label=head, parts=(TraceLink(text=quoted + text),))


def shared_labels(trace: Trace) -> list[Label]:
    """Returns the notes, labels and verdicts that the reader sees and whose place was found."""
    return [label for label in visible_labels(trace)[0] if label.kind in _NAMES and label.placed]


def without_unreviewed(facets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Removes the chip of the steps that the person has still to review."""
    key = f"review:{UNREVIEWED}"
    return [
        {**facet, "choices": [choice for choice in facet["choices"] if choice["key"] != key]}
        for facet in facets
    ]
