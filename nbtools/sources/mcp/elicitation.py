"""A server's questions to the person: a form of flat fields, asked as the tool ``ask`` asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

Value: TypeAlias = str | int | float | bool | list[str]
_AT_ONCE = 4
"""Questions of one form of ``ask``."""


def forms(server: str, message: str, schema: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Arguments of ``ask``, some questions at a time."""
    questions = [_question(server, message, name, field, name in _required(schema)) for name, field in _fields(schema).items()]
    return [{"questions": questions[first : first + _AT_ONCE]} for first in range(0, len(questions), _AT_ONCE)]


def values(schema: Mapping[str, Any], answers: Sequence[str]) -> tuple[dict[str, Value], str]:
    """What was answered, by the fields' names, and what is wrong with it in one line, or nothing.  No answer takes a field's default."""
    content: dict[str, Value] = {}
    for (name, field), answer in zip(_fields(schema).items(), answers, strict=False):
        if not answer:
            if "default" in field:
                content[name] = field["default"]
            elif name in _required(schema):
                return {}, f"{_title(name, field)} is needed."
            continue
        try:
            content[name] = _value(field, answer)
        except ValueError:
            return {}, f"{_title(name, field)}: {answer!r} is no {_WORDS.get(field.get('type', ''), 'answer that is taken')}."
    return content, ""


def _fields(schema: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = schema.get("properties") or {}
    return found


def _required(schema: Mapping[str, Any]) -> Sequence[str]:
    return schema.get("required") or ()


def _question(server: str, message: str, name: str, field: Mapping[str, Any], required: bool) -> dict[str, Any]:
    about = field.get("description") or _title(name, field)
    text = f"{server} asks: {message}\n{about}{'' if required else ' (may be left out)'}"
    default = field.get("default")
    question: dict[str, Any] = {"text": text, "header": _title(name, field)[:40], "placeholder": "" if default is None else str(default)}
    choices = _choices(field)
    if field.get("type") == "boolean":
        return {**question, "kind": "yesno"}
    if len(choices) > 1:
        labels = [{"label": label, "description": "" if label == value else value} for value, label in choices]
        return {**question, "kind": "choice", "choices": labels, "several": field.get("type") == "array"}
    return {**question, "kind": "text"}


def _choices(field: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Values and what they are called, in any of the ways to say it."""
    of = field.get("items") or {} if field.get("type") == "array" else field
    titled = of.get("oneOf") or of.get("anyOf") or ()
    if titled:
        return [(one["const"], one.get("title") or one["const"]) for one in titled if isinstance(one.get("const"), str)]
    named = of.get("enumNames") or of.get("enum") or ()
    return [(value, name) for value, name in zip(of.get("enum") or (), named, strict=False)]


def _value(field: Mapping[str, Any], answer: str) -> Value:
    """Raises ``ValueError`` where the answer is no value of the field."""
    kind = field.get("type")
    called = {label: value for value, label in _choices(field)}
    if kind == "array":
        return [called.get(one, one) for one in answer.split(", ")]
    if kind == "boolean":
        return answer == "yes"
    if kind in ("integer", "number"):
        return _number(field, int(answer) if kind == "integer" else float(answer))
    if called and answer not in called and answer not in called.values():
        raise ValueError(answer)
    return called.get(answer, answer)


def _number(field: Mapping[str, Any], number: float) -> float:
    if not field.get("minimum", number) <= number <= field.get("maximum", number):
        raise ValueError(number)
    return number


def _title(name: str, field: Mapping[str, Any]) -> str:
    return str(field.get("title") or name)


_WORDS = {"integer": "whole number in its limits", "number": "number in its limits"}
