"""Toolsets compose; the registry names the nearest."""

from __future__ import annotations

import pytest

from nbtools import ModifiableTool, ToolFailure, ToolRegistry, Toolset, is_tool, tool
from nbtools.testing import temporary_workspace
from nbtools.tools.edit import EditTool
from nbtools.workspace.workspace import Workspace


@tool(kind="read")
def one() -> int:
    """One."""
    return 1


@tool(kind="read")
def two() -> int:
    """Two."""
    return 2


def test_the_algebra_of_toolsets() -> None:
    both = Toolset([one]) | Toolset([two])
    assert list(both) == ["one", "two"]
    assert list(both.only("two")) == ["two"]
    assert list(both.without("two")) == ["one"]
    assert list(both.prefixed("lab_")) == ["lab_one", "lab_two"]
    assert both.prefixed("lab_")["lab_one"].schema["name"] == "lab_one"
    with pytest.raises(KeyError):
        both.only("three")


def test_a_renamed_tool_keeps_its_abilities() -> None:
    with temporary_workspace() as root:
        renamed = Toolset([EditTool(Workspace(root))]).prefixed("my_")["my_edit"]
    assert isinstance(renamed, ModifiableTool)


def test_the_registry_suggests_the_nearest_name_and_refuses_other_objects() -> None:
    registry = ToolRegistry([one, two])
    with pytest.raises(ToolFailure, match="Did you mean two"):
        registry.get("tow")
    with pytest.raises(TypeError, match="not a tool"):
        registry.register(print)  # type: ignore[arg-type]
    registry.unregister("one")
    assert registry.names() == ("two",)
    assert is_tool(one)
    assert not is_tool(print)
