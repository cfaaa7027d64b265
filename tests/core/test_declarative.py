"""The base classes: proving apart from acting, and the methods that never raise."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from nbtools import (
    BaseDeclarativeTool,
    BaseToolInvocation,
    ErrorCode,
    Icon,
    Kind,
    ToolBuilder,
    ToolError,
    ToolInvocation,
    ToolResult,
)
from nbtools.core.tool import UpdateOutput


class Params(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    dividend: int
    divisor: int = 1


class Division(BaseToolInvocation[Params]):
    async def execute(self, update_output: UpdateOutput | None = None) -> ToolResult:
        return ToolResult(str(self.params.dividend // self.params.divisor), "")


class Divide(BaseDeclarativeTool[Params]):
    name = "divide"
    description = "Divides."
    kind = Kind.THINK
    parameters = Params

    def validate_tool_param_values(self, params: Params) -> str | None:
        return "dividend must not be negative" if params.dividend < 0 else None

    def create_invocation(self, params: Params) -> Division:
        return Division(params)


def test_a_subclass_says_little_and_is_whole() -> None:
    divide = Divide()
    assert isinstance(divide, ToolBuilder)
    assert isinstance(divide.build({"dividend": 1}), ToolInvocation)
    assert (divide.display_name, divide.icon) == ("divide", Icon.LIGHT_BULB)
    assert divide.schema["parameters"]["required"] == ["dividend"]


async def test_build_and_execute_and_its_calm_sister() -> None:
    divide = Divide()
    assert (await divide.build_and_execute({"dividend": 6, "divisor": 2})).llm_content == "3"
    bug = await divide.validate_build_and_execute({"dividend": 6, "divisor": 0})
    assert bug.error is not None
    assert bug.error.code == ErrorCode.EXECUTION_FAILED
    wrong = await divide.validate_build_and_execute({"divisor": 2, "divident": 1})
    assert wrong.error is not None
    assert wrong.error.message.startswith(
        "divide: dividend is required; there is no parameter divident. Did you mean dividend"
    )


def test_silent_build_gives_the_failure_as_a_value() -> None:
    failure = Divide().silent_build({"dividend": -1})
    assert failure == ToolError(ErrorCode.INVALID_TOOL_PARAMS, "dividend must not be negative")
