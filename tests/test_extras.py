"""Extras for MCP servers and for agents:
not loaded before they are used, and named in one line where it is not there.
"""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from IPython.core.inputtransformer2 import TransformerManager
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from nbtools.notebook import doctor
from tests.extras.smoke import CHECKS as EXTRA_CHECKS

ROOT = Path(__file__).parents[1]

EXTRAS = ("mcp", "mcp_types", "httpx2", "keyring", "pydantic_ai", "openai", "uvicorn", "starlette")
HIDDEN = f"import sys\nfor name in {EXTRAS}: sys.modules[name] = None\n"
USE = """
import asyncio
from nbtools import Agent, NbtoolsError, Session
from nbtools.core.language_model import TextRequest, Turn
from nbtools.mcp.config.entries import parse_server

async def said(of):
    try:
        print(await of)
    except NbtoolsError as error:
        print(error)

async def main():
    async with Session(".") as session:
        session.mcp.add([parse_server("a", {"command": "true"}, {}), parse_server("b", {"url": "http://127.0.0.1:1/mcp"}, {})])
        await session.mcp.connect()
        for connection in session.mcp.connections.values():
            print(connection.problem)
        await said(session.mcp.login("b", print))
        await said(Agent(session, "openai:gpt-5").run("hello"))

asyncio.run(main())
"""
MCP = 'MCP support is not installed. Run pip install "nbtools-agent[mcp]", then restart the kernel'


def run(code: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "NBTOOLS_STATE": str(folder / "state"), "NBTOOLS_CONFIG": str(folder / "config")}
    argv = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        argv, cwd=folder, env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )


def test_nothing_of_them_is_loaded_with_nbtools(tmp_path: Path) -> None:
    code = f"""
import sys, nbtools, nbtools.cli
from nbtools.mcp.config.entries import parse_server
session = nbtools.Session(".")
session.mcp.add([parse_server("a", {{"url": "http://127.0.0.1:1/mcp"}}, {{}})])
nbtools.Agent, nbtools.model_named("openai:gpt-5")
print([name for name in {EXTRAS} if name in sys.modules])
"""
    assert run(code, tmp_path).stdout.strip() == "[]"


def test_a_missing_extra_is_named_in_one_line(tmp_path: Path) -> None:
    done = run(HIDDEN + USE, tmp_path)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        MCP,
        MCP,
        f"{MCP}.",
        'Models need pydantic-ai: pip install "nbtools-agent[agents]".',
    ]


def test_serving_says_it_too(tmp_path: Path) -> None:
    done = run(f"{HIDDEN}from nbtools.cli import main\nsys.exit(main(['mcp']))", tmp_path)
    assert done.returncode == 1
    assert done.stderr.strip() == 'The MCP SDK is not installed: pip install "nbtools-agent[mcp]"'


def test_without_keyring_a_login_is_stored_in_a_file(tmp_path: Path) -> None:
    code = "import sys; sys.modules['keyring'] = None\nfrom nbtools.mcp.auth.token_store import LoginStore\n"
    done = run(
        code + "a = LoginStore('a', 'b'); print(a.write('x'), a.read(), a.delete(), a.read())", tmp_path
    )
    assert "which only you can read" in done.stdout
    assert done.stdout.strip().endswith("x None None")


