"""Base class for wrapping a tool: delegates everything to the inner tool except what a wrapper overrides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast

from nbtools.core.confirmation import (
    FileChoice,
    ToolCallConfirmationDetails,
    ToolConfirmationOutcome,
    ToolConfirmationPayload,
)
from nbtools.core.result import ToolResult
from nbtools.core.tool import (
    AnyToolBuilder,
    AnyToolInvocation,
    Asks,
    Icon,
    Kind,
    ModifiableTool,
    ModifyContext,
    SelectableInvocation,
    Target,
    ToolInvocation,
    ToolLocation,
    UpdateOutput,
)

Tools: TypeAlias = Iterable[AnyToolBuilder] | Mapping[str, AnyToolBuilder]
"""What wrappers accept: a toolset, a mapping or any iterable of tools."""


def iterate_tools(tools: Tools) -> Iterator[AnyToolBuilder]:
    return iter(tools.values() if isinstance(tools, Mapping) else tools)


class WrapperTool:
    """Wraps a tool.  Override ``run`` to do something around ``execute``,
    ``asks_for`` to require approval of single calls.
    """

    def __init__(self, tool: AnyToolBuilder) -> None:
        self.tool = tool
        if isinstance(tool, ModifiableTool):
            # On the instance: isinstance checks for it there, and must not find it where the tool has none.
            self.get_modify_context = lambda: WrapperContext(tool.get_modify_context())

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        return await invocation.execute(update_output)

    def asks_for(self, invocation: AnyToolInvocation) -> Asks:
        return invocation.asks

    def kind_of(self, invocation: AnyToolInvocation) -> Kind:
        """Returns the kind of one call."""
        return invocation.kind or self.kind

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def display_name(self) -> str:
        return self.tool.display_name

    @property
    def description(self) -> str:
        return self.tool.description

    @property
    def kind(self) -> Kind:
        return self.tool.kind

    @property
    def icon(self) -> Icon:
        return self.tool.icon

    @property
    def schema(self) -> dict[str, Any]:
        return self.tool.schema

    @property
    def is_output_markdown(self) -> bool:
        return self.tool.is_output_markdown

    @property
    def can_update_output(self) -> bool:
        return self.tool.can_update_output

    @property
    def asks(self) -> Asks:
        return self.tool.asks

    @property
    def output_limit(self) -> int:
        return self.tool.output_limit

    def build(self, params: Mapping[str, Any]) -> WrapperInvocation:
        return WrapperInvocation(self, self.tool.build(params))

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("tool", "get_modify_context"):
            raise AttributeError(attribute)
        return getattr(self.tool, attribute)


class WrapperInvocation:
    """An invocation of a wrapped tool; ``inner`` is the tool's own invocation."""

    __slots__ = ("inner", "wrapper")

    def __init__(self, wrapper: WrapperTool, inner: AnyToolInvocation) -> None:
        self.wrapper = wrapper
        self.inner = inner

    @property
    def params(self) -> Any:
        return self.inner.params

    @property
    def kind(self) -> Kind | None:
        return self.inner.kind

    @property
    def asks(self) -> Asks:
        return self.wrapper.asks_for(self.inner)

    def get_description(self) -> str:
        return self.inner.get_description()

    def tool_locations(self) -> tuple[ToolLocation, ...]:
        return self.inner.tool_locations()

    def target(self) -> Target:
        return self.inner.target()

    async def should_confirm_execute(self) -> ToolCallConfirmationDetails | Literal[False]:
        return await self.inner.should_confirm_execute()

    async def on_confirm(
        self, outcome: ToolConfirmationOutcome, payload: ToolConfirmationPayload | None = None
    ) -> None:
        await self.inner.on_confirm(outcome, payload)

    def select(self, files: Sequence[FileChoice]) -> WrapperInvocation:
        return WrapperInvocation(self.wrapper, cast("SelectableInvocation", self.inner).select(files))

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return await self.wrapper.run(self.inner, update_output)

    def __getattr__(self, attribute: str) -> Any:
        if attribute == "inner":
            raise AttributeError(attribute)
        return getattr(self.inner, attribute)


class WrapperContext:
    """Modifies a wrapped tool's proposal by delegating to the inner tool and invocation."""

    def __init__(self, context: ModifyContext[Any]) -> None:
        self._context = context

    def create_updated_params(
        self, original_content: str | None, new_content: str, params: Any
    ) -> Mapping[str, Any]:
        return self._context.create_updated_params(original_content, new_content, params)

    def remember_proposal(
        self, invocation: ToolInvocation[Any], proposed_content: str
    ) -> ToolInvocation[Any]:
        wrapped = cast("WrapperInvocation", invocation)
        return WrapperInvocation(
            wrapped.wrapper, self._context.remember_proposal(wrapped.inner, proposed_content)
        )
