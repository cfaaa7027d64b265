"""Validates values against untrusted JSON Schemas in bounded time, without reading anything but the schema.

Plain schemas, which most tools have, are checked by pydantic, which is much faster than ``jsonschema``.
Other schemas are checked by ``jsonschema`` with two restrictions: references to files and networks are not
followed, and patterns run in linear time.  A reference that is not followed, or leads nowhere, restricts
nothing; the rest of the schema is checked.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from types import ModuleType
from typing import Any, TypeAlias

from pydantic_core import CoreSchema, SchemaValidator, core_schema

from nbtools.core.schema.drafts import draft_of, malformed_part
from nbtools.core.schema.formats import fits_format, is_checked
from nbtools.core.schema.patterns import is_supported, pattern_occurs

_MOST_NODES = 200
"""The most nodes of a plain schema.  It bounds the time, as each value may be checked against each node."""
_ANNOTATIONS = {"title", "description", "default", "examples", "$schema", "$comment"} | {
    *("readOnly", "writeOnly", "deprecated"),
}
"""Keywords that do not restrict values."""
_TYPES: dict[str, CoreSchema] = {
    "string": core_schema.str_schema(),
    "integer": core_schema.int_schema(),
    "number": core_schema.float_schema(),
    "boolean": core_schema.bool_schema(),
    "null": core_schema.none_schema(),
}
Node: TypeAlias = Mapping[str, Any]
Budget: TypeAlias = Iterator[int]
"""Counts down the nodes that a schema may still have."""


class PlainSchema:
    """Fast check for schemas that consist only of types, names and enumerations."""

    def __init__(self, schema: Node) -> None:
        self._validator: SchemaValidator | None = None
        with suppress(_NotPlain):
            self._validator = SchemaValidator(_compile(schema, iter(range(_MOST_NODES))))

    def accepts(self, value: object) -> bool:
        """Whether the value is valid. False also if the schema is not plain and ``jsonschema`` must check."""
        return self._validator is not None and self._validator.isinstance_python(value, strict=True)


class _NotPlain(Exception):  # noqa: N818 - control flow, not an error
    """The schema uses more than the plain keywords."""


def _compile(schema: object, budget: Budget) -> CoreSchema:
    if next(budget, None) is None or not (schema is True or isinstance(schema, Mapping)):
        raise _NotPlain
    node: Node = schema if isinstance(schema, Mapping) else {}
    keywords = {key: value for key, value in node.items() if key not in _ANNOTATIONS}
    if "format" in keywords and not is_checked(keywords["format"]):
        del keywords["format"]
    match keywords.pop("type", None):
        case "object":
            return _object(keywords, budget)
        case "array":
            items = _only_keywords(keywords, "items").get("items", True)
            return core_schema.list_schema(_compile(items, budget))
        case [_, *_] as names:
            return core_schema.union_schema([_compile({"type": name, **keywords}, budget) for name in names])
        case str(name):
            return _value(name, keywords)
        case None:
            match _only_keywords(keywords, "anyOf").get("anyOf"):
                case None:
                    return core_schema.any_schema()
                case [_, *_] as choices:
                    return core_schema.union_schema([_compile(choice, budget) for choice in choices])
    raise _NotPlain


def _only_keywords(keywords: dict[str, Any], *known: str) -> dict[str, Any]:
    if keywords.keys() <= set(known):
        return keywords
    raise _NotPlain


def _value(name: str, keywords: dict[str, Any]) -> CoreSchema:
    _only_keywords(keywords, "enum", "format")
    match keywords:
        case {"enum": [_, *_] as values} if name == "string" and len(keywords) == 1:
            if all(type(value) is str for value in values):
                return core_schema.literal_schema(values)
        case {"format": kind} if name in _TYPES and keywords.get("enum") is None:
            return core_schema.no_info_after_validator_function(_format_check(kind), _TYPES[name])
        case _ if name in _TYPES and keywords.get("enum") is None:
            return _TYPES[name]
    raise _NotPlain


def _format_check(name: object) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not fits_format(name, value):
            raise ValueError(name)
        return value

    return check


def _object(keywords: dict[str, Any], budget: Budget) -> CoreSchema:
    _only_keywords(keywords, "properties", "required", "additionalProperties")
    properties, required = keywords.get("properties", {}), keywords.get("required", [])
    additional = keywords.get("additionalProperties", True)
    if not (isinstance(properties, Mapping) and isinstance(required, list) and isinstance(additional, bool)):
        raise _NotPlain
    if not all(name in properties for name in map(str, required)):
        raise _NotPlain
    fields = {
        name: core_schema.typed_dict_field(_compile(inner, budget), required=name in required)
        for name, inner in properties.items()
    }
    return core_schema.typed_dict_schema(fields, extra_behavior="allow" if additional else "forbid")


_GRAMMAR = "rfc3987_syntax"


def import_jsonschema() -> Any:
    """Imports ``jsonschema``, only here: beside Jupyter's packages a direct import takes seconds."""
    with _lazy_grammar():
        return importlib.import_module("jsonschema")


@contextmanager
def _lazy_grammar() -> Iterator[None]:
    """Replaces ``rfc3987_syntax`` by a lazy stand-in while ``jsonschema`` is imported.

    Jupyter installs ``rfc3987_syntax``, which compiles a grammar when it is imported, to check IRIs, which
    are not checked here.  The stand-in loads the real module when another user in this process calls it.
    """
    if not {_GRAMMAR, "jsonschema"}.isdisjoint(sys.modules) or importlib.util.find_spec(_GRAMMAR) is None:
        yield
        return
    stand_in: Any = ModuleType(_GRAMMAR)
    stand_in.is_valid_syntax = _is_valid_syntax
    sys.modules[_GRAMMAR] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_GRAMMAR) is stand_in:
            del sys.modules[_GRAMMAR]


