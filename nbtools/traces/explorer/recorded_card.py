"""Displays a recorded call like a live one, as a card; also a log that cannot be opened."""

from __future__ import annotations

import time
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from nbtools.cards.blocks import blocks_of, diff_blocks, text_block
from nbtools.cards.card import changed_lines, exit_status
from nbtools.cards.card_model import Block, Card, State, TextBlock
from nbtools.cards.command_block import command_blocks
from nbtools.cards.hidden_characters import one_line, seen
from nbtools.core.errors import NbtoolsError, ToolFailure, TraceError
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs
from nbtools.traces.explorer.line_style import (
    CHANGE_OPS,
    STATUS_WORDS,
    duration_of,
    icon_of,
    relative_path,
)
from nbtools.traces.model import Call, Detail

_MARKDOWN = frozenset({"agent", "fetch", "web_search"})
_STATES: dict[str, State] = {"ok": "success", "error": "error"}
"""States of cards; every other status is drawn like a cancelled call: grey and finished."""
_SHORT = 100
"""Largest length of a command that is shown in the head only."""


def recorded_card(call: Call, detail: Detail, *, cwd: str = "") -> Card:
    """Returns the card of ``call``, unfolded.
    ``cwd`` is the folder of its session; paths are shown relative to it.

    Paths are not links: the files may have been on another machine.
    """
    command, blocks = detail.command, _result_blocks(call, detail, cwd)
    if call.op == "shell" and (len(command) > _SHORT or "\n" in command.strip()):
        blocks = (*command_blocks(command), *blocks)
    return Card(
        id=call.id,
        state="success" if _exited_nonzero(call, detail) else _STATES.get(call.status, "cancelled"),
        tool=one_line(call.name, 100),
        icon=icon_of(call),
        subject=one_line(relative_path(detail.command or call.subject, cwd)),
        **(changed_lines(blocks) if call.status == "ok" else {}),
        status=_status(call, detail),
        failed=_exited_nonzero(call, detail),
        detail=duration_of(call),
        blocks=blocks,
        record=_record(call),
        root="/",
    )


def _exit_code(call: Call, detail: Detail) -> int | None:
    return detail.display.exit_code if isinstance(detail.display, CommandOutput) else call.exit_code


def _exited_nonzero(call: Call, detail: Detail) -> bool:
    """Returns whether a command exited with an error code; its tool has not failed then."""
    return call.op == "shell" and call.status in ("ok", "error") and bool(_exit_code(call, detail))


def _status(call: Call, detail: Detail) -> str:
    if isinstance(detail.display, CommandOutput) and detail.display.status and call.status in ("ok", "error"):
        return detail.display.status
    if _exited_nonzero(call, detail):
        return exit_status(_exit_code(call, detail))
    return STATUS_WORDS[call.status]


def _result_blocks(call: Call, detail: Detail, cwd: str) -> tuple[Block, ...]:
    display = detail.display
    if isinstance(display, FileDiff):
        display = _relative_diff(display, cwd)
    elif isinstance(display, FileDiffs):
        display = FileDiffs(tuple(_relative_diff(one, cwd) for one in display.files))
    path = relative_path(call.paths[0], cwd) if len(call.paths) == 1 else ""
    if not isinstance(display, str):
        return blocks_of(display, path)
    # The result does not show the change that was requested.
    change: tuple[Block, ...] = ()
    if call.op in CHANGE_OPS:
        change = diff_blocks([_relative_diff(one, cwd) for one in detail.changes])
    if change and call.status != "ok":
        change = (text_block("Requested change:", tone="quiet"), *change)
    if call.status != "error":
        return (*blocks_of(display, markdown=call.op in _MARKDOWN), *change)
    return (text_block(display, tone="error"), *change) if display.strip() else change


def _relative_diff(diff: FileDiff, cwd: str) -> FileDiff:
    """Returns ``diff`` with a relative name, and with final newlines added if neither side has one."""
    name = relative_path(diff.file_name, cwd)
    old, new = diff.original_content, diff.new_content
    # Many logs contain only the part of a file that was replaced, so a missing final newline means nothing.
    if old and new and not old.endswith("\n") and not new.endswith("\n"):
        return replace(diff, file_name=name, original_content=f"{old}\n", new_content=f"{new}\n")
    return replace(diff, file_name=name)


def _record(call: Call) -> str:
    """Returns when the call was made, in which turn, and what allowed it, as far as the log records that."""
    at = "" if call.at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(call.at))
    doubt = "outcome inferred from the text of the result" if call.status_source == "text" else ""
    rewound = "" if call.live else "on a rewound branch"
    parts = [
        f"Recorded {at}".strip(),
        f"turn {call.turn}" if call.turn else "",
        call.permission,
        doubt,
        rewound,
    ]
    return seen(" · ".join(filter(None, parts)))


def open_error_card(log: str, error: TraceError) -> Card:
    """Returns a card that says why ``log`` cannot be opened and which files beside it have a similar name."""
    path = Path(log).expanduser()
    status = "Unknown format" if path.exists() else "File not found"
    if str(error).startswith("Step "):
        status = "Step not found"
    elif path.is_dir():
        status = "Is a folder"
    suggestion = "" if path.exists() else _near(path)
    return _error_card(log, status, "\n".join(filter(None, [str(error), suggestion])))


def line_error_card(line: str, error: NbtoolsError) -> Card:
    """Returns a card for a line that is not understood or names a step that does not exist."""
    status = "Invalid arguments" if isinstance(error, ToolFailure) else "Step not found"
    return _error_card(line.strip(), status, str(error))


def _error_card(subject: str, status: str, text: str) -> Card:
    blocks = (TextBlock(text=seen(text, keep="\n"), tone="error"),)
    subject = one_line(subject, 200)
    return Card(
        id="", state="error", tool="trace", icon="fileSearch", subject=subject, status=status, blocks=blocks
    )


def _near(path: Path) -> str:
    try:
        names = [one.name for one in path.parent.iterdir()]
    except OSError:
        return f"The folder {path.parent} does not exist."
    found = get_close_matches(path.name, names, n=3, cutoff=0.5)
    return f"Did you mean {' or '.join(str(path.parent / name) for name in found)}?" if found else ""
