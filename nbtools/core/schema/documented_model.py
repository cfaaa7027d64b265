"""Base class of models whose fields are described by the docstrings under them.

pydantic's ``use_attribute_docstrings`` reads the source as soon as a class is created, and finds it through
the frames of the caller, for which it resolves the paths of all loaded modules: 40 ms of a kernel's first
call.  Here the source is read when a schema is made.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, ConfigDict

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic.fields import FieldInfo
    from pydantic_core import CoreSchema


class DocumentedModel(BaseModel):
    """A model in whose JSON Schema the docstring under a field is the field's description,
    unless ``Field`` gives one.
    """

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        documented = field_docstrings(cls)
        for name, field in cls.model_fields.items():
            names = (*accepted_names(name, field), name)
            declared = next((properties[one] for one in names if one in properties), None)
            if name in documented and declared is not None:
                declared.setdefault("description", documented[name])
        return schema


class ParameterModel(DocumentedModel):
    """Parameters of a tool, or values inside them: immutable, and other parameters are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def accepted_names(name: str, field: FieldInfo) -> tuple[str, ...]:
    """Returns the names under which a field is accepted, the current one first."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return tuple(choice for choice in alias.choices if isinstance(choice, str))
    return (alias if isinstance(alias, str) else name,)


def field_docstrings(model: type) -> dict[str, str]:
    """Returns the docstrings under the fields of a class and of its bases; empty where there is no source."""
    documented: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, DocumentedModel):
            documented |= _of_module(base.__module__).get(base.__qualname__, {})
    return documented


@cache
def _of_module(name: str) -> Mapping[str, Mapping[str, str]]:
    """Returns the docstrings under the fields of all classes of a module, by the classes' qualified names."""
    try:
        tree = ast.parse(inspect.getsource(sys.modules[name]))
    except (KeyError, OSError, TypeError):
        return {}
    return {node.name: _under_fields(node) for node in tree.body if isinstance(node, ast.ClassDef)}


def _under_fields(declared: ast.ClassDef) -> dict[str, str]:
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for field, below in zip(declared.body, declared.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }
