"""Tools that read, edit and run commands, for tests of decisions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nbtools.core.declarative import BaseDeclarativeTool
from nbtools.core.tool import Asks, BaseToolInvocation, CommandTarget, Kind, PathTarget, Target

SCHEMA = {"type": "object"}


class Aimed(BaseToolInvocation[Mapping[str, Any]]):
    def target(self) -> Target:
        command = self.params.get("command")
        return CommandTarget(command) if command else PathTarget(tuple(self.params.get("paths", ())))


class AnyTool(BaseDeclarativeTool[Mapping[str, Any]]):
    description = "does as its kind says"
    parameters = SCHEMA

    def __init__(self, name: str, kind: Kind, asks: Asks = None) -> None:
        self.name, self.kind, self.asks = name, kind, asks

    def create_invocation(self, params: Mapping[str, Any]) -> Aimed:
        return Aimed(params)


SHELL, EDIT, GREP = AnyTool("shell", Kind.EXECUTE), AnyTool("edit", Kind.EDIT), AnyTool("grep", Kind.SEARCH)
