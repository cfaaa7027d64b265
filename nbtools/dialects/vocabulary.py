"""A dialect's words for the references in messages about one call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nbtools.core.message import with_arguments

if TYPE_CHECKING:
    from nbtools.dialects.dialect import Arguments, Dialect, ToolMapping
    from nbtools.dialects.params import DialectParams


@dataclass(frozen=True, slots=True)
class CallVocabulary:
    """The words for a call that was made with ``params`` and converted to canonical ``arguments``."""

    dialect: Dialect
    mapping: ToolMapping
    params: DialectParams
    arguments: Arguments

    def tool(self, name: str) -> str | None:
        if name == self.mapping.tool and not self.mapping.special:
            return self.mapping.name
        current = (mapping for mapping in self.dialect.mappings if mapping.tool == name and not mapping.former and not mapping.special)
        return next((mapping.name for mapping in current), None)

    def called(self) -> str:
        return self.mapping.name

    def parameter(self, steps: tuple[str | int, ...]) -> str | None:
        return self.params.name_of(steps)

    def change(self, arguments: Mapping[str, Any]) -> str | None:
        """Compares this agent's parameters for the call before and after the change."""
        before = self.params.from_canonical(self.arguments)
        after = self.params.from_canonical({**self.arguments, **arguments})
        if before is None or after is None or before == after:
            return None
        removed = dict.fromkeys(name for name in before if name not in after)
        return with_arguments({**{name: value for name, value in after.items() if before.get(name) != value}, **removed})
