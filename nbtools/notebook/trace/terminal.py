"""A log in a terminal: what ``nbtools trace`` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from nbtools.core.errors import TraceError
from nbtools.notebook.trace.opening import open_trace
from nbtools.notebook.trace.static_html import text_lines
from nbtools.notebook.visible import one_line, seen
from nbtools.traces import load

_MOST = 1_000
"""Hits that are printed."""


def told(log: str) -> Iterator[str]:
    """The summary and all steps; a step's number is the one that the explorer shows."""
    explorer = open_trace(log)
    return text_lines(explorer.summary, explorer.lines)


def found(log: str, text: str) -> Iterator[str]:
    """A line for each step in which ``text`` stands.  Raises ``TraceError`` where there is none."""
    explorer = open_trace(log)
    hits = explorer.trace.search(text, _MOST)
    if not hits:
        raise TraceError(f"{text} stands in no step of {log}.")
    return (f"{explorer.step_of(hit.row):>6}  {one_line(hit.snippet)}" for hit in hits)


def counted(log: str) -> str:
    """``Trace.facts`` as JSON, with escapes for what a terminal would obey."""
    text = json.dumps(load(log).facts(), indent=2, ensure_ascii=False)
    return "".join(character if character == "\n" or character.isprintable() else _escaped(character) for character in text)


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def problem(error: TraceError) -> str:
    """Why a log cannot be shown."""
    return seen(str(error), keep="\t\n")


def written(log: str, path: str) -> Path:
    return load(log).to_notebook(path)
