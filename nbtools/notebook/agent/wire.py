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


RunAction = Literal["continue", "open-trace"]
"""How to go on.  What is run for it, the page knows: a bundle may come from anybody's notebook, so it has no code."""


class RunFoot(Wire):
    """Why it ended, what it used, how to go on."""

    type: Literal["foot"] = "foot"
    state: State
    status: str
    figures: tuple[str, ...] = ()
    problem: str = ""
    actions: tuple[RunAction, ...] = ()


class RunView(Wire):
    """One display of a run."""

    part: Annotated[RunHead | RunSaid | RunFoot, Field(discriminator="type")]
