"""One field of a server's form: what it takes, in words, and an answer as its value."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from nbtools.core.checking import finds

Value: TypeAlias = str | int | float | bool | list[str]


def fields_of(schema: Mapping[str, Any]) -> list[Field]:
    """In the order in which the server names them."""
    required = schema.get("required") or ()
    return [Field(name, field, name in required) for name, field in (schema.get("properties") or {}).items()]


@dataclass(frozen=True)
class Field:
    name: str
    schema: Mapping[str, Any]
    required: bool

    @property
    def title(self) -> str:
        return str(self.schema.get("title") or self.name)

    @property
    def about(self) -> str:
        """Empty where the title says it all."""
        return str(self.schema.get("description") or "")

    @property
    def takes_several(self) -> bool:
        return self.schema.get("type") == "array"

    @property
    def is_yes_or_no(self) -> bool:
        return self.schema.get("type") == "boolean"

    @cached_property
    def choices(self) -> dict[str, str]:
        """What the values are called, each once, and the values."""
        found: dict[str, str] = {}
        for value, label in _choices(self.schema):
            name = label.strip() or value or "(empty)"
            found[name if name not in found else f"{name} ({value})"] = value
        return found

    @property
    def default(self) -> str:
        """As an answer."""
        value = self.schema.get("default")
        if value is None:
            return ""
        if isinstance(value, bool):
            return "yes" if value else "no"
        called = {value: label for label, value in self.choices.items()}
        return ", ".join(called.get(one, str(one)) for one in (value if isinstance(value, list) else [value]))

    @property
    def hint(self) -> str:
        """What is taken, in words; empty where anything is."""
        words = ", ".join(_limits(self.schema))
        return f"({words})" if words else ""

    def value(self, answer: str) -> Value:
        """Raises ``ValueError``, in words, where the answer is no value of the field."""
        if self.is_yes_or_no:
            if answer not in ("yes", "no"):
                raise ValueError(f"{answer!r} is neither yes nor no")
            return answer == "yes"
        if self.takes_several:
            return self._several(answer)
        kind = self.schema.get("type")
        if kind in ("integer", "number"):
            return self._number(answer, int if kind == "integer" else float)
        return self._one(answer) if self.choices else self._text(answer)

    def _one(self, answer: str) -> str:
        if answer in self.choices:
            return self.choices[answer]
        if answer not in self.choices.values():
            raise ValueError(f"{answer!r} is none of {', '.join(self.choices)}")
        return answer

    def _several(self, answer: str) -> list[str]:
        chosen = list(dict.fromkeys(self._one(one) for one in _parts(answer, [*self.choices, *self.choices.values()])))
        least, most = self.schema.get("minItems", 0), self.schema.get("maxItems", len(chosen))
        if not least <= len(chosen) <= most:
            raise ValueError(f"{len(chosen)} chosen, which is {'too few' if len(chosen) < least else 'too many'} {self.hint}".strip())
        return chosen

    def _number(self, answer: str, read: Callable[[str], float]) -> float:
        try:
            number = read(answer)
        except ValueError:
            raise ValueError(f"{answer!r} is no {'whole number' if read is int else 'number'}") from None
        if not self.schema.get("minimum", number) <= number <= self.schema.get("maximum", number):
            raise ValueError(f"{answer} is not in its limits {self.hint}")
        return number

    def _text(self, answer: str) -> str:
        schema = self.schema
        least = schema.get("minLength", 0)
        if not least <= len(answer) <= schema.get("maxLength", len(answer)):
            raise ValueError(f"{len(answer)} characters are {'too few' if len(answer) < least else 'too many'} {self.hint}")
        example, fits = _FORMATS.get(str(schema.get("format")), ("", None))
        if fits is not None and not fits(answer):
            raise ValueError(f"{answer!r} is not written like {example}")
        if "pattern" in schema and not finds(schema["pattern"], answer):
            raise ValueError(f"{answer!r} does not look like {schema['pattern']}")
        return answer


def _choices(field: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Values and what they are called, in any of the ways to say it."""
    of = field.get("items") or {} if field.get("type") == "array" else field
    for one in of.get("oneOf") or of.get("anyOf") or ():
        if isinstance(one, Mapping) and isinstance(one.get("const"), str):
            yield one["const"], str(one.get("title") or one["const"])
    plain = of.get("enum") or ()
    names = of.get("enumNames") or plain
    yield from ((str(value), str(name)) for value, name in zip(plain, names, strict=False))


def _parts(answer: str, labels: list[str]) -> Iterator[str]:
    """The answers that are joined in one, by commas; a label may have commas of its own."""
    labels = sorted(labels, key=len, reverse=True)
    rest = answer.strip()
    while rest:
        label = next((one for one in labels if one and (rest == one or rest.startswith(f"{one},"))), rest.partition(",")[0])
        yield label.strip()
        rest = rest[len(label) :].removeprefix(",").strip()


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    several, kind = schema.get("type") == "array", schema.get("type")
    names = ("minItems", "maxItems") if several else ("minLength", "maxLength") if kind == "string" else ("minimum", "maximum")
    least, most = (schema.get(name) for name in names)
    unit = "" if kind in ("integer", "number") else " of them" if several else " characters"
    if least is not None:
        yield f"at least {least}{unit}"
    if most is not None:
        yield f"at most {most}{unit}"
    example, _ = _FORMATS.get(str(schema.get("format")), ("", None))
    if example:
        yield f"like {example}"


def _is_day(answer: str) -> bool:
    return bool(re.fullmatch(r"\d{4}-\d\d-\d\d", answer)) and _reads(date.fromisoformat, answer)


def _is_moment(answer: str) -> bool:
    whole = re.fullmatch(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)", answer)
    return whole is not None and _reads(datetime.fromisoformat, answer.upper())


def _is_address(answer: str) -> bool:
    return _reads(urlsplit, answer) and bool(re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+", answer))


def _reads(read: Callable[[str], object], answer: str) -> bool:
    try:
        read(answer)
    except ValueError:
        return False
    return True


_FORMATS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "email": ("ann@example.org", lambda answer: bool(re.fullmatch(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+", answer))),
    "uri": ("https://example.org", _is_address),
    "date": ("2026-11-22", _is_day),
    "date-time": ("2026-11-22T10:30:00Z", _is_moment),
}
