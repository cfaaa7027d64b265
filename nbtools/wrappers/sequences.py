"""Combines several calls into one tool."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from pydantic import BaseModel

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.errors import ToolError
from nbtools.core.message import counted
from nbtools.core.result import ToolResult
from nbtools.core.tool import BaseToolInvocation, Kind, UpdateOutput

Call: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[ToolResult]]
"""Runs a step: ``session.call``, so that the policy applies to each step."""


@dataclass(frozen=True, slots=True)
class SoFar:
    """The inputs of a step's arguments: the sequence's parameters and the results of the earlier steps."""

    params: Any
    results: tuple[ToolResult, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """A call of ``tool``; ``arguments`` are fixed or computed from the earlier results."""

    tool: str
    arguments: Mapping[str, Any] | Callable[[SoFar], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class SequenceData:
    """The results of the steps that ran, the failed one last."""

    results: tuple[ToolResult, ...]


class SequenceTool(BaseDeclarativeTool[Any]):
    can_update_output = True

    def __init__(
        self,
        name: str,
        description: str,
        steps: Sequence[Step],
        call: Call,
        parameters: type[BaseModel] | Mapping[str, Any],
        kind: Kind,
    ) -> None:
        self.name = self.display_name = name
        self.description = description
        self.kind = kind
        self.asks = False  # it does nothing itself, and the policy applies to each step
        self.steps = tuple(steps)
        self.call = call
        self.parameters = parameters

    def create_invocation(self, params: Any) -> SequenceInvocation:
        return SequenceInvocation(self, params)


class SequenceInvocation(BaseToolInvocation[Any]):
    __slots__ = ("tool",)

    def __init__(self, tool: SequenceTool, params: Any) -> None:
        super().__init__(params)
        self.tool = tool

    def get_description(self) -> str:
        return ", then ".join(step.tool for step in self.tool.steps)

    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        results: tuple[ToolResult, ...] = ()
        for step in self.tool.steps:
            if update_output is not None:
                update_output(f"step {len(results) + 1} of {len(self.tool.steps)}: {step.tool}")
            given = step.arguments
            arguments = given(SoFar(self.params, results)) if callable(given) else given
            result = await self.tool.call(step.tool, arguments)
            results = (*results, result)
            if result.error is not None:
                return self._failed(results, result.error)
        return self._combined(results)

    def _failed(self, results: tuple[ToolResult, ...], error: ToolError) -> ToolResult:
        count, steps = len(results), self.tool.steps
        before = f"{counted(count - 1, 'earlier step')} succeeded" if count > 1 else "no earlier step ran"
        summary = f"Step {count} of {len(steps)} ({steps[count - 1].tool}) failed, {before}"
        return replace(
            self._combined(results),
            error=ToolError(error.code, f"{summary}: {error.message}"),
            summary=summary,
        )

    def _combined(self, results: tuple[ToolResult, ...]) -> ToolResult:
        texts = [
            f"[{step.tool}]\n{_text(result)}" for step, result in zip(self.tool.steps, results, strict=False)
        ]
        return ToolResult(
            "\n\n".join(texts),
            "\n\n".join(texts),
            summary=counted(len(results), "step"),
            data=SequenceData(results),
        )


def _text(result: ToolResult) -> str:
    content = result.llm_content
    if isinstance(content, str):
        return content
    return "\n".join(str(part["text"]) for part in content if "text" in part)


def sequence(
    name: str,
    description: str,
    steps: Sequence[Step],
    call: Call,
    *,
    parameters: type[BaseModel] | Mapping[str, Any],
    kind: Kind | str = Kind.OTHER,
) -> SequenceTool:
    """Returns a tool that makes several calls in order and stops at the first that fails, naming it.

    ``call`` is ``session.call``: policy, approval and recording apply to each step.  ``kind``: a sequence
    whose steps change something must not be declared read-only.
    """
    return SequenceTool(name, description, steps, call, parameters, Kind(kind))
