"""Wire format of the rows of a log, which a page gets once as columns, and of what it searches in them.

A page names the ``version`` of the lines that it shows.  Where that is not the kernel's, a reply has the
kernel's version and nothing else: the page then follows the log first.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from nbtools.cards.card_model import Span, Wire
from nbtools.traces.columns import ColumnBlock
from nbtools.traces.explorer.explorer_view import TraceView


class TraceChip(Wire):
    """A property of steps to filter by; its id is its position among all chips of the explorer.

    ``facet`` is its group, ``key`` goes into a filter, ``title`` explains it.
    """

    facet: str
    key: str
    label: str
    title: str = ""


class TraceRowsParams(Wire):
    """``count`` rows from line ``first`` on; ``chips`` is how many chips the page knows already."""

    explorer: str
    version: int
    first: int = Field(ge=0)
    count: int = Field(ge=0)
    chips: int = Field(0, ge=0)


class TraceRows(Wire):
    """Rows of a log; None where the page has another version.  ``total`` counts all lines of the log.

    The columns of ``block`` are ``number subject`` (text), ``icon name right tone`` (word), ``depth`` (u16),
    ``below added removed`` (u32), ``flags`` (u8: 1 a call, 2 live, so not on a rewound branch), ``seconds``
    (f64, the duration of a call) and ``chips`` (list).  ``chips`` are those from the id ``first_chip`` on.
    """

    version: int
    first: int = 0
    total: int
    block: ColumnBlock | None = None
    first_chip: int = 0
    chips: tuple[TraceChip, ...] = ()


class TraceExplorerParams(Wire):
    """The parameters of methods that need no more than the explorer."""

    explorer: str


class TraceChoiceLines(Wire):
    """A value to filter by, and its lines; ``key`` goes into a filter, ``title`` explains it."""

    key: str
    label: str
    title: str = ""
    lines: tuple[int, ...] = ()


class TraceFacetRows(Wire):
    """Choices of one kind, of which a step must have a chosen one; ``menu``: in a menu instead of chips."""

    name: str
    label: str
    menu: bool = False
    choices: tuple[TraceChoiceLines, ...] = ()


class TraceFacets(Wire):
    """All facets besides the chips of the rows; their lines are those of ``version``."""

    version: int
    facets: tuple[TraceFacetRows, ...]


class TraceVersionParams(Wire):
    """The parameters of methods that are about all lines of a version."""

    explorer: str
    version: int


class TraceTokens(Wire):
    """The requests of all lines: ``tokens`` (f64) and ``text`` (word) of the request that begins at a line;
    None where the page has another version.
    """

    version: int
    block: ColumnBlock | None = None


class TraceSearchParams(Wire):
    explorer: str
    version: int
    text: str = Field(max_length=10_000)


class TraceHits(Wire):
    """The lines that contain a text, in order, as the column ``line`` (u32); None where the page has another
    version.

    ``indexed`` is the percentage of the log that was searched: below 100, the same request finds more a
    moment later.
    """

    version: int
    indexed: int = 100
    block: ColumnBlock | None = None


class TraceExcerptsParams(Wire):
    explorer: str
    version: int
    text: str = Field(max_length=10_000)
    lines: tuple[int, ...] = Field(max_length=500)


class TraceExcerpts(Wire):
    """One line around the hits of each of the lines; empty where the page has another version."""

    version: int
    excerpts: tuple[tuple[Span, ...], ...] = ()


class TraceFollowParams(Wire):
    """Asks what was written to the log since ``version``, which the page shows.

    ``log`` is the name of the file in which the session goes on, if the person goes on to it.  ``chips`` is
    how many chips the page knows.
    """

    explorer: str
    version: int
    log: Annotated[str, Field(max_length=300)] = ""
    chips: int = Field(0, ge=0)


class TraceMove(Wire):
    """``count`` lines from ``first`` on are now the lines from ``to`` on."""

    first: int
    to: int
    count: int


class TraceUpdate(Wire):
    """The changes of a log.  ``view`` is None if there are none.

    ``moves`` say where the lines of the page's version are now; other lines are new, or gone.  ``changed``
    are lines, as numbered now, whose record says something else, such as calls that have got their result.
    ``block`` has the new rows and those that look different, with their ``line`` (u32); None with a view:
    the page loads all rows again.  ``restarted``: it is not known where the lines are.  ``fresh``: the log
    was written in the last minutes.  ``continuation`` is the name of the file in which the session goes on,
    empty if there is none.
    """

    version: int
    fresh: bool
    view: TraceView | None = None
    moves: tuple[TraceMove, ...] = ()
    changed: tuple[int, ...] = ()
    restarted: bool = False
    continuation: str = ""
    block: ColumnBlock | None = None
    first_chip: int = 0
    chips: tuple[TraceChip, ...] = ()
