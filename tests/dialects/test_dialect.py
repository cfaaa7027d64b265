"""A dialect reads calls and words replies; the vocabulary inside is itself one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pytest

from nbtools.core.errors import ToolFailure
from nbtools.core.result import ToolResult
from nbtools.dialects import NBTOOLS, Dialect, Spelling, SpokenParams


class Look(SpokenParams):
    file_path: str
    first: int = 0

    def canonical(self) -> Mapping[str, Any]:
        return {"path": self.file_path, "start": self.first + 1}


OTHER = Dialect("other", (Spelling("Look", "read", Look, lambda result: dataclasses.replace(result, llm_content="said")),))


def test_the_identity_changes_nothing() -> None:
    arguments = {"path": "a"}
    assert NBTOOLS.read("read", arguments) == ("read", arguments)
    result = ToolResult("x", "x")
    assert NBTOOLS.say("read", result) is result


def test_a_spelling_is_read_and_said() -> None:
    assert OTHER.read("Look", {"file_path": "a", "first": 2}) == ("read", {"path": "a", "start": 3})
    assert OTHER.read("read", {"path": "a"}) == ("read", {"path": "a"})
    assert OTHER.say("Look", ToolResult("x", "x")).llm_content == "said"
    with pytest.raises(ToolFailure, match="file_path is required"):
        OTHER.read("Look", {"fiel_path": "a"})
