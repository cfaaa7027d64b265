"""Base class of an agent's parameters of a tool."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from posixpath import join, normpath
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import DocumentedModel, accepted_names
from nbtools.core.schema.parameters import describe_errors
from nbtools.dialects.dialect import Arguments, CallContext


def _without_docstring(schema: dict[str, Any]) -> None:
    # The class's docstring is for readers of the code; a model gets the description of the mapping.
    schema.pop("description", None)


@cache
def _declared(params: type[BaseModel]) -> frozenset[str]:
    """Returns the names of all parameters and of the values inside them."""
    schema = params.model_json_schema()
    objects = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for one in objects for name in one.get("properties", {}))


class DialectParams(DocumentedModel, ABC):
    """Base class of one agent's parameters of a tool;
    converts calls to and from canonical arguments, and results to the agent's texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_without_docstring)

    ignores_unknown: ClassVar[bool] = False
    """Whether the agent ignores parameters that the tool does not have."""
    names: ClassVar[Mapping[str, str]] = {}
    """This agent's names of canonical parameters, where they differ.
    Values inside parameters have entries, too.
    """

    _call_context: CallContext = CallContext()

    def model_post_init(self, context: Any) -> None:
        if isinstance(context, CallContext):
            self._call_context = context

    @classmethod
    def knows(cls, arguments: Arguments) -> bool:
        """Returns whether every name is one of a parameter, a former one too."""
        return arguments.keys() <= {
            name
            for field_name, field in cls.model_fields.items()
            for name in accepted_names(field_name, field)
        }

    @classmethod
    def known_only(cls, arguments: Arguments) -> Arguments:
        """Returns the arguments without unknown parameters;
        of several names of one parameter the current one counts.
        """
        names = (
            next((name for name in accepted_names(name, field) if name in arguments), "")
            for name, field in cls.model_fields.items()
        )
        return {name: arguments[name] for name in names if name}

    def absolute(self, path: str) -> str:
        """Returns a path of the workspace as an absolute path."""
        return normpath(join(self._call_context.root, path))

    @abstractmethod
    def to_canonical(self) -> Arguments:
        """Converts the call to canonical arguments.
        Raises ``ToolFailure`` for calls that the agent itself refuses.
        """

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        """Converts canonical arguments to this agent's parameters; None where they cannot be expressed."""
        return None

    def convert_result(self, result: ToolResult) -> ToolResult:
        """Converts a result, failed or not, to this agent's text and data."""
        return result

    @classmethod
    def name_of(cls, steps: tuple[str | int, ...]) -> str | None:
        """Returns this agent's name of a canonical parameter, or of a value inside it;
        None where there is none.
        """
        spoken = tuple(cls.names.get(step, step) if isinstance(step, str) else step for step in steps)
        return (
            cls.location(spoken)
            if _declared(cls).issuperset(step for step in spoken if isinstance(step, str))
            else None
        )

    @classmethod
    def location(cls, steps: tuple[str | int, ...]) -> str:
        """Writes the name of a parameter, or of a value inside it, as this agent does."""
        return ".".join(map(str, steps))

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        """Describes invalid arguments in this agent's wording."""
        return describe_errors(name, cls, error)
