"""Data of a shared file: the answers that a kernel would give to its page.

``labextension/src/explorer/shared_model.ts`` is generated from this file.
"""

from __future__ import annotations

from nbtools.cards.card_model import Wire
from nbtools.traces.explorer.explorer_messages import TraceOpened
from nbtools.traces.explorer.explorer_view import TraceView
from nbtools.traces.explorer.row_messages import TraceFacetRows, TraceRows


class SharedLog(Wire):
    """A whole log.  ``rows`` are those of all its lines, ``facets`` what they can be filtered by besides the
    chips of the rows.  ``data`` has their columns: the low byte of each character is a byte of the buffer.

    ``opened`` has the details of each line; ``note`` says what was removed and left out.
    """

    view: TraceView
    rows: TraceRows
    data: str
    facets: tuple[TraceFacetRows, ...]
    opened: tuple[TraceOpened, ...]
    note: str
