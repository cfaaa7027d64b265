"""The cards of a log that could not be opened, and of a line that asks for what there is not."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from nbtools.core.errors import NbtoolsError, ToolFailure, TraceError
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Card, TextBlock


def unopened(asked: str, error: TraceError) -> Card:
    """What is wrong with the log ``asked`` for, and what there is beside it of a similar name."""
    path = Path(asked).expanduser()
    status = "Unknown format" if path.exists() else "File not found"
    if str(error).startswith("There is no step"):
        status = "Not there"
    elif path.is_dir():
        status = "Is a folder"
    near = "" if path.exists() else _near(path)
    blocks = (TextBlock(text=seen("\n".join(filter(None, [str(error), near])), keep="\n"), tone="error"),)
    return Card(id="", state="error", tool="trace", icon="fileSearch", subject=one_line(asked, 200), status=status, blocks=blocks)


def refused(line: str, error: NbtoolsError) -> Card:
    """A line that is not understood, or asks for a step that is not there."""
    status = "Not understood" if isinstance(error, ToolFailure) else "Not there"
    blocks = (TextBlock(text=seen(str(error), keep="\n"), tone="error"),)
    return Card(id="", state="error", tool="trace", icon="fileSearch", subject=one_line(line.strip(), 200), status=status, blocks=blocks)


def _near(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return f"There is no folder {path.parent}."
    found = get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(str(path.parent / name) for name in found)}?" if found else ""