def test_the_doctor_lists_the_installed_extras(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {finding.name: finding for finding in doctor.findings()}
    assert (
        found["MCP servers"].detail
        == f"installed: mcp {importlib.metadata.version('mcp')}, keyring {importlib.metadata.version('keyring')}"
    )
    assert found["agents"].ok
    versions = {"mcp": "1.30.0"}

    def version(name: str) -> str:
        if name not in versions:
            raise importlib.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = {finding.name: finding for finding in doctor.findings()}
    assert (found["agents"].ok, found["agents"].detail) == (
        True,
        'not installed: pip install "nbtools-agent[agents]"',
    )
    assert (found["MCP servers"].ok, found["MCP servers"].detail) == (
        False,
        "mcp: 1.30.0 is older than 2.3; needed for MCP servers",
    )


def test_the_doctor_runs_a_query(tmp_path: Path) -> None:
    show = "from nbtools.notebook import doctor\nprint([(f.ok, f.detail, f.remedy) for f in doctor.findings() if f.name.startswith('SQL')])"
    [(ok, detail, _)] = ast.literal_eval(run(show, tmp_path).stdout)
    assert (ok, detail) == (True, f"a query runs with duckdb {importlib.metadata.version('duckdb')}")
    [(ok, detail, remedy)] = ast.literal_eval(
        run(f"import sys\nsys.modules['numpy'] = None\n{show}", tmp_path).stdout
    )
    assert not ok
    assert "numpy" in detail
    assert "nbtools-agent[traces]" in remedy


def test_a_wrapper_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['cachetools'] = None"
    code = f"{hidden}\nfrom nbtools.wrappers import sequence, logged\nfrom nbtools.wrappers import cached"
    done = run(code, tmp_path)
    assert (
        done.stderr.splitlines()[-1]
        == 'ModuleNotFoundError: cached needs cachetools: pip install "nbtools-agent[wrappers]"'
    )


def test_pages_of_a_document_name_the_extra_that_they_need(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n" + b"x" * 100)
    code = "import sys; sys.modules['pypdf'] = None\nfrom nbtools import Session\nwith Session('.').sync() as session:\n"
    done = run(code + "    print(session.call('read', {'path': 'a.pdf'}).error.message)", tmp_path)
    assert 'pip install "nbtools-agent[documents]"' in done.stdout, done.stderr


def test_running_cells_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    code = "import asyncio, sys; sys.modules['nbclient'] = None\nfrom pathlib import Path\nfrom nbtools.core.errors import ToolFailure\n"
    code += "from nbtools.workspace.notebooks.kernels import _start\n"
    code += "try:\n    asyncio.run(_start(Path('a.ipynb'), ''))\nexcept ToolFailure as failure:\n    print(failure.message)"
    assert 'pip install "nbtools-agent[notebooks]"' in run(code, tmp_path).stdout


OWN_LIBRARIES = {"agents", "anthropic", "google", "langchain_core", "pandas", "polars"}
"""Libraries that a person brings: nbtools imports them only where the person uses them,
or names the command that installs them.
"""


@functools.cache
def distributions() -> Mapping[str, list[str]]:
    """The distributions that have each package."""
    return importlib.metadata.packages_distributions()


@functools.cache
def required(extras: frozenset[str]) -> set[str]:
    """The distributions that installing nbtools with these extras brings,
    by pyproject.toml and their own metadata.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    waiting = list(map(Requirement, project["dependencies"]))
    waiting += [Requirement(line) for extra in extras for line in project["optional-dependencies"][extra]]
    found: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        for extra in (*requirement.extras, ""):
            name = canonicalize_name(requirement.name)
            if (name, extra) in found:
                continue
            found.add((name, extra))
            if name == "nbtools-agent":
                waiting += map(Requirement, project["optional-dependencies"].get(extra, ()))
                continue
            try:
                lines = importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:
                continue  # for another platform
            parsed = map(Requirement, lines)
            waiting += [
                line for line in parsed if line.marker is None or line.marker.evaluate({"extra": extra})
            ]
    return {name for name, _ in found}


def imported(path: Path) -> Iterator[str]:
    """The packages that a module imports, inside functions and by ``import_library`` too."""
    return imported_in(path.read_text(encoding="utf-8"))


def imported_in(code: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"import_library", "import_module"}
        ):
            yield from (name.value for name in node.args if isinstance(name, ast.Constant))


def test_every_imported_package_is_required_by_nbtools_or_an_extra() -> None:
    installed = required(frozenset(EXTRA_CHECKS) - {"bare"})
    missing: dict[str, str] = {}
    for path in sorted((ROOT / "nbtools").rglob("*.py")):
        for package in (
            {name.partition(".")[0] for name in imported(path)}
            - {*sys.stdlib_module_names, "nbtools"}
            - OWN_LIBRARIES
        ):
            if not {canonicalize_name(name) for name in distributions().get(package, ())} & installed:
                missing[package] = path.name
    assert missing == {}


LAB = re.search(
    r"environment\.py \$\(VENV\) (\S*tutorials\S*)", (ROOT / "Makefile").read_text(encoding="utf-8")
)
NOTEBOOKS = sorted(
    path for path in (ROOT / "notebooks").rglob("*.ipynb") if ".ipynb_checkpoints" not in path.parts
)


def code_of(path: Path) -> list[str]:
    """The code of each cell as Python."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [
        TransformerManager().transform_cell("".join(cell["source"]))
        for cell in cells
        if cell["cell_type"] == "code"
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_imports_of_the_notebooks_are_in_the_environment_of_make_lab(path: Path) -> None:
    assert LAB is not None
    installed, cells = required(frozenset(LAB[1].split(","))), code_of(path)
    names = {name.partition(".")[0] for code in cells for name in imported_in(code)}
    names |= set(re.findall(r"\.to_(pandas|polars)\(", "\n".join(cells)))
    own = {
        "nbtools",
        "tests",
        *sys.stdlib_module_names,
        *(module.stem for module in path.parent.rglob("*.py")),
    }
    brought = {
        name
        for name in names
        if {canonicalize_name(one) for one in distributions().get(name, ())} & installed
    }
    assert names - own - brought == set()


def test_every_extra_for_users_has_a_smoke_test() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"bare", *project["optional-dependencies"]} - {"build", "docs", "lite", "test"} == {*EXTRA_CHECKS}
