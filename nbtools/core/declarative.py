"""Base classes for tools whose parameters are a pydantic model or a JSON Schema."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, exception_text
from nbtools.core.result import ToolResult, checked_result, complete, failed
from nbtools.core.schema import parameters
from nbtools.core.tool import Asks, Example, Icon, Kind, ToolInvocation, UpdateOutput

P = TypeVar("P")

_ICONS = {
    Kind.READ: Icon.FILE_SEARCH,
    Kind.EDIT: Icon.PENCIL,
    Kind.DELETE: Icon.PENCIL,
    Kind.MOVE: Icon.FOLDER,
    Kind.SEARCH: Icon.REGEX,
    Kind.EXECUTE: Icon.TERMINAL,
    Kind.THINK: Icon.LIGHT_BULB,
    Kind.FETCH: Icon.GLOBE,
    Kind.OTHER: Icon.HAMMER,
}


class DeclarativeTool(ABC, Generic[P]):
    """Base class of tools that separate validation from execution.
    Subclasses set the attributes of ``ToolBuilder`` on the class.
    """

    name: str
    display_name: str
    description: str
    kind: Kind = Kind.OTHER
    icon: Icon = Icon.HAMMER
    is_output_markdown: bool = False
    can_update_output: bool = False
    asks: Asks = None
    output_limit: int = 40_000
    runs_beside: bool = False
    names_only: bool = False
    examples: tuple[Example, ...] = ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in cls.__dict__ and "icon" not in cls.__dict__:
            cls.icon = _ICONS[cls.kind]
        if "name" in cls.__dict__ and "display_name" not in cls.__dict__:
            cls.display_name = cls.name

    @property
    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The function declaration: ``name``, ``description``, ``parameters`` (JSON Schema)."""

    @abstractmethod
    def build(self, params: Mapping[str, Any]) -> ToolInvocation[P]:
        """Builds an invocation.  Raises ``ToolFailure`` with a message of one line for invalid parameters."""

    async def build_and_execute(
        self, params: Mapping[str, Any], update_output: UpdateOutput | None = None
    ) -> ToolResult:
        """Builds and executes without asking for approval.  Raises ``ToolFailure``."""
        return complete(checked_result(self.name, await self.build(params).execute(update_output)))

    def silent_build(self, params: Mapping[str, Any]) -> ToolInvocation[P] | ToolError:
        """Builds an invocation; a failure is a value. Never raises, even if the tool's own checks do."""
        try:
            return self.build(params)
        except ToolFailure as failure:
            return failure.error
        except Exception as bug:  # noqa: BLE001 - the promise of this method
            message = f"{self.name} could not check its arguments: {exception_text(bug)}"
            return ToolError(ErrorCode.UNHANDLED_EXCEPTION, message)

    async def validate_build_and_execute(
        self, params: Mapping[str, Any], update_output: UpdateOutput | None = None
    ) -> ToolResult:
        """Builds and executes without asking for approval.  Never raises: every failure becomes a result."""
        invocation = self.silent_build(params)
        if isinstance(invocation, ToolError):
            return failed(invocation)
        try:
            return complete(checked_result(self.name, await invocation.execute(update_output)))
        except ToolFailure as failure:
            return failed(failure.error, failure.data)
        except Exception as bug:  # noqa: BLE001 - the promise of this method
            return failed(ToolError(ErrorCode.EXECUTION_FAILED, f"{self.name} failed: {exception_text(bug)}"))


class BaseDeclarativeTool(DeclarativeTool[P]):
    """Validates parameters by ``parameters``; subclasses create the invocation.

    ``parameters`` is a pydantic model class (``P`` is then that model) or a JSON Schema (``P`` is then a
    mapping).
    """

    parameters: type[BaseModel] | Mapping[str, Any]

    @property
    def schema(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "description": self.description,
            "parameters": parameters.schema_of(self.parameters),
        }

    def build(self, params: Mapping[str, Any]) -> ToolInvocation[P]:
        checked = self.validate_tool_params(params)
        problem = self.validate_tool_param_values(checked)
        if problem is not None:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, problem)
        return self.create_invocation(checked)

    def validate_tool_params(self, params: Mapping[str, Any]) -> P:
        """Returns the validated parameters.  Raises ``ToolFailure`` with all problems in one line."""
        model = self.parameters
        if isinstance(model, type):
            try:
                return cast("P", model.__pydantic_validator__.validate_python(params))
            except ValidationError as error:
                message = parameters.describe_errors(self.name, model, error)
                raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, message) from None
        return cast("P", parameters.check_against_schema(self.name, model, params))

    def validate_tool_param_values(self, params: P) -> str | None:
        """Returns what is wrong with parameters of the right types, or None."""
        return None

    @abstractmethod
    def create_invocation(self, params: P) -> ToolInvocation[P]:
        """Creates the invocation for validated parameters.  May raise ``ToolFailure``."""


AnyDeclarativeTool: TypeAlias = DeclarativeTool[Any]
