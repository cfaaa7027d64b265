"""Fields of a server's form: describes what a field accepts and converts answers to values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from nbtools.core.schema.patterns import pattern_occurs

Value: TypeAlias = str | int | float | bool | list[str]


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """Returns the fields of a form in the server's order."""
    required = schema.get("required") or ()
    return [Field(name, field, name in required) for name, field in (schema.get("properties") or {}).items()]


@dataclass(frozen=True)
class Field:
    """One field of a form, described by a JSON schema."""

    name: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def title(self) -> str:
        return str(self.schema.get("title") or self.name)

    @property
    def description(self) -> str:
        """The description; empty if there is none."""
        return str(self.schema.get("description") or "")

    @property
    def takes_several(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def is_yes_or_no(self) -> bool:
        return self.schema.get("type") == "boolean"

    @cached_property
    def choices(self) -> dict[str, str]:
        """The values by their labels; labels are unique."""
        found: dict[str, str] = {}
        for value, label in _choices(self.schema):
            name = label.strip() or value or "(empty)"
            found[name if name not in found else f"{name} ({value})"] = value
        return found

    @property
    def default(self) -> str:
        """The default value, written as an answer."""
        value = self.schema.get("default")
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        called = {value: label for label, value in self.choices.items()}
        return ", ".join(called.get(one, str(one)) for one in (value if isinstance(value, list) else [value]))

    @property
    def hint(self) -> str:
        """Describes the accepted values; empty if there are no limits."""
        words = ", ".join(_limits(self.schema))
        return f"({words})" if words else ""

    def value(self, answer: str) -> Value:
        """Converts an answer.  Raises ``ValueError`` that explains why it is not valid for this field."""
        if self.is_yes_or_no:
            if answer not in ("yes", "no"):
                raise ValueError(f"{answer!r} is neither yes nor no")
            return answer == "yes"
        if self.takes_several:
            return self._several(answer)
        kind = self.schema.get("type")
        if kind in ("integer", "number"):
            return self._number(answer, int if kind == "integer" else float)
        return self._choice(answer) if self.choices else self._text(answer)

    def _choice(self, answer: str) -> str:
        if answer in self.choices:
            return self.choices[answer]
        if answer not in self.choices.values():
            raise ValueError(f"{answer!r} is not one of {', '.join(self.choices)}")
        return answer

    def _several(self, answer: str) -> list[str]:
        chosen = list(
            dict.fromkeys(
                self._choice(one) for one in _parts(answer, [*self.choices, *self.choices.values()])
            )
        )
        least, most = self.schema.get("minItems", 0), self.schema.get("maxItems", len(chosen))
        if not least <= len(chosen) <= most:
            raise ValueError(
                f"{len(chosen)} selected, which is {'too few' if len(chosen) < least else 'too many'}"
                f" {self.hint}".strip()
            )
        return chosen

    def _number(self, answer: str, parse: Callable[[str], float]) -> float:
        try:
            number = parse(answer)
        except ValueError:
            raise ValueError(f"{answer!r} is not a {'whole number' if parse is int else 'number'}") from None
        if not self.schema.get("minimum", number) <= number <= self.schema.get("maximum", number):
            raise ValueError(f"{answer} is out of range {self.hint}")
        return number

    def _text(self, answer: str) -> str:
        schema = self.schema
        least = schema.get("minLength", 0)
        if not least <= len(answer) <= schema.get("maxLength", len(answer)):
            raise ValueError(
                f"{len(answer)} characters are {'too few' if len(answer) < least else 'too many'} {self.hint}"
            )
        example, is_valid = _FORMATS.get(str(schema.get("format")), ("", None))
        if is_valid is not None and not is_valid(answer):
            raise ValueError(f"{answer!r} does not have the form of {example}")
        if "pattern" in schema and not pattern_occurs(schema["pattern"], answer):
            raise ValueError(f"{answer!r} does not match the pattern {schema['pattern']}")
        return answer


def _choices(field: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields values and labels from ``oneOf``, ``anyOf``, or ``enum`` with ``enumNames``."""
    schema = field.get("items") or {} if field.get("type") == "array" else field
    for option in schema.get("oneOf") or schema.get("anyOf") or ():
        if isinstance(option, Mapping) and isinstance(option.get("const"), str):
            yield option["const"], str(option.get("title") or option["const"])
    values = schema.get("enum") or ()
    names = schema.get("enumNames") or values
    yield from ((str(value), str(name)) for value, name in zip(values, names, strict=False))


def _parts(answer: str, labels: list[str]) -> Iterator[str]:
    """Splits a comma-separated answer; labels may contain commas."""
    labels = sorted(labels, key=len, reverse=True)
    rest = answer.strip()
    while rest:
        label = next(
            (one for one in labels if one and (rest == one or rest.startswith(f"{one},"))),
            rest.partition(",")[0],
        )
        yield label.strip()
        rest = rest[len(label) :].removeprefix(",").strip()


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    several, kind = schema.get("type") == "array", schema.get("type")
    name, unit = ("Items", " of them") if several else ("imum", "")
    if kind == "string":
        name, unit = "Length", " characters"
    least, most = schema.get(f"min{name}"), schema.get(f"max{name}")
    if least is not None:
        yield f"at least {least}{unit}"
    if most is not None:
        yield f"at most {most}{unit}"
    example, _ = _FORMATS.get(str(schema.get("format")), ("", None))
    if example:
        yield f"like {example}"


def _is_date(answer: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", answer)) and _can_parse(date.fromisoformat, answer)


def _is_datetime(answer: str) -> bool:
    match = re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", answer)
    return match is not None and _can_parse(datetime.fromisoformat, answer.upper())


def _is_uri(answer: str) -> bool:
    return _can_parse(urlsplit, answer) and bool(
        re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", answer)
    )


def _can_parse(parse: Callable[[str], object], answer: str) -> bool:
    try:
        parse(answer)
    except ValueError:
        return False
    return True


_FORMATS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "email": (
        "ann@example.org",
        lambda answer: bool(re.fullmatch(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+", answer)),
    ),
    "uri": ("https://example.org", _is_uri),
    "date": ("2026-11-22", _is_date),
    "date-time": ("2026-11-22T10:30:00Z", _is_datetime),
}