def _is_valid_syntax(term: str, value: str) -> bool:
    return bool(importlib.import_module(_GRAMMAR).is_valid_syntax(term, value))


_MOST_STEPS = 50_000
"""The most checks of a keyword against a value, about two seconds.  The rest is not checked."""
_MOST_ERRORS = 100
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Any]


class JsonSchemaValidator:
    """Validates values against one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._plain = PlainSchema(schema)

    def accepts(self, value: object) -> bool:
        """Fast check.  True: the value is valid.  False: ``iter_errors`` has to check it."""
        return self._plain.accepts(value)

    def iter_errors(self, value: object) -> Iterator[Any]:
        """Yields about a hundred errors at most; none for an unusable schema. Raises ``RecursionError``."""
        if self._plain.accepts(value) or self._malformed_part:
            return
        _counter.steps = 0
        try:
            for number, error in enumerate(self._validator.iter_errors(value)):
                yield error
                if number == _MOST_ERRORS:
                    return
        except _StepLimitReached:
            return

    @cached_property
    def _malformed_part(self) -> str:
        return malformed_part(self._schema)

    @cached_property
    def _validator(self) -> Any:
        from jsonschema_specifications import (  # noqa: PLC0415 - it comes with jsonschema, and is needed when that is
            REGISTRY,
        )

        loaded = import_jsonschema()
        kind = _restricted(getattr(loaded, draft_of(self._schema)))
        return kind(self._schema, registry=REGISTRY)


_UNCHECKED = dict.fromkeys(("unevaluatedProperties", "unevaluatedItems"), lambda *_: ())
"""Keywords that are not checked, because ``jsonschema`` evaluates them without the restrictions."""


class _StepLimitReached(Exception):  # noqa: N818 - control flow, not an error
    """The limit of steps is reached."""


class _StepCounter(threading.local):
    steps = 0
    unresolved = 0
    """The number of references that could not be followed."""


_counter = _StepCounter()


@cache
def _restricted(kind: Any) -> Any:
    """Returns the validator class with linear-time patterns and a limit of steps."""
    replaced: dict[str, Keyword] = {"pattern": _pattern, "patternProperties": _pattern_properties}
    replaced |= {"uniqueItems": _unique, "format": _format}
    wrapped: dict[str, Callable[[Keyword], Keyword]] = {"additionalProperties": _beside_patterns}
    wrapped |= dict.fromkeys(("$ref", "$dynamicRef", "$recursiveRef"), _where_resolvable)
    wrapped |= dict.fromkeys(("not", "oneOf", "contains", "if", "disallow"), _where_resolved)
    checks: dict[str, Keyword] = {}
    for name, keyword in kind.VALIDATORS.items():
        check = replaced.get(name, keyword)
        checks[name] = _counted(wrapped[name](check) if name in wrapped else check)
    return import_jsonschema().validators.extend(kind, checks | _UNCHECKED)


def _counted(keyword: Keyword) -> Keyword:
    def counted(validator: Any, argument: Any, value: Any, schema: Any) -> Any:
        _counter.steps += 1
        if _counter.steps > _MOST_STEPS:
            raise _StepLimitReached
        return keyword(validator, argument, value, schema)

    return counted


def _where_resolvable(keyword: Keyword) -> Keyword:
    """Wraps a reference, so that one that cannot be followed restricts nothing."""

    def referring(validator: Any, argument: Any, value: Any, schema: Any) -> Any:
        from referencing.exceptions import (  # noqa: PLC0415 - it comes with jsonschema, and is needed when that is
            Unresolvable,
        )

        try:
            yield from keyword(validator, argument, value, schema) or ()
        except Unresolvable:
            _counter.unresolved += 1

    return referring


def _where_resolved(keyword: Keyword) -> Keyword:
    """Wraps a keyword that can refuse a value because a part of its schema accepts it;
    a reference that is not followed accepts all.
    """

    def resolved(validator: Any, argument: Any, value: Any, schema: Any) -> Any:
        before = _counter.unresolved
        errors = list(keyword(validator, argument, value, schema) or ())
        return errors if _counter.unresolved == before else ()

    return resolved


def _format(_: Any, name: object, value: object, __: Any) -> Iterator[Any]:
    if not fits_format(name, value):
        yield import_jsonschema().ValidationError(f"{value!r} is not a {name!r}")


def _pattern(_: Any, pattern: object, value: object, __: Any) -> Iterator[Any]:
    if isinstance(value, str) and not pattern_occurs(pattern, value):
        yield import_jsonschema().ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: object, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for pattern, schema in patterns.items():
            for name in (name for name in value if is_supported(pattern) and pattern_occurs(pattern, name)):
                yield from validator.descend(value[name], schema, path=name, schema_path=pattern)


def _beside_patterns(keyword: Keyword) -> Keyword:
    """Wraps ``additionalProperties``, so that names are matched with linear-time patterns."""

    def beside(validator: Any, argument: Any, value: Any, schema: Any) -> Any:
        patterns = schema.get("patternProperties")
        if not patterns or not isinstance(value, dict):
            return keyword(validator, argument, value, schema)
        matched = {name for name in value if any(pattern_occurs(pattern, name) for pattern in patterns)}
        rest = {name: one for name, one in value.items() if name not in matched}
        others = {name: one for name, one in schema.items() if name != "patternProperties"}
        return keyword(validator, argument, rest, others)

    return beside


def _unique(_: Any, enabled: object, value: object, __: Any) -> Iterator[Any]:
    items = value if enabled and isinstance(value, list) else []
    if len({json.dumps(one, sort_keys=True, default=str) for one in items}) < len(items):
        yield import_jsonschema().ValidationError("it has elements that are the same")
