"""Reduces a tool's JSON Schema to what a form can show, and reads the form's values.

Schemas of MCP servers are hostile: the result is built from an allow-list of keywords, with bounded depth,
width and texts, and refers to nothing.  What has no simple field (unions, free objects, deep structures)
becomes a text field for JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

JSON_FORMAT = "json"
"""The format of a text field that holds JSON, or a text where a text is valid too."""
MULTILINE_FORMAT = "multiline"
MAX_DEPTH = 4
MAX_PROPERTIES = 60
"""Properties of one object."""
MAX_FIELDS = 400
"""Fields of a whole form."""
MAX_CHOICES = 200
MAX_TEXT = 600
"""Characters of a description."""
MAX_LABEL = 100
"""Characters of a name, a title or a choice."""

_SCALARS = ("string", "integer", "number", "boolean")
_MULTILINE = ("content", "command", "old", "new", "patch")
_BOUNDS = ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")

Schema = dict[str, Any]


def form_schema(schema: Mapping[str, Any]) -> Schema:
    """Returns the schema of a form for the parameters of a tool: an object with properties."""
    return _Reader(schema).object(schema, 0)


def form_values(form: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments that a form's values stand for:
    JSON fields are parsed, empty optional fields are left out.
    """
    properties = form.get("properties") or {}
    required = form.get("required") or ()
    return {
        name: _value(properties[name], value)
        for name, value in values.items()
        if name in properties and not (value is None and name not in required)
    }


def _value(field: Mapping[str, Any], value: Any) -> Any:
    if field.get("format") == JSON_FORMAT and isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return value
    if field.get("type") == "object" and isinstance(value, Mapping):
        return form_values(field, value)
    if field.get("type") == "array" and isinstance(value, list):
        return [_value(field["items"], item) for item in value]
    is_whole = field.get("type") == "integer" and isinstance(value, float) and value.is_integer()
    return int(value) if is_whole else value


class _Reader:
    """Reads one schema; counts its fields."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        definitions = [schema.get(word) for word in ("definitions", "$defs")]
        self._definitions = {
            name: spec for one in definitions if isinstance(one, Mapping) for name, spec in one.items()
        }
        self._fields = 0

    def object(self, spec: Mapping[str, Any], depth: int) -> Schema:
        found = spec.get("properties")
        declared: Mapping[Any, Any] = found if isinstance(found, Mapping) else {}
        names = [name for name in declared if isinstance(name, str) and _is_label(name)]
        properties = {}
        for name in names[:MAX_PROPERTIES]:
            if self._fields < MAX_FIELDS:
                properties[name] = self._field(name, declared[name], depth + 1)
        required = [
            name for name in _sequence(spec.get("required")) if isinstance(name, str) and name in properties
        ]
        return {"type": "object", "properties": properties, "required": required}

    def _field(self, name: str, spec: Any, depth: int) -> Schema:
        self._fields += 1
        outer = self._resolved(spec)
        branches = [branch for branch in self._branches(outer) if _types(branch) != ["null"]]
        common = {"title": _text(name, MAX_LABEL), "description": _text(outer.get("description"), MAX_TEXT)}
        constants = [branch["const"] for branch in branches if "const" in branch]
        if len(branches) == 1:
            field = self._kind(name, branches[0], depth)
        elif constants and len(constants) == len(branches):
            field = _choices({"enum": constants}) or _json_field()
        else:
            field = _json_field()
        default = outer.get("default")
        if (
            isinstance(default, bool | int | float | str)
            and field.get("format") != JSON_FORMAT
            and len(str(default)) <= MAX_TEXT
        ):
            field["default"] = default
        return {**{key: value for key, value in common.items() if value}, **field}

    def _kind(self, name: str, spec: Mapping[str, Any], depth: int) -> Schema:
        choices = _choices(spec)
        if choices:
            return choices
        kinds = [kind for kind in _types(spec) if kind != "null"]
        bounds = {
            word: spec[word]
            for word in _BOUNDS
            if isinstance(spec.get(word), int | float) and not isinstance(spec[word], bool)
        }
        if len(kinds) == 1 and kinds[0] in _SCALARS:
            multiline = kinds == ["string"] and (name in _MULTILINE or bool(spec.get("body")))
            return {"type": kinds[0], **bounds, **({"format": MULTILINE_FORMAT} if multiline else {})}
        if kinds == ["array"] and depth < MAX_DEPTH and isinstance(spec.get("items"), Mapping):
            item = {
                key: value
                for key, value in self._field("", spec["items"], depth + 1).items()
                if key != "default"
            }
            return {"type": "array", "items": item, **bounds}
        if (
            kinds == ["object"]
            and depth < MAX_DEPTH
            and isinstance(spec.get("properties"), Mapping)
            and spec["properties"]
        ):
            return self.object(spec, depth)
        return _json_field()

    def _branches(self, spec: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        for word in ("anyOf", "oneOf", "allOf"):
            if isinstance(spec.get(word), list) and spec[word]:
                return [self._resolved(branch) for branch in spec[word][:MAX_CHOICES]]
        return [spec]

    def _resolved(self, spec: Any) -> Mapping[str, Any]:
        """Follows one reference into the schema's own definitions;
        any other reference is a field without a type.
        """
        if not isinstance(spec, Mapping):
            return {}
        target = self._definitions.get(str(spec.get("$ref", "")).rpartition("/")[2])
        if not isinstance(target, Mapping):
            return spec
        return {**target, **{word: value for word, value in spec.items() if word != "$ref"}}


def _json_field() -> Schema:
    return {"type": "string", "format": JSON_FORMAT}


def _choices(spec: Mapping[str, Any]) -> Schema | None:
    values = [spec["const"]] if "const" in spec else _sequence(spec.get("enum"))
    texts = [value for value in values[:MAX_CHOICES] if isinstance(value, str) and len(value) <= MAX_LABEL]
    if texts and all(isinstance(value, str) or value is None for value in values):
        return {"type": "string", "enum": list(dict.fromkeys(texts))}
    numbers = [
        value for value in values[:MAX_CHOICES] if isinstance(value, int) and not isinstance(value, bool)
    ]
    if not numbers or len(numbers) < len(values[:MAX_CHOICES]):
        return None
    return {"type": "integer", "enum": list(dict.fromkeys(numbers))}


def _types(spec: Mapping[str, Any]) -> list[str]:
    declared = spec.get("type")
    kinds = [declared] if isinstance(declared, str) else _sequence(declared)
    return [kind for kind in kinds if isinstance(kind, str)]


def _sequence(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()


def _is_label(name: str) -> bool:
    return 0 < len(name) <= MAX_LABEL and name not in ("__proto__", "constructor", "prototype")


def _text(value: Any, limit: int) -> str:
    text = " ".join(value.split()) if isinstance(value, str) else ""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
