"""The map of fields says what an agent's parameters mean, and is complete."""

from __future__ import annotations

from typing import ClassVar

import pytest

from nbtools.dialects import Dialect
from nbtools.dialects.field_map import AgentField, FieldMap, Fixed, choice, defaults_of, milliseconds, negated
from nbtools.dialects.params import DialectParams
from tests.dialects.laws import DIALECTS, MODELS

CANONICAL = {"path": ".", "wait": 0, "hidden": False, "mode": "lines", "limit": 100, "word": False}


class Look(DialectParams):
    canonical: ClassVar[FieldMap] = FieldMap(
        CANONICAL,
        path="folder",
        wait=milliseconds("delay", 1_000),
        hidden=negated("visible"),
        mode=choice("names_only", {True: "files", False: "lines"}),
        limit=Fixed(10),
        lacks=("word",),
    )

    folder: str = "."
    delay: int = 0
    visible: bool = True
    names_only: bool = False


def test_both_directions_follow_from_the_map() -> None:
    call = Look(folder="a", delay=250, visible=False, names_only=True)
    canonical = {"path": "a", "wait": 0.25, "hidden": True, "mode": "files", "limit": 10}
    assert call.to_canonical() == canonical
    assert Look.from_canonical(canonical) == {
        "folder": "a",
        "delay": 250,
        "visible": False,
        "names_only": True,
    }
    assert Look.from_canonical({"limit": 10, "word": False}) == {}


@pytest.mark.parametrize(
    "inexpressible",
    [{"limit": 11}, {"word": True}, {"mode": "count"}, {"wait": 2}, {"wait": 0.0001}, {"unknown": 1}],
)
def test_a_value_without_counterpart_gives_no_call(inexpressible: dict[str, object]) -> None:
    assert Look.from_canonical({"limit": 10, **inexpressible}) is None


def test_messages_name_a_parameter_unless_it_means_the_opposite() -> None:
    assert Look.name_of(("wait",)) == "delay"
    assert Look.name_of(("hidden",)) is None


def test_every_canonical_parameter_is_mapped_or_lacking() -> None:
    with pytest.raises(TypeError, match="limit, word"):
        type(
            "Incomplete",
            (Look,),
            {"canonical": FieldMap(CANONICAL, path="folder", lacks=("wait", "hidden", "mode"))},
        )
    with pytest.raises(TypeError, match="depth, place"):
        type(
            "Wrong", (Look,), {"one_way": True, "canonical": FieldMap(CANONICAL, path="place", depth="delay")}
        )


@pytest.mark.parametrize("agent", DIALECTS, ids=lambda one: one.name)
def test_maps_have_the_defaults_of_their_tools(agent: Dialect) -> None:
    for mapping in agent.mappings:
        declared = mapping.params.canonical
        assert not declared.entries or declared.defaults == defaults_of(MODELS[mapping.tool]), mapping.name
        assert all(isinstance(entry, AgentField | Fixed) for entry in declared.entries.values())
