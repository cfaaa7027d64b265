"""Text output of ``nbtools trace``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.notebook.explorer.explorer import open_trace
from nbtools.notebook.explorer.export.static_html import text_lines
from nbtools.notebook.hidden_characters import one_line, seen
from nbtools.traces import load

_MAX_HITS = 1_000
"""Largest number of hits printed."""


def summary_lines(log: str) -> Iterator[str]:
    """Returns the summary and all steps, with the explorer's step numbers."""
    explorer = open_trace(log)
    return text_lines(explorer.summary, explorer.lines)


def matching_steps(log: str, text: str) -> Iterator[str]:
    """Returns a line for each step that contains ``text``.  Raises ``TraceError`` if there is none."""
    explorer = open_trace(log)
    hits = explorer.trace.search(text, _MAX_HITS)
    if not hits:
        raise TraceError(f"No step of {log} contains {text!r}.")
    return (f"{explorer.step_of(hit.row):>6}  {one_line(hit.snippet)}" for hit in hits)


def facts_json(log: str) -> str:
    """Returns ``Trace.facts`` as JSON; control characters are escaped for terminals."""
    text = json.dumps(load(log).facts(), indent=2, ensure_ascii=False)
    return "".join(character if character == "\n" or character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def error_text(error: TraceError) -> str:
    """Returns the text of an error, safe for a terminal."""
    return seen(str(error), keep="\t\n")


def export_notebook(log: str, path: str) -> Path:
    """Exports the log as a notebook and returns its path."""
    return load(log).to_notebook(path)
