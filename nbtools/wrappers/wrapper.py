"""Base class for wrapping a tool, which delegates all that a wrapper does not override,
and the wrappers that need no library.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias, cast

from nbtools.core.confirmation import FileChoice
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure
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
    ToolInvocation,
    UpdateOutput,
)
from nbtools.core.toolset import Toolset

Tools: TypeAlias = Iterable[AnyToolBuilder] | Mapping[str, AnyToolBuilder]
"""What wrappers accept: a toolset, a mapping or any iterable of tools."""
Execute: TypeAlias = Callable[[], Awaitable[ToolResult]]
"""Executes the wrapped invocation."""
Run: TypeAlias = Callable[["WrapperTool", AnyToolInvocation, Execute], Awaitable[ToolResult]]
"""What a wrapper does around a call: gets the tool, the invocation and how to execute it."""


def iterate_tools(tools: Tools) -> Iterator[AnyToolBuilder]:
    return iter(tools.values() if isinstance(tools, Mapping) else tools)


def _delegated(path: str) -> Any:
    # On the class: later Pythons look for the members of a protocol there, and do not ask __getattr__.
    return property(attrgetter(path))


class WrapperTool:
    """Wraps a tool.  Override ``run`` to do something around ``execute``,
    ``asks_for`` to require approval of single calls.
    """

    name: str = _delegated("tool.name")
    display_name: str = _delegated("tool.display_name")
    description: str = _delegated("tool.description")
    kind: Kind = _delegated("tool.kind")
    icon: Icon = _delegated("tool.icon")
    schema: dict[str, Any] = _delegated("tool.schema")
    is_output_markdown: bool = _delegated("tool.is_output_markdown")
    can_update_output: bool = _delegated("tool.can_update_output")
    asks: Asks = _delegated("tool.asks")
    output_limit: int = _delegated("tool.output_limit")

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

    def build(self, params: Mapping[str, Any]) -> WrapperInvocation:
        return WrapperInvocation(self, self.tool.build(params))

    def __getattr__(self, attribute: str) -> Any:
        if attribute in ("tool", "get_modify_context"):
            raise AttributeError(attribute)
        return getattr(self.tool, attribute)


class WrapperInvocation:
    """An invocation of a wrapped tool; ``inner`` is the tool's own invocation."""

    __slots__ = ("inner", "wrapper")

    params: Any = _delegated("inner.params")
    kind: Kind | None = _delegated("inner.kind")
    get_description: Any = _delegated("inner.get_description")
    tool_locations: Any = _delegated("inner.tool_locations")
    target: Any = _delegated("inner.target")
    should_confirm_execute: Any = _delegated("inner.should_confirm_execute")
    on_confirm: Any = _delegated("inner.on_confirm")

    def __init__(self, wrapper: WrapperTool, inner: AnyToolInvocation) -> None:
        self.wrapper = wrapper
        self.inner = inner

    @property
    def asks(self) -> Asks:
        return self.wrapper.asks_for(self.inner)

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


class _RunningTool(WrapperTool):
    """Does what ``wrap_calls`` is given."""

    def __init__(self, tool: AnyToolBuilder, run: Run) -> None:
        super().__init__(tool)
        self._run = run

    async def run(self, invocation: AnyToolInvocation, update_output: UpdateOutput | None) -> ToolResult:
        # A coroutine function, which tenacity tells from a plain one.
        async def execute() -> ToolResult:
            return await invocation.execute(update_output)

        return await self._run(self, invocation, execute)


def wrap_calls(tools: Tools, run: Run) -> Toolset:
    """Returns the tools with ``run`` around each call."""
    return Toolset(_RunningTool(tool, run) for tool in iterate_tools(tools))


class _ApprovalRequiredTool(WrapperTool):
    def __init__(self, tool: AnyToolBuilder, when: Callable[[Any], bool]) -> None:
        super().__init__(tool)
        self._when = when

    def asks_for(self, invocation: AnyToolInvocation) -> Asks:
        return True if self._when(invocation.params) else invocation.asks


def approval_required(tools: Tools, when: Callable[[Any], bool] = lambda _: True) -> Toolset:
    """Requires approval for calls of these tools: all, or those for whose parameters ``when`` returns True.

    It replaces the tools' own default (``asks``); rules and modes are stronger.
    """
    return Toolset(_ApprovalRequiredTool(tool, when) for tool in iterate_tools(tools))


def time_limited(tools: Tools, seconds: float) -> Toolset:
    """Stops a call that takes longer than ``seconds``; it then fails with ``timeout``."""

    async def run(tool: WrapperTool, _: AnyToolInvocation, execute: Execute) -> ToolResult:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                return await execute()
        except TimeoutError:
            if not limit.expired():
                raise
            message = (
                f"{tool.name} was stopped after {seconds:g} seconds. Request less at once, or raise its time"
                " limit."
            )
            raise ToolFailure(ErrorCode.TIMEOUT, message) from None

    return wrap_calls(tools, run)


def logged(
    tools: Tools, logger: logging.Logger | str = "nbtools", *, level: int = logging.INFO, longest: int = 200
) -> Toolset:
    """Logs one line per call: the tool, its parameters, the seconds it took and its outcome.

    Parameters and outcome are truncated to ``longest`` characters.
    Successful calls are logged at ``level``, failed ones as warnings.
    """
    target = logging.getLogger(logger) if isinstance(logger, str) else logger

    def short(text: str) -> str:
        line = text.replace("\n", "\\n")
        return line if len(line) <= longest else f"{line[: longest - 1]}…"

    async def run(tool: WrapperTool, invocation: AnyToolInvocation, execute: Execute) -> ToolResult:
        began = time.perf_counter()

        def log(error: ToolError | None, outcome: str = "ok") -> None:
            failed = error is not None or outcome != "ok"
            text = outcome if error is None else f"{error.code}: {error.message}"
            values = (tool.name, short(str(invocation.params)), time.perf_counter() - began, short(text))
            target.log(logging.WARNING if failed else level, "%s(%s) %.3f s %s", *values)

        try:
            result = await execute()
        except ToolFailure as failure:
            log(failure.error)
            raise
        except BaseException as error:
            log(None, repr(error))
            raise
        log(result.error)
        return result

    return wrap_calls(tools, run)
