"""An agent's run as it travels: ``application/vnd.nbtools.agent.v1+json``.

A run is several displays of one cell: its head, what the model wrote, the cards of its calls (which have a format of their own), its foot.
The page computes nothing.  ``labextension/src/agent/wire.ts`` is generated from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.notebook.wire import State, TextBlock, Wire

AGENT_MIME = "application/vnd.nbtools.agent.v1+json"


class RunHead(Wire):
    """What runs and how it stands, kept up to date.  ``figures`` come in the order of their weight: what has no room is left out."""

    type: Literal["head"] = "head"
    run: str
    """What Stop sends: ``{"cancel": run}`` on the comm target ``nbtools``."""
    model: str
    state: State
    status: str
    figures: tuple[str, ...] = ()
    can_stop: bool = False


class RunSaid(Wire):
    """What the model wrote, up to now.  What it said to itself stands folded behind ``thought``."""

    type: Literal["said"] = "said"
    block: TextBlock
    thought: str = ""


class RunWay(Wire):
    """How to go on: ``cell`` is the source of a new cell, to be run or (``run`` false) to be completed."""

    label: str
    cell: str
    run: bool = False


class RunFoot(Wire):
    """Why it ended, what it used, how to go on."""

    type: Literal["foot"] = "foot"
    state: State
    status: str
    figures: tuple[str, ...] = ()
    problem: str = ""
    ways: tuple[RunWay, ...] = ()


class RunView(Wire):
    """One display of a run."""

    part: Annotated[RunHead | RunSaid | RunFoot, Field(discriminator="type")]
