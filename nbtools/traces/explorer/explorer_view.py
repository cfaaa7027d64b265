"""The explorer's initial view, ``application/vnd.nbtools.trace.v1+json``, and the lines of its list.

The bundle contains the initial view; everything else is sent on request.  The page computes nothing.

A bundle may come from another person's notebook, so it names actions and contains no code: the source of a
cell is sent only by the kernel, in reply to a request.  ``labextension/src/explorer/model.ts`` is generated
from this file and ``explorer_messages``.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from nbtools.cards.card_model import Span, Wire

TRACE_MIME = "application/vnd.nbtools.trace.v1+json"
Tone: TypeAlias = Literal["person", "agent", "quiet", "done", "changed", "failed", "stopped", "unknown"]
"""Who speaks, or how a call ended: ``changed`` is a successful change to a file;
``stopped`` is denied, cancelled or unfinished.
"""
TraceOrder = Literal["", "tokens", "duration"]
TraceAction = Literal["compare", "notebook", "share", "sql"]


class TraceFact(Wire):
    """``doubt`` says why the fact is unreliable; ``bad`` marks bad news; ``title`` says what is counted."""

    text: str
    doubt: str = ""
    bad: bool = False
    title: str = ""


class TraceLine(Wire):
    """One line of the list.

    ``line`` is its index in the whole log from 0, which no filter changes; ``number`` is its step number as
    displayed.  ``below`` is the number of lines nested under it.  ``call``: it is a tool call, not a message.
    ``snippet`` is the excerpt that a search found.
    """

    line: int
    number: str
    icon: str
    name: str
    subject: str
    right: str
    tone: Tone
    depth: int
    below: int = 0
    call: bool = False
    live: bool = True
    added: int = 0
    removed: int = 0
    snippet: tuple[Span, ...] = ()


class TraceBar(Wire):
    """One bar of the overview, for the lines ``first`` … ``last``; ``height`` is a percentage.
    ``failed`` counts the lines that failed.
    """

    first: int
    last: int
    height: int
    tone: Tone
    failed: int = 0


class TraceChoice(Wire):
    """A value to filter by.

    ``key`` goes into the filter's ``chips``;
    ``count`` is the number of lines that have it and match the filter's other facets; ``title`` explains it.
    """

    key: str
    label: str
    count: int
    title: str = ""


class TraceFacet(Wire):
    """Choices of one kind, of which a line must have a chosen one; ``menu``: in a menu instead of chips."""

    name: str
    label: str
    menu: bool = False
    choices: tuple[TraceChoice, ...] = ()


class TraceFilter(Wire):
    """Selects the lines to list; empty fields select everything.

    ``chips`` are keys of choices, ``first`` … ``last`` are lines of the whole log (both inclusive).
    ``folded`` are lines whose nested lines are not listed.  ``order`` lists the lines with the most tokens,
    or the longest calls, first.
    """

    text: str = Field("", max_length=10_000)
    chips: tuple[Annotated[str, Field(max_length=10_000)], ...] = Field((), max_length=100)
    first: int | None = None
    last: int | None = None
    folded: tuple[int, ...] = Field((), max_length=10_000)
    order: TraceOrder = ""


class TracePage(Wire):
    """Lines under a filter, ``total`` of them in all, ``calls`` of which are calls.

    ``indexed`` is the percentage of the log that was searched for a text: below 100, the same request finds
    more a moment later. ``facets`` come with the first lines only; elsewhere they are empty.
    """

    type: Literal["page"] = "page"
    first: int
    total: int
    calls: int
    lines: tuple[TraceLine, ...]
    indexed: int = 100
    facets: tuple[TraceFacet, ...] = ()


class TraceView(Wire):
    """The initial view.  ``page`` has the first lines without a filter, ``total`` counts all lines.

    ``step`` is the line to begin at, ``failure`` the first line that failed, ``changed`` the number of
    changed files, ``samples`` of samples of an evaluation.  ``actions`` are offered for the whole log.
    ``version`` counts how often the lines have changed; ``fresh`` is as in ``TraceFollow``.
    """

    model_config = ConfigDict(extra="ignore")  # saved views of earlier versions have fields that are gone

    explorer: str
    title: str
    facts: tuple[TraceFact, ...]
    bars: tuple[TraceBar, ...]
    page: TracePage
    total: int = 0
    step: int | None = None
    failure: int | None = None
    changed: int = 0
    samples: int = 0
    actions: tuple[TraceAction, ...] = ()
    version: int = 0
    fresh: bool = False
