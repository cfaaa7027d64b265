"""Wire format of reviews in the explorer.  ``explorer_messages`` includes these models."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from nbtools.cards.card_model import Wire
from nbtools.traces.reviews.records import MAX_SPAN, MAX_TEXT

MarkTone = Literal["pass", "fail", "defer", "label", "note", "signal"]


class TraceReviewParams(Wire):
    """Reads or changes the review of the log, in the name of ``reviewer`` (empty: the default one).

    ``line`` … ``last`` are the lines to review (both inclusive), as numbered in ``version`` of the log; None
    for the whole session. ``value`` is a note's text, a code or a verdict, ``span`` a text that the person
    selected, ``label`` the record to withdraw or to sort.
    """

    explorer: str
    action: Literal["read", "note", "label", "verdict", "sort", "withdraw", "undo"]
    reviewer: str = Field("", max_length=200)
    line: int | None = None
    last: int | None = None
    version: int = 0
    value: str = Field("", max_length=MAX_TEXT)
    span: str = Field("", max_length=MAX_SPAN)
    label: str = Field("", max_length=100)
    order: Literal["random", "stratified", "recorded"] = "random"
    seed: int = Field(0, ge=0, lt=2**31)


class ReviewCode(Wire):
    """A code of the code book."""

    name: str
    key: str = ""
    description: str = ""


class TraceMark(Wire):
    """A mark on a line of the list; ``title`` explains it."""

    line: int
    tone: MarkTone
    text: str
    title: str = ""


class TraceLabel(Wire):
    """A record in force.

    ``step`` names its place: ``46``, ``46–52``, or empty for the session; ``line`` is its first line, None
    where it has none.  ``code`` is what a note was sorted under.  ``lost`` says why its place is not certain,
    empty if it is.
    """

    id: str
    kind: Literal["note", "label", "verdict"]
    value: str
    reviewer: str
    mine: bool
    step: str = ""
    line: int | None = None
    last: int | None = None
    span: str = ""
    code: str = ""
    lost: str = ""


class ReviewAgreement(Wire):
    """The agreement with another reviewer on ``items`` verdicts; ``kappa`` is Cohen's κ, if it is defined,
    ``low`` and ``high`` are the limits of its 95 % interval, if there is one.
    """

    reviewer: str
    items: int
    kappa: float | None = None
    low: float | None = None
    high: float | None = None


class TraceReview(Wire):
    """The review of the log.  ``labels`` are the latest of the ``records`` in force.

    ``done`` of ``total`` steps or sessions have a verdict of the reviewer; ``following`` is the line of the
    next one without, None if there is none.  ``message`` says what was done.  ``complete`` is False while
    signals are still looked for.  ``judged``: the reviewer has given a verdict on each session of the log.
    ``hidden``: the reader is blind, and what others wrote is left out.  Lines are those of ``version`` of the
    log.
    """

    reviewer: str
    codes: tuple[ReviewCode, ...]
    labels: tuple[TraceLabel, ...]
    records: int = 0
    marks: tuple[TraceMark, ...]
    agreements: tuple[ReviewAgreement, ...] = ()
    done: int = 0
    total: int = 0
    sessions: bool = False
    judged: bool = False
    hidden: bool = False
    following: int | None = None
    message: str = ""
    complete: bool = True
    version: int = 0
