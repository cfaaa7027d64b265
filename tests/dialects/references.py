"""Finds tools and parameters that a reply names, by the places where messages name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.dialects import Dialect, dialect, dialect_names
from tests.dialects.laws import MODELS

_WORD = r"-?[A-Za-z_][\w.-]*\w|-?[A-Za-z_]"
_PLACES = (
    rf"`({_WORD})`",
    rf"[\"']({_WORD})[\"'](?!:)",
    rf"(?<![\w./<-])({_WORD})=(?!=)",
    rf"\b(?:[Uu]se|[Cc]all|[Ss]et|[Gg]ive|[Oo]mit) (?:the )?({_WORD})(?=$|[.,;:)]| (?:to|for|with|and|or|instead|tool|parameter)\b)",
    rf"\b(?:with|without) ({_WORD})(?=$|[.,;)] |[.;)]$)",
    rf"(?:^|[:;.] |\n|\()({_WORD})(?=: | is (?:required|empty|missing|not|at most|before|0)\b| must\b| contains\b| needs\b| does not\b)",
    r"\b([A-Za-z_]\w*)(?=(?:\.|\[)\d+)",
    r"\b\d+[.\]]\.?([a-z_]\w*)\b",
    r"\(([a-z_]+)(?=, [a-z_]+\)|\))",
)
"""Places where a message names a tool or a parameter."""


@cache
def names_in(model: type[BaseModel]) -> frozenset[str]:
    """Returns the names of a model's parameters and of the values inside them."""
    return frozenset(_names(model.model_json_schema()))


@cache
def words_in(model: type[BaseModel]) -> frozenset[str]:
    """Returns the values that a model's parameters have to choose from."""
    return _choices(model.model_json_schema())


def _choices(schema: Any) -> frozenset[str]:
    if isinstance(schema, Mapping):
        own = (
            {str(value) for value in schema.get("enum", ())}
            if isinstance(schema.get("enum", ()), list)
            else set()
        )
        return frozenset(own).union(*map(_choices, schema.values()))
    return frozenset().union(*map(_choices, schema)) if isinstance(schema, list) else frozenset()


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        yield from properties if isinstance(properties, Mapping) else ()
        for inner in schema.values():
            yield from _names(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _names(inner)


@cache
def vocabulary(agent: Dialect) -> frozenset[str]:
    """Returns all names of an agent's current tools and their parameters."""
    if not agent.mappings:
        return frozenset(CANONICAL_NAMES).union(*map(names_in, MODELS.values()))
    current = [mapping for mapping in agent.mappings if not mapping.former]
    return frozenset(mapping.name for mapping in current).union(
        *(names_in(mapping.params) for mapping in current)
    )


@cache
def all_names() -> frozenset[str]:
    """Returns every name of a tool or parameter in any dialect, former ones included."""
    names = vocabulary(dialect("nbtools"))
    for agent in map(dialect, dialect_names()):
        names |= frozenset(mapping.name for mapping in agent.mappings).union(
            *(names_in(mapping.params) for mapping in agent.mappings)
        )
    return names


def foreign_names(text: str, agent: Dialect, own: Iterable[str] = ()) -> set[str]:
    """Returns the tools and parameters that a reply names although the agent lacks them.

    Names that are no English words count anywhere, others in the places where messages name something.
    ``own``: names of the call itself.
    """
    foreign = all_names() - vocabulary(agent) - frozenset(own)
    named = {match for place in _PLACES for match in re.findall(place, text, re.MULTILINE)}
    anywhere = set(
        re.findall(
            r"(?<![\w./-])[A-Za-z]+(?:_[A-Za-z]+)+(?![\w/])|(?<![\w./-])[a-z]+[A-Z]\w+|\b[A-Z][a-z]+[A-Z]\w+",
            text,
        )
    )
    return foreign & (named | anywhere)
