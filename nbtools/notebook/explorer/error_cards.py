"""Error cards for a log that cannot be opened and for an invalid ``%trace`` line."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path

from nbtools.core.errors import NbtoolsError, ToolFailure, TraceError
from nbtools.notebook.cards.model import Card, TextBlock
from nbtools.notebook.hidden_characters import one_line, seen


def open_error_card(log: str, error: TraceError) -> Card:
    """Returns a card that says why ``log`` cannot be opened and which files beside it have a similar name."""
    path = Path(log).expanduser()
    status = "Unknown format" if path.exists() else "File not found"
    if str(error).startswith("Step "):
        status = "Step not found"
    elif path.is_dir():
        status = "Is a folder"
    suggestion = "" if path.exists() else _near(path)
    blocks = (TextBlock(text=seen("\n".join(filter(None, [str(error), suggestion])), keep="\n"), tone="error"),)
    return Card(id="", state="error", tool="trace", icon="fileSearch", subject=one_line(log, 200), status=status, blocks=blocks)


def line_error_card(line: str, error: NbtoolsError) -> Card:
    """Returns a card for a line that is not understood or names a step that does not exist."""
    status = "Invalid arguments" if isinstance(error, ToolFailure) else "Step not found"
    blocks = (TextBlock(text=seen(str(error), keep="\n"), tone="error"),)
    return Card(id="", state="error", tool="trace", icon="fileSearch", subject=one_line(line.strip(), 200), status=status, blocks=blocks)


def _near(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return f"The folder {path.parent} does not exist."
    found = get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(str(path.parent / name) for name in found)}?" if found else ""
