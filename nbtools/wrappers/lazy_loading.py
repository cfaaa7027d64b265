"""Wrapper that creates a tool when it is first called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel

from nbtools.core.declarative import DeclarativeTool
from nbtools.core.schema.parameters import schema_of
from nbtools.core.tool import AnyToolBuilder, AnyToolInvocation, Asks, Kind, ModifiableTool


class LazyTool(DeclarativeTool[Any]):
    """A tool described before it is created; ``made`` is the tool itself, from the first call on."""

    def __init__(
        self,
        make: Callable[[], AnyToolBuilder],
        name: str,
        description: str,
        parameters: type[BaseModel] | Mapping[str, Any],
        kind: Kind,
    ) -> None:
        self.name = self.display_name = name
        self.description = description
        self.kind = kind
        self.can_update_output = True
        self.made: AnyToolBuilder | None = None
        self._make = make
        self._parameters = parameters

    @property
    def schema(self) -> dict[str, Any]:
        return {"name": self.name, "description": self.description, "parameters": schema_of(self._parameters)}

    def build(self, params: Mapping[str, Any]) -> AnyToolInvocation:
        return self._tool().build(params)

    def _tool(self) -> AnyToolBuilder:
        if self.made is None:
            self.made = self._checked(self._make())
            self.output_limit = self.made.output_limit
            if isinstance(self.made, ModifiableTool):
                self.get_modify_context = self.made.get_modify_context
        return self.made

    def _checked(self, made: AnyToolBuilder) -> AnyToolBuilder:
        # The policy has already decided by the declared kind and ``asks``.
        if made.kind is not self.kind or made.asks != self.asks:
            raise TypeError(
                f"the tool {self.name} was declared as {self.kind} (asks: {self.asks}) but is {made.kind}"
                f" (asks: {made.asks})"
            )
        return made


def lazy(
    make: Callable[[], AnyToolBuilder],
    *,
    name: str,
    description: str,
    parameters: type[BaseModel] | Mapping[str, Any],
    kind: Kind | str = Kind.OTHER,
    asks: Asks = None,
) -> LazyTool:
    """Returns a tool that ``make`` creates when it is first called.

    The other arguments must describe the created tool.
    The first call raises ``TypeError`` when ``kind`` or ``asks`` differ.
    """
    tool = LazyTool(make, name, description, parameters, Kind(kind))
    tool.asks = asks
    return tool
