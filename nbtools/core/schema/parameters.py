"""Validates the arguments of tool calls, with one line of message for all problems."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ValidationError

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.message import CalledTool, Message, Parameter, did_you_mean, joined
from nbtools.core.schema import json_schema

_SCHEMAS: WeakKeyDictionary[type[BaseModel], dict[str, Any]] = WeakKeyDictionary()
"""Schemas of models: each step of an agent needs all tools', for which pydantic takes 0.1 s."""


def schema_of(declared: type[BaseModel] | Mapping[str, Any]) -> dict[str, Any]:
    """Returns the JSON Schema of a tool's parameters, without pydantic's titles, which repeat the names."""
    if not isinstance(declared, type):
        return dict(declared)
    if declared not in _SCHEMAS:
        _SCHEMAS[declared] = json_schema.without_titles(declared.model_json_schema())
    return deepcopy(_SCHEMAS[declared])


def describe_errors(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    """Returns all of pydantic's errors in one line, with the names that the caller used."""
    problems = joined("; ", (_describe(model, dict(item)) for item in error.errors(include_url=False)))
    return Message.of(CalledTool(tool), ": ", problems)


def _describe(model: type[BaseModel], item: Mapping[str, Any]) -> str:
    where = Parameter(*item["loc"]) if item["loc"] else "the parameters"
    match item["type"]:
        case "missing":
            return Message.of(where, " is required")
        case "extra_forbidden":
            return f"there is no parameter {where}.{did_you_mean(str(where), model.model_fields)}".rstrip(".")
        case _:
            message = str(item["msg"]).removeprefix("Value error, ").removeprefix("Input ")
            return Message.of(where, f" {message[:1].lower()}{message[1:]}{_got(item.get('input'))}")


def _got(value: object) -> str:
    text = repr(value)
    return f" (given {text if len(text) <= 60 else text[:57] + '…'})"


def check_against_schema(
    tool: str, declared: Mapping[str, Any], params: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Returns ``params`` unchanged.  Raises ``ToolFailure`` with all problems in one line."""
    problems = json_schema.validate(declared, params)
    if problems:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{tool}: {'; '.join(problems)}")
    return params
