"""Wire format of the overviews of time and tokens, and of the breakdown of a session."""

from __future__ import annotations

from typing import Literal

from nbtools.cards.card_model import Wire
from nbtools.traces.explorer.explorer_view import Tone

StripMode = Literal["time", "tokens"]


class TraceStripParams(Wire):
    """The overview over time, or over the tokens of the requests."""

    explorer: str
    mode: StripMode


class TraceUsageParams(Wire):
    """Asks where tokens, money and time went; with ``prices``, what the requests cost by price lists."""

    explorer: str
    prices: bool = False


class StripBar(Wire):
    """One bar, for the lines ``first`` … ``last`` of the log.

    ``start`` and ``end`` are positions on the axis in ten-thousandths.  ``parts`` are the heights of its
    sections from the bottom, in thousandths: new input, cached input, output; empty for a bar of full height.
    ``failed`` is the share of its calls that failed, in thousandths; at least 1 if one has.  ``label``
    describes it.
    """

    first: int
    last: int
    start: int
    end: int
    lane: int = 0
    parts: tuple[int, ...] = ()
    tone: Tone = "quiet"
    failed: int = 0
    mark: Literal["", "cache", "compaction", "waiting"] = ""
    label: str = ""


class StripTick(Wire):
    at: int
    label: str


class TraceStrip(Wire):
    """An overview: ``lanes`` rows of bars with ``names``. ``note`` says why there are none, or not all."""

    mode: StripMode
    lanes: int = 1
    names: tuple[str, ...] = ()
    bars: tuple[StripBar, ...] = ()
    ticks: tuple[StripTick, ...] = ()
    note: str = ""


class UsageRow(Wire):
    """A row of a table: ``cells`` are the texts of its columns, ``share`` the length of its bar in percent.
    ``hints`` say more about cells on hover; those at the end may be missing.

    A click lists the steps of the choice ``chip``, searches for ``text``, or goes to ``line``.
    """

    cells: tuple[str, ...]
    hints: tuple[str, ...] = ()
    share: int = 0
    chip: str = ""
    text: str = ""
    line: int | None = None


class UsageTable(Wire):
    """A table of the breakdown; ``note`` explains its numbers, ``hints`` its columns on hover. ``mark`` says
    in a word how far they can be trusted, ``mark_hint`` on hover what that means.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[UsageRow, ...]
    note: str = ""
    hints: tuple[str, ...] = ()
    mark: str = ""
    mark_hint: str = ""


class TraceUsage(Wire):
    """The tables of tokens, money and time.  ``priced``: the costs are those of price lists."""

    tables: tuple[UsageTable, ...]
    priced: bool = False
