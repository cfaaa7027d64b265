"""Reads ``deviations.toml`` of a dialect: what it leaves out or does differently than the agent."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from nbtools.core.errors import ToolError
from nbtools.dialects.dialect_model import UnsupportedTool


class Deviations(NamedTuple):
    """``reasons``: why a tool of the agent has no counterpart in nbtools, by its name."""

    differences: tuple[str, ...]
    reasons: Mapping[str, str]

    @property
    def unsupported(self) -> tuple[UnsupportedTool, ...]:
        return tuple(UnsupportedTool(name, reason) for name, reason in self.reasons.items())

    def reason(self, name: str, error: ToolError) -> str:
        """Returns why a call of the tool ``name`` failed with ``error``."""
        return self.reasons.get(name, error.message)


@cache
def deviations(dialect: str) -> Deviations:
    data = tomllib.loads((Path(__file__).parent / dialect / "deviations.toml").read_text(encoding="utf-8"))
    groups = data.get("unsupported", ())
    return Deviations(
        tuple(data["differences"]), {name: group["reason"] for group in groups for name in group["tools"]}
    )
