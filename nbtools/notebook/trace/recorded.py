"""A call out of a log as a card: the same wire, the same blocks, the same words as those of a call that runs here."""

from __future__ import annotations

import time
from dataclasses import replace

from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, ToolResultDisplay
from nbtools.notebook.card import changed_lines, exit_status
from nbtools.notebook.command_view import command_block
from nbtools.notebook.displays import blocks_of, diff_blocks, text_block
from nbtools.notebook.trace.outcomes import CHANGES, WORDS, icon_of, inside, took
from nbtools.notebook.visible import one_line, seen
from nbtools.notebook.wire import Block, Card, State
from nbtools.traces.model import Call, Detail

_MARKDOWN = frozenset({"agent", "fetch", "web_search"})
_STATES: dict[str, State] = {"ok": "success", "error": "error"}
"""What is in doubt, refused or cut off is drawn like a cancelled call: grey, and over."""
_SHORT = 100
"""Characters up to which a command stands in the head alone."""


def card_of_recorded(call: Call, detail: Detail, *, cwd: str = "") -> Card:
    """The card of ``call``, open: whoever looks for it wants to see it.  ``cwd`` is the folder of its session, from which paths are seen.

    Its paths lead nowhere: the files were those of another day, perhaps of another machine.
    """
    blocks = (*_asked(call, detail), *_shown(call, detail, cwd))
    return Card(
        id=call.id,
        state="success" if _ran_badly(call, detail) else _STATES.get(call.status, "cancelled"),
        tool=one_line(call.name, 100),
        icon=icon_of(call),
        subject=one_line(inside(detail.command or call.subject, cwd)),
        **(changed_lines(blocks) if call.status == "ok" else {}),
        status=_status(call, detail),
        failed=_ran_badly(call, detail),
        detail=took(call),
        blocks=blocks,
        record=_record(call),
        root="/",
    )


def _code(call: Call, detail: Detail) -> int | None:
    return detail.display.exit_code if isinstance(detail.display, CommandOutput) else call.exit_code


def _ran_badly(call: Call, detail: Detail) -> bool:
    """A command that ended with a code of its own did what it promised: that is bad news, no failure of the tool."""
    return call.op == "shell" and call.status in ("ok", "error") and bool(_code(call, detail))


def _status(call: Call, detail: Detail) -> str:
    if isinstance(detail.display, CommandOutput) and detail.display.status and call.status in ("ok", "error"):
        return detail.display.status
    if _ran_badly(call, detail):
        return exit_status(_code(call, detail))
    return WORDS[call.status]


def _asked(call: Call, detail: Detail) -> tuple[Block, ...]:
    """The command's parts, where the head cannot show it whole."""
    command = detail.command
    return (command_block(command),) if call.op == "shell" and (len(command) > _SHORT or "\n" in command.strip()) else ()


def _shown(call: Call, detail: Detail, cwd: str) -> tuple[Block, ...]:
    display = _seen_from(detail.display, cwd)
    path = inside(call.paths[0], cwd) if len(call.paths) == 1 else ""
    if not isinstance(display, str):
        return blocks_of(display, path)
    wanted = _wanted(call, detail, cwd)
    if call.status == "error":
        return (*((text_block(display, tone="error"),) if display.strip() else ()), *wanted)
    return (*blocks_of(display, markdown=call.op in _MARKDOWN), *wanted)


def _wanted(call: Call, detail: Detail, cwd: str) -> tuple[Block, ...]:
    """The change that it asked for, where the result does not show it."""
    diffs = diff_blocks([_moved(one, cwd) for one in detail.changes]) if call.op in CHANGES else ()
    return (text_block("The change that was asked for:", tone="quiet"), *diffs) if diffs and call.status != "ok" else diffs


def _seen_from(display: ToolResultDisplay, cwd: str) -> ToolResultDisplay:
    match display:
        case FileDiff():
            return _moved(display, cwd)
        case FileDiffs():
            return FileDiffs(tuple(_moved(one, cwd) for one in display.files))
        case _:
            return display


def _moved(diff: FileDiff, cwd: str) -> FileDiff:
    """Many a log has no more of a file than the part that was replaced: where neither side ends a line, none is missed."""
    name = inside(diff.file_name, cwd)
    old, new = diff.original_content, diff.new_content
    if old and new and not old.endswith("\n") and not new.endswith("\n"):
        return replace(diff, file_name=name, original_content=f"{old}\n", new_content=f"{new}\n")
    return replace(diff, file_name=name)


def _record(call: Call) -> str:
    """When it was, in which turn, and what let it run, as far as the log says."""
    at = "" if call.at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(call.at))
    doubt = "outcome read from the wording of its result" if call.status_source == "text" else ""
    gone = "" if call.live else "on a branch that was rewound"
    parts = [f"Recorded {at}".strip(), f"turn {call.turn}" if call.turn else "", call.permission, doubt, gone]
    return seen(" · ".join(filter(None, parts)))
