"""What is offered to clients, wherever the calls then run: tools, and a way to call them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from nbtools.core.schema import Json

Heard: TypeAlias = Callable[[str], None]
"""Is told in a line what a call that runs has to show, or what it waits for; in the loop that awaits the call."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call as a client asks for it; ``client`` is the name that it gave itself."""

    name: str
    arguments: Mapping[str, Any]
    client: str


class Offer(Protocol):
    """Tools for clients, declared and answered as MCP has it."""

    @property
    def about(self) -> str:
        """Who answers what must be asked, in a sentence or two for a model."""
        ...

    async def tools(self) -> list[Json]: ...

    async def call(self, wanted: Wanted, heard: Heard) -> Json:
        """The call's result; never raises for what a caller can cause.  Cancelled, it cancels the call."""
        ...

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Tells ``watcher`` in the loop each time that the tools are others, until the returned function is called."""
        ...


def failure(text: str) -> Json:
    """The result of a call that could not be made."""
    return {"content": [{"type": "text", "text": f"Error: {text}"}], "isError": True}
