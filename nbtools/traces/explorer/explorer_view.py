"""The explorer's initial view, ``application/vnd.nbtools.trace.v1+json``.

The bundle contains the initial view; the page asks for the rows (``row_messages``) and everything else.

A bundle may come from another person's notebook, so it names actions and contains no code: the source of a
cell is sent only by the kernel, in reply to a request.  ``labextension/src/explorer/model.ts`` is generated
from this file and ``explorer_messages``.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import ConfigDict

from nbtools.cards.card_model import Wire

TRACE_MIME = "application/vnd.nbtools.trace.v1+json"
Tone: TypeAlias = Literal["person", "agent", "quiet", "done", "changed", "failed", "stopped", "unknown"]
"""Who speaks, or how a call ended: ``changed`` is a successful change to a file;
``stopped`` is denied, cancelled or unfinished.
"""
TraceOrder = Literal["", "tokens", "duration"]
TraceAction = Literal["compare", "notebook", "share", "export", "sql"]


class TraceFact(Wire):
    """``doubt`` says why the fact is unreliable; ``bad`` marks bad news; ``title`` says what is counted."""

    text: str
    doubt: str = ""
    bad: bool = False
    title: str = ""


class TraceBar(Wire):
    """One bar of the overview, for the lines ``first`` … ``last``; ``height`` is a percentage.
    ``failed`` counts the lines that failed.
    """

    first: int
    last: int
    height: int
    tone: Tone
    failed: int = 0


class TraceView(Wire):
    """The initial view.  ``total`` counts all lines.

    ``step`` is the line to begin at, ``search`` the text to search for, ``failure`` the first line that
    failed, ``changed`` the number of changed files, ``samples`` of samples of an evaluation.  ``actions`` are
    offered for the whole log.  ``version`` counts how often the lines have changed; ``fresh`` is as in
    ``TraceFollow``.
    """

    model_config = ConfigDict(extra="ignore")  # saved views of earlier versions have fields that are gone

    explorer: str
    title: str
    facts: tuple[TraceFact, ...]
    bars: tuple[TraceBar, ...]
    total: int = 0
    step: int | None = None
    search: str = ""
    failure: int | None = None
    changed: int = 0
    samples: int = 0
    actions: tuple[TraceAction, ...] = ()
    version: int = 0
    fresh: bool = False
