"""The explorer as it travels: ``application/vnd.nbtools.trace.v1+json``, and what its page asks the kernel for.

The bundle has what the first picture needs; the rest comes on request.  The page computes nothing of its own.

A bundle may come from anybody's notebook, so it names actions and has no code: the source of a cell comes only in the kernel's answer to
a request.  ``labextension/src/trace/wire.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.notebook.trace.outcomes import Tone
from nbtools.notebook.wire import Card, Span, Wire

TRACE_MIME = "application/vnd.nbtools.trace.v1+json"


class TraceFact(Wire):
    """``doubt`` says why it is not to be relied on, empty where it is; ``bad`` is no good news."""

    text: str
    doubt: str = ""
    bad: bool = False


class TraceLine(Wire):
    """One line of the list.  ``line`` is its place in the whole log from 0, which no filter changes; ``number`` its step as people say it.

    ``below`` counts the lines nested under it.  ``call``: it is a call, and not something said.  ``snippet`` is what a search found in it.
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
    """Lines ``first`` … ``last`` in the strip; ``height`` in hundredths."""

    first: int
    last: int
    height: int
    tone: Tone


class TraceChoice(Wire):
    """Something to filter by: ``key`` goes into the filter, ``count`` is how many lines it leaves of the whole log."""

    key: str
    label: str
    count: int


class TraceFilter(Wire):
    """What of the log is listed; empty parts leave everything.

    ``kind`` is a chip's key, ``tool`` and ``path`` are choices' keys, ``first`` … ``last`` lines of the whole log (both inclusive).
    ``folded`` are lines whose nested lines are not listed.
    """

    text: str = ""
    kind: str = ""
    tool: str = ""
    path: str = ""
    first: int | None = None
    last: int | None = None
    folded: tuple[int, ...] = ()


class PageTask(Wire):
    """``count`` lines from number ``first`` (from 0) of those that the filter leaves."""

    type: Literal["page"] = "page"
    filter: TraceFilter
    first: int
    count: int


class PlaceTask(Wire):
    """At which number, under the filter, does a line stand, or the first one after it?"""

    type: Literal["place"] = "place"
    filter: TraceFilter
    line: int


class OpenTask(Wire):
    """All of one line."""

    type: Literal["open"] = "open"
    line: int


class RawTask(Wire):
    """The bytes that a line was made of."""

    type: Literal["raw"] = "raw"
    line: int


TraceAction = Literal["compare", "notebook", "sql"]


class CellTask(Wire):
    """The source of a cell that goes on from the whole log."""

    type: Literal["cell"] = "cell"
    action: Literal["compare", "sql"]


class StoryTask(Wire):
    """Write the log as a notebook, beside the log."""

    type: Literal["story"] = "story"


TraceTask = Annotated[PageTask | PlaceTask | OpenTask | RawTask | CellTask | StoryTask, Field(discriminator="type")]


class TraceRequest(Wire):
    id: int
    explorer: str
    task: TraceTask


class TracePage(Wire):
    """Lines under a filter, ``total`` of them in all, ``calls`` of those calls.

    ``indexed`` is how much of the log a text was looked for in, in hundredths: below 100 the same question finds more a moment later.
    """

    type: Literal["page"] = "page"
    first: int
    total: int
    calls: int
    lines: tuple[TraceLine, ...]
    indexed: int = 100


class TracePlace(Wire):
    type: Literal["place"] = "place"
    number: int


class TraceLink(Wire):
    """Text that leads to a line where ``line`` is one, to all steps of a file where ``path`` is its key among the filter's paths."""

    text: str
    line: int | None = None
    path: str = ""


class TraceAround(Wire):
    """``label``: Why, Before, After, File history, Approved …; ``parts`` stand in one line."""

    label: str
    parts: tuple[TraceLink, ...]


class TraceOpened(Wire):
    """A line opened: the card that a live call would have, what stands around it, where its bytes are.

    ``replay`` is the cell that runs it again in a copy, empty where it cannot be, ``obstacle`` says why.  ``tool`` is the call as a
    ``%tool`` cell, ``link`` the cell that opens the log at this step; ``raw`` says where its bytes are.
    """

    type: Literal["opened"] = "opened"
    line: int
    card: Card
    foot: str
    around: tuple[TraceAround, ...] = ()
    raw: str = ""
    replay: str = ""
    obstacle: str = ""
    tool: str = ""
    link: str = ""


class TraceRaw(Wire):
    """The bytes as text; ``note`` says what was left out."""

    type: Literal["raw"] = "raw"
    text: str
    note: str = ""


class TraceCell(Wire):
    """The source of a cell, to be completed or edited by the person."""

    type: Literal["cell"] = "cell"
    source: str


class TraceStory(Wire):
    """The notebook that was written: its path, and the same as seen from the folder of the notebook that asked, empty if there is none."""

    type: Literal["story"] = "story"
    path: str
    place: str = ""


class TraceProblem(Wire):
    """Why there is no answer, and what to do."""

    type: Literal["problem"] = "problem"
    text: str


TraceReply = Annotated[TracePage | TracePlace | TraceOpened | TraceRaw | TraceCell | TraceStory | TraceProblem, Field(discriminator="type")]


class TraceAnswer(Wire):
    """``reply`` to the request ``id``; ``gone``: this kernel does not know the explorer (it has been restarted)."""

    id: int
    gone: bool = False
    reply: TraceReply | None = None


class TraceView(Wire):
    """The first picture.  ``page`` are the first lines without a filter; ``step`` is the line to begin at.

    ``actions`` are what can be done with the whole log.
    """

    explorer: str
    title: str
    facts: tuple[TraceFact, ...]
    bars: tuple[TraceBar, ...]
    kinds: tuple[TraceChoice, ...]
    tools: tuple[TraceChoice, ...]
    paths: tuple[TraceChoice, ...]
    page: TracePage
    step: int | None = None
    actions: tuple[TraceAction, ...] = ()
