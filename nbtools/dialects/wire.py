"""Calls and results as exchanged between a model and its agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbtools.core.result import LlmContent


@dataclass(frozen=True, slots=True)
class WireCall:
    """A model's call, in the agent's names and parameters; ``id`` is empty where the format has none."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class WireResult:
    """A result for a model.  ``data`` is what the agent records beside it for programs, or None."""

    id: str
    content: LlmContent
    is_error: bool = False
    data: Any = None
