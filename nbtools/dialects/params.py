"""Base class of an agent's parameters of a tool."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from posixpath import join, normpath
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, ValidationError

from nbtools.core.errors import ToolError
from nbtools.core.result import ToolResult
from nbtools.core.schema.documented_model import DocumentedModel, accepted_names
from nbtools.core.schema.parameters import describe_errors
from nbtools.dialects.dialect_model import Arguments, CallContext
from nbtools.dialects.field_map import FieldMap
from nbtools.tools.printable_names import with_printable_names


def _without_docstring(schema: dict[str, Any]) -> None:
    # The class's docstring is for readers of the code; a model gets the description of the mapping.
    schema.pop("description", None)


@cache
def _declared(params: type[BaseModel]) -> frozenset[str]:
    """Returns the names of all parameters and of the values inside them."""
    schema = params.model_json_schema()
    objects = (schema, *schema.get("$defs", {}).values())
    return frozenset(name for one in objects for name in one.get("properties", {}))


@cache
def _names(params: type[DialectParams]) -> Mapping[str, str]:
    return {**params.canonical.names(params), **params.names}


_UNMAPPED = FieldMap({})


class DialectParams(DocumentedModel):
    """Base class of one agent's parameters of a tool;
    converts calls to and from canonical arguments, and results to the agent's texts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=_without_docstring)

    ignores_unknown: ClassVar[bool] = False
    """Whether the agent ignores parameters that the tool does not have."""
    canonical: ClassVar[FieldMap] = _UNMAPPED
    """The canonical parameters of the tool, and this agent's fields for them."""
    one_way: ClassVar[bool] = False
    """Whether calls are only read: canonical calls are never converted to these parameters."""
    names: ClassVar[Mapping[str, str]] = {}
    """This agent's names of values inside parameters, and of canonical parameters where ``canonical`` has
    none.
    """

    _call_context: CallContext = CallContext()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls.canonical.check(cls, complete=not cls.one_way)

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

    def to_canonical(self) -> Arguments:
        """Converts the call to canonical arguments.
        Raises ``ToolFailure`` for calls that the agent itself refuses.
        """
        return self.canonical.to_canonical(self)

    @classmethod
    def from_canonical(cls, arguments: Arguments) -> Arguments | None:
        """Converts canonical arguments to this agent's parameters; None where they cannot be expressed."""
        is_read_only = cls.one_way or cls.canonical is _UNMAPPED
        return None if is_read_only else cls.canonical.from_canonical(cls, arguments)

    def convert_result(self, result: ToolResult) -> ToolResult:
        """Converts a result, failed or not, to this agent's text and data."""
        if result.error is None:
            return with_printable_names(result, self.reply)
        return self.failure(result, result.error)

    def reply(self, result: ToolResult) -> ToolResult:
        """Converts a successful result."""
        return result

    def failure(self, result: ToolResult, error: ToolError) -> ToolResult:
        """Converts a failed result."""
        return result

    @classmethod
    def name_of(cls, steps: tuple[str | int, ...]) -> str | None:
        """Returns this agent's name of a canonical parameter, or of a value inside it;
        None where there is none.
        """
        names = _names(cls)
        spoken = tuple(names.get(step, step) if isinstance(step, str) else step for step in steps)
        if _declared(cls).issuperset(step for step in spoken if isinstance(step, str)):
            return cls.location(spoken)
        return None

    @classmethod
    def location(cls, steps: tuple[str | int, ...]) -> str:
        """Writes the name of a parameter, or of a value inside it, as this agent does."""
        return ".".join(map(str, steps))

    @classmethod
    def explain_errors(cls, name: str, error: ValidationError) -> str:
        """Describes invalid arguments in this agent's wording."""
        return describe_errors(name, cls, error)
