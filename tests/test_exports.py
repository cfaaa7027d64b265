"""The façade is a list, and importing it does nothing."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import nbtools
import nbtools.shell
import nbtools.traces

FRAMEWORK = """ToolBuilder ToolInvocation BaseToolInvocation DeclarativeTool BaseDeclarativeTool ToolResult ToolResultDisplay FileDiff
DiffStat ToolCallConfirmationDetails ToolEditConfirmationDetails ToolExecuteConfirmationDetails ToolMcpConfirmationDetails
ToolInfoConfirmationDetails ToolConfirmationOutcome ToolConfirmationPayload ToolLocation Kind Icon has_cycle_in_schema is_tool
AnyToolInvocation AnyDeclarativeTool ModifiableTool Toolset ToolRegistry ToolScheduler convert_to_function_response"""


def test_every_name_loads_and_the_list_is_sorted() -> None:
    assert nbtools.__all__ == sorted(nbtools.__all__)
    for name in nbtools.__all__:
        assert getattr(nbtools, name) is not None
    assert set(FRAMEWORK.split()) <= set(nbtools.__all__)
    assert {"Session", "Policy", "tool"} <= set(nbtools.__all__)


def test_completion_offers_what_people_need_of_traces() -> None:
    offered = {name for name in dir(nbtools.traces) if not name.startswith("_")}
    assert offered == set(nbtools.traces.__all__)
    assert {"load", "sessions", "compare", "review", "Corpus"} <= offered


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(Path(nbtools.__file__).read_text())
    guard = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.asname for node in guard.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == set(nbtools.__all__)


def test_public_modules_need_no_import_of_their_own() -> None:
    names = ["hooks", "replay", "shell", "testing", "traces", "wrappers"]
    code = f"import nbtools; print([getattr(nbtools, name).__name__ for name in {names}])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == str([f"nbtools.{name}" for name in names])
    assert set(names) <= set(dir(nbtools))


def test_no_module_has_the_name_of_something_else_that_its_package_exports() -> None:
    """Importing a module sets the attribute of its package, which would then be the module."""
    for package in (nbtools, nbtools.traces):
        modules = {
            path.stem
            for path in Path(package.__path__[0]).iterdir()
            if path.suffix == ".py" or (path / "__init__.py").exists()
        }
        # review.py is the earlier name of reviews, and replaces itself by the function
        assert modules.isdisjoint({*package.__all__} - {"review"}), package.__name__


def test_importing_does_nothing() -> None:
    code = "import sys; before = set(sys.modules); import nbtools; new = {name.split('.')[0] for name in set(sys.modules) - before}"
    code += "; print(sorted(new - sys.stdlib_module_names))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "['nbtools']"
    assert printed.stderr == ""


def test_sessions_do_not_load_ipython() -> None:
    code = "import sys; from nbtools import Session; Session('.'); print([n for n in ('IPython', 'ipywidgets', 'mcp') if n in sys.modules])"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_traces_say_what_they_have() -> None:
    assert sorted(nbtools.traces.__all__) == nbtools.traces.__all__
    for name in nbtools.traces.__all__:
        assert callable(getattr(nbtools.traces, name))
    assert nbtools.traces.compare.__name__ == "compare"


def test_reading_logs_loads_neither_the_recorder_nor_libraries_for_tables() -> None:
    heavy = ("nbtools.traces.recording.recorder", "pyarrow", "duckdb", "distributed", "IPython")
    code = f"import sys, nbtools.traces; print([name for name in {heavy} if name in sys.modules]); nbtools.traces.Recorder"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert printed.stdout.strip() == "[]"


def test_parse_shell_stays_importable_from_its_earlier_place():
    former = importlib.import_module("nbtools.core.shell_syntax")
    assert former.parse_shell is nbtools.shell.parse_shell
