"""Text output of ``nbtools trace``."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.traces import load
from nbtools.traces.explorer.explorer import Explorer, open_trace
from nbtools.traces.explorer.export.static_html import line_text, text_lines
from nbtools.traces.explorer.line_changes import line_moves
from nbtools.traces.explorer.timeline import Timeline
from nbtools.traces.export.formats import ExportOptions, default_name, export_format, write_export
from nbtools.traces.export.removal import patterns_in
from nbtools.traces.following.follow import open_begun_log
from nbtools.traces.model import Call
from nbtools.traces.sharing.page import find_secrets, options_of, write_html
from nbtools.traces.trace import Trace

_LAST_STEPS = 10
"""Steps that were written before and are printed all the same."""
_INTERVAL, _MAX_INTERVAL = 0.2, 0.5
"""Seconds between two looks at a log: after a change, and when nothing happens."""
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


def followed_steps(log: str, is_wanted: Callable[[], bool]) -> Iterator[str]:
    """Yields the summary with the last steps, then each step once it is written,
    and again once its call has ended.

    Ends when ``is_wanted`` returns False.
    """
    explorer = _opened(log, is_wanted)
    if explorer is None:
        return
    yield from text_lines(explorer.summary, explorer.lines[-_LAST_STEPS:])
    interval = _INTERVAL
    while is_wanted():
        time.sleep(interval)
        before = explorer.lines
        interval = _INTERVAL if explorer.update() else min(interval * 1.2, _MAX_INTERVAL)
        if explorer.lines is not before:
            yield from _new_steps(before, explorer.lines)


def _opened(log: str, is_wanted: Callable[[], bool]) -> Explorer | None:
    """Returns the explorer; waits for the first line of a log that has only begun."""
    while True:
        opened = open_begun_log(Path(log).expanduser())
        if opened is not None:
            return Explorer(Trace([opened]), log=log)
        if not is_wanted():
            return None
        time.sleep(_MAX_INTERVAL)


def _new_steps(before: Timeline, after: Timeline) -> Iterator[str]:
    moves, changed = line_moves(before.rows, after.rows)
    known = {line for move in moves for line in range(move.to, move.to + move.count)}
    ended = {line for line in changed if isinstance(after.rows[line], Call)}
    width = max((len(number) for number in after.numbers), default=1)
    yield from (
        line_text(after[line], width) for line in range(len(after)) if line not in known or line in ended
    )


def facts_json(log: str) -> str:
    """Returns ``Trace.facts`` as JSON; control characters are escaped for terminals."""
    text = json.dumps(load(log).facts(), indent=2, ensure_ascii=False)
    return "".join(
        character if character == "\n" or character.isprintable() else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def error_text(error: Exception) -> str:
    """Returns the text of an error, safe for a terminal and without the name of the magic."""
    return seen(str(error).removeprefix("%trace: "), keep="\t\n")


def exported(log: str, name: str, target: str = "", *more: str, patterns: str) -> tuple[Path, list[str]]:
    """Exports the log in the format ``name``, or as an HTML file to share.  Returns its path, and lines that
    say what was removed, and of a format what is lost.

    ``patterns`` is a file with a regular expression in each line; empty lines and those that begin with ``#``
    are ignored.  Raises ``TraceError``.
    """
    if more:
        raise TraceError(f"--export takes a format and a file; {more[0]!r} is one name too many.")
    redact = patterns_in(patterns)
    about = "" if name == "html" else export_format(name).about
    trace = load(log)
    if name == "html":
        written, secrets = write_html(trace, target or f"{Path(log).stem}.html", options_of(redact))
    else:
        secrets = find_secrets(trace, redact=redact)
        written = write_export(trace, name, target or default_name(trace, name), ExportOptions(redact))
    removed = [f"removed: {one.kind}, {one.shown}, in {counted(one.count, 'step')}" for one in secrets]
    return written, [*map(seen, removed), *filter(None, [about])]
