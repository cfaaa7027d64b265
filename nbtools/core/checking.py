"""Values held against JSON Schemas that strangers wrote: it ends soon whatever they wrote, and reads nothing but the schema.

``jsonschema`` by itself fetches what a schema refers to, from disks and networks, and takes patterns to an engine that may never end.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property, lru_cache
from typing import Any, TypeAlias

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema

from nbtools.core.json_schema import jsonschema
from nbtools.core.plain_schema import PlainSchema

_MOST_STEPS = 50_000
"""Keywords held against values; about two seconds.  What is left then is not checked."""
_MOST_FOUND = 100
Keyword: TypeAlias = Callable[[Any, Any, Any, Any], Any]


class Checker:
    """Of one schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._plain = PlainSchema(schema)

    def fits(self, value: object) -> bool:
        """A quick yes, of which ``iter_errors`` would find nothing; a no means that it has to look."""
        return self._plain.fits(value)

    def iter_errors(self, value: object) -> Iterator[Any]:
        """The first hundred.  Raises ``RecursionError``, and ``Unresolvable`` where the schema refers elsewhere."""
        if self._plain.fits(value):
            return
        _spent.steps = 0
        try:
            for number, error in enumerate(self._validator.iter_errors(value)):
                yield error
                if number == _MOST_FOUND:
                    return
        except _Enough:
            return

    @cached_property
    def _validator(self) -> Any:
        from jsonschema_specifications import REGISTRY  # noqa: PLC0415 - it comes with jsonschema, and is needed when that is

        loaded = jsonschema()
        kind = _careful(loaded.validators.validator_for(self._schema, default=loaded.Draft202012Validator))
        return kind(self._schema, registry=REGISTRY)


def finds(pattern: object, text: str) -> bool:
    """Whether ``pattern`` is somewhere in ``text``, in time that grows with the text only.

    One that needs more than that (looking around, going back), or cannot be read, forbids nothing: who wrote it sees for themselves.
    """
    reader = _reader(pattern) if isinstance(pattern, str) else None
    if reader is None:
        return True
    try:
        reader.validate_python(text)
    except ValidationError:
        return False
    return True


@lru_cache(maxsize=256)
def _reader(pattern: str) -> SchemaValidator | None:
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        return None


def _nothing(*_: Any) -> tuple[Any, ...]:
    return ()


_UNCHECKED = {"unevaluatedProperties": _nothing, "unevaluatedItems": _nothing}
"""``jsonschema`` looks through all that stands beside them by itself, with patterns of its own and uncounted."""


class _Enough(Exception):  # noqa: N818 - no error
    """All that may be spent is spent."""


class _Spent(threading.local):
    steps = 0


_spent = _Spent()


@cache
def _careful(kind: Any) -> Any:
    """The same validator with our own patterns, and each step counted."""
    own = {"pattern": _pattern, "patternProperties": _pattern_properties, "uniqueItems": _unique}
    ours = {**kind.VALIDATORS, **{name: keyword for name, keyword in own.items() if name in kind.VALIDATORS}}
    if "additionalProperties" in ours:
        ours["additionalProperties"] = _beside_patterns(ours["additionalProperties"])
    return jsonschema().validators.extend(kind, {name: _counted(keyword) for name, keyword in ours.items()} | _UNCHECKED)


def _counted(keyword: Keyword) -> Keyword:
    def counted(validator: Any, said: Any, value: Any, schema: Any) -> Any:
        _spent.steps += 1
        if _spent.steps > _MOST_STEPS:
            raise _Enough
        return keyword(validator, said, value, schema)

    return counted


def _pattern(_: Any, pattern: object, value: object, __: Any) -> Iterator[Any]:
    if isinstance(value, str) and not finds(pattern, value):
        yield jsonschema().ValidationError(f"{value!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: object, _: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for pattern, schema in patterns.items():
            for name in (name for name in value if _reader(pattern) is not None and finds(pattern, name)):
                yield from validator.descend(value[name], schema, path=name, schema_path=pattern)


def _beside_patterns(keyword: Keyword) -> Keyword:
    """Properties that go by patterns are known, and ``jsonschema`` would look them up with its own engine."""

    def beside(validator: Any, said: Any, value: Any, schema: Any) -> Any:
        patterns = schema.get("patternProperties")
        if not patterns or not isinstance(value, dict):
            return keyword(validator, said, value, schema)
        rest = {name: one for name, one in value.items() if not any(finds(pattern, name) for pattern in patterns)}
        return keyword(validator, said, rest, {name: one for name, one in schema.items() if name != "patternProperties"})

    return beside


def _unique(_: Any, wanted: object, value: object, __: Any) -> Iterator[Any]:
    if wanted and isinstance(value, list) and len({json.dumps(one, sort_keys=True, default=str) for one in value}) < len(value):
        yield jsonschema().ValidationError("it has elements that are the same")
