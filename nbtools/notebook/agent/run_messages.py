"""Wire format of an agent's run, ``application/vnd.nbtools.agent.v1+json``.

A run is several displays of one cell: its head, the model's messages, the cards of its calls (which have a
format of their own), its foot.  The page computes nothing.  ``labextension/src/agent/model.ts`` is generated
from this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nbtools.cards.card_model import CardAction, State, TextBlock, Wire

AGENT_MIME = "application/vnd.nbtools.agent.v1+json"


class RunHead(Wire):
    """The state of a run, kept up to date.
    ``figures`` are in order of importance: those without room are left out.
    """

    type: Literal["head"] = "head"
    run: str
    """The id that the Stop button sends: ``{"cancel": run}`` on the comm target ``nbtools``."""
    model: str
    state: State
    status: str
    figures: tuple[str, ...] = ()
    can_stop: bool = False


class RunMessage(Wire):
    """The text that the model has written so far.
    ``thought`` is the label of a folded thinking block, empty for a message.
    """

    type: Literal["said"] = "said"
    block: TextBlock
    thought: str = ""


RunAction = Literal["continue", "play-on", "open-trace"]
"""How to continue.  The page knows the code of each action:
a bundle may come from another person's notebook, so it has none.
"""


class RunFile(Wire):
    """A file that a run changed, with the lines that its calls added and removed;
    null where they are not known.
    """

    path: str
    added: int | None = None
    removed: int | None = None


class RunFoot(Wire):
    """Why a run ended, what it used and changed, and how to continue.
    ``undo`` takes back all changes; its id has those of the calls.
    """

    type: Literal["foot"] = "foot"
    state: State
    status: str
    figures: tuple[str, ...] = ()
    problem: str = ""
    files: tuple[RunFile, ...] = ()
    undo: CardAction | None = None
    actions: tuple[RunAction, ...] = ()


class RunView(Wire):
    """One display of a run."""

    part: Annotated[RunHead | RunMessage | RunFoot, Field(discriminator="type")]
