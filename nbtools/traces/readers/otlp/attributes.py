"""Converts attributes of OTLP JSON to plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.traces.json_access import integer_of, items, mapping, mappings, string

_MAX_DEPTH = 30


def value_of(any_value: Any, depth: int = 0) -> Any:
    """Converts an ``AnyValue``; a plain value is returned as it is."""
    if not isinstance(any_value, dict):
        return any_value
    for kind, plain in any_value.items():
        if kind in {"stringValue", "doubleValue", "boolValue", "bytesValue"}:
            return plain
        if kind == "intValue":
            return integer_of(plain)
        if kind == "arrayValue" and depth < _MAX_DEPTH:
            return [value_of(one, depth + 1) for one in items(mapping(plain).get("values"))]
        if kind == "kvlistValue" and depth < _MAX_DEPTH:
            return attributes_of(mapping(plain).get("values"), depth + 1)
    return None


def attributes_of(attributes: Any, depth: int = 0) -> dict[str, Any]:
    """Returns attributes given as a list of keys and values, or as the object that some exporters write."""
    if isinstance(attributes, dict):
        return dict(attributes)
    return {string(one.get("key")): value_of(one.get("value"), depth) for one in mappings(attributes)}


def unflatten(attributes: Mapping[str, Any], prefix: str) -> list[Any]:
    """Returns the list whose items are under ``prefix.0.…``, ``prefix.1.…``, as OpenInference and OpenLLMetry write nested values."""
    tree: dict[str, Any] = {}
    start = f"{prefix}."
    for key, value in attributes.items():
        if key.startswith(start):
            *path, last = key[len(start) :].split(".")[:_MAX_DEPTH]
            node = tree
            for step in path:
                inner = node.setdefault(step, {})
                node = inner if isinstance(inner, dict) else {}
            node.setdefault(last, value)
    found = _numbered_to_lists(tree)
    return found if isinstance(found, list) else []


def _numbered_to_lists(node: Any) -> Any:
    """Converts objects whose keys are all numbers to lists."""
    if not isinstance(node, dict):
        return node
    if node and all(integer_of(key) is not None for key in node):
        return [_numbered_to_lists(node[key]) for key in sorted(node, key=lambda key: integer_of(key) or 0)]
    return {key: _numbered_to_lists(value) for key, value in node.items()}
