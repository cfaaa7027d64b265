"""A real package with entry points is installed and its tools are found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtools import BaseDeclarativeTool, BaseToolInvocation, Session, Settings, Toolset, tool
from nbtools.core.tool_names import CANONICAL_NAMES
from nbtools.plugins import entry_points
from nbtools.workspace.workspace import Workspace

EXAMPLE = Path(__file__).parent.parent / "example_package"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder where pip installed the example package:
    without network, and without files left in the tree.
    """
    target, source = tmp_path_factory.mktemp("target"), tmp_path_factory.mktemp("source") / "example"
    (source / "nbtools_example").mkdir(parents=True)
    for name in ("pyproject.toml", "nbtools_example/__init__.py"):
        (source / name).write_text((EXAMPLE / name).read_text())
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "--target",
        str(target),
    ]
    subprocess.run([*pip, str(source)], check=True, capture_output=True, text=True, timeout=100)
    return target


def run(installed: Path, code: str) -> str:
    """Another Python that has the package: this one stays as it is."""
    import os

    env = {**os.environ, "PYTHONPATH": f"{installed}:{Path(entry_points.__file__).parents[2]}"}
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout + done.stderr


def test_the_tools_of_an_installed_package_are_there_and_run(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    code = f"""
from nbtools import Session, Settings
with Session({str(tmp_path)!r}, settings=Settings(plugins=True)).sync() as session:
    print(sorted(set(session.tools.names()) & {{"shout", "reverse", "count", "some_grep"}}))
    print(session.call("shout", {{"text": "hello"}}).data, session.call("count").data)
    print(session.tools["grep"].kind, "pattern" in session.tools["grep"].schema["parameters"]["properties"])
"""
    told = run(installed, code)
    assert "['count', 'reverse', 'shout', 'some_grep']" in told
    assert "HELLO! 1" in told
    assert "search True" in told
    assert (
        "The tool grep of nbtools-example (entry point some = nbtools_example:TOOLS) is registered as some_grep"
        in told
    )
    assert (
        "The tools of nbtools-example (entry point broken = nbtools_example:missing) are not available: loading them failed"
        in told
    )


def test_a_session_that_does_not_ask_for_them_has_none(installed: Path, tmp_path: Path) -> None:
    code = f"import sys; from nbtools import Session; Session({str(tmp_path)!r}); print('nbtools_example' in sys.modules)"
    assert run(installed, code).strip() == "False"


@tool(kind="read")
def one() -> int:
    """One."""
    return 1


class Made(BaseDeclarativeTool[Any]):
    name = "made"
    description = "Made of a class."
    parameters = {"type": "object"}

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def create_invocation(self, params: Any) -> Any:
        return BaseToolInvocation(params)


class Plain(Made):
    name = "plain"

    def __init__(self) -> None:
        pass


def crash(_: Workspace) -> Any:
    raise SystemExit(3)


VALUES = {
    "a tool": (one, ["one"]),
    "a list": ([one], ["one"]),
    "a toolset": (Toolset([one]), ["one"]),
    "a class": (Made, ["made"]),
    "a class without parameters": (Plain, ["plain"]),
    "a function of the workspace": (lambda workspace: [Made(workspace), one], ["made", "one"]),
    "a function of nothing": (lambda: one, ["one"]),
    "a generator": (lambda: (each for each in [one]), ["one"]),
    "a number": (3, []),
    "a list with a number": ([one, 3], []),
    "one that exits": (crash, []),
}


def found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, values: dict[str, Any], taken: Any = ()
) -> entry_points.Plugins:
    """Installs a package whose entry points lead to these values."""
    module = type(sys)("example_values")
    lines = ["[nbtools.tools]"]
    for number, (name, value) in enumerate(values.items()):
        setattr(module, f"v{number}", value)
        lines.append(f"{name} = example_values:v{number}")
    info = tmp_path / "example_values-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example-values\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("\n".join(lines))
    monkeypatch.setitem(sys.modules, "example_values", module)
    monkeypatch.syspath_prepend(str(tmp_path))
    return entry_points.plugin_tools(Workspace(tmp_path), taken)


@pytest.mark.parametrize(("value", "names"), VALUES.values(), ids=VALUES)
def test_an_entry_point_leads_to_a_tool_a_toolset_or_a_function(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, value: Any, names: list[str]
) -> None:
    plugs = found(monkeypatch, tmp_path, {"x": value})
    assert [tool.name for tool in plugs.tools] == names
    assert len(plugs.problems) == (0 if names else 1)


def test_no_package_takes_a_name_that_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plugs = found(monkeypatch, tmp_path, {"a": one, "b": one, "c": one}, {"one", "a_one", *CANONICAL_NAMES})
    assert [tool.name for tool in plugs.tools] == ["b_one", "c_one"]
    assert "is not available: its name is taken, and so is a_one" in plugs.problems[0]
    assert "is registered as b_one" in plugs.problems[1]


def test_problems_are_warnings_and_the_session_works(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found(monkeypatch, tmp_path, {"bad": 3, "good": one})
    with pytest.warns(UserWarning, match="is neither a tool nor an iterable of tools") as told:
        session = Session(tmp_path, settings=Settings(plugins=True))
    assert told[0].filename == __file__
    assert "one" in session.tools
