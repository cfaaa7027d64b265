"""The interface of a model that brings the session in which its calls run, such as a recorded one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nbtools.core.extension_points import extension
from nbtools.session.session import Session

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from nbtools.agents.events import AgentEvent
    from nbtools.agents.toolset import SessionToolset

PREFIX = "recorded:"
"""The beginning of a name that means a recorded session: ``recorded:session.jsonl``."""


class Playback(ABC):
    """A model whose turns are fixed.

    ``name`` is what people read.  ``project`` is copied, by default the recorded folder.  ``pace`` is the
    number of seconds before each step, or ``step``.  ``equip`` is called with a new session in the copy, to
    give it other approvals.
    """

    name: str
    project: str | Path | None
    pace: float | str
    equip: Callable[[Session, Any], object]

    @property
    @abstractmethod
    def is_over(self) -> bool:
        """Whether nothing is left to play."""

    @property
    @abstractmethod
    def root(self) -> Path | None:
        """The copy in which calls run, if there is one."""

    @abstractmethod
    async def open(self, session: Session) -> Session:
        """Returns the session in which the calls run, under the policy of ``session`` and with its approvals.

        Raises ``AgentError`` if there is none.
        """

    @abstractmethod
    def begin(self, prompt: str, heard: Callable[[AgentEvent], None]) -> str:
        """Begins a run: says what is played, and returns the prompt.
        Raises ``AgentError`` if nothing is left.
        """

    @abstractmethod
    def model(self) -> Model:
        """Returns the model of pydantic-ai."""

    @abstractmethod
    def toolset(self, session: Session, on_call: Callable[[str, str], None]) -> SessionToolset:
        """Returns the tools of a run."""

    @abstractmethod
    def rewind(self) -> None:
        """Begins at the beginning with the next run, in a new copy."""

    @abstractmethod
    async def close(self) -> None:
        """Removes what was opened.  May be called again."""


def playback_of(model: object) -> Playback | None:
    """Returns the playback that a model is or names; None for other models.
    Nothing is read or checked here.
    """
    if isinstance(model, str) and model.startswith(PREFIX):
        found: Playback = extension("agents.recorded_model")(model.removeprefix(PREFIX))
        return found
    return model if isinstance(model, Playback) else None
