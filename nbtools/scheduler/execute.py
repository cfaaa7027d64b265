"""The results of calls that did not end by themselves.

A failure is the caller's to mend, the system's errors are translated, every other exception is reported as a bug.  A cancelled call keeps
the output that it had streamed.
"""

from __future__ import annotations

import traceback

from nbtools.core.ansi import plain
from nbtools.core.errors import ErrorCode, ToolError, ToolFailure, from_os_error
from nbtools.core.result import CommandOutput, Markdown, Matches, Several, ToolResult, ToolResultDisplay, failed

CANCELLED = ToolError(ErrorCode.CANCELLED, "The call was cancelled.")


def as_result(name: str, error: Exception | SystemExit) -> ToolResult:
    """The result of a call that ended in ``error``."""
    if isinstance(error, ToolFailure):
        return failed(error.error, error.data)
    if isinstance(error, OSError) and error.errno is not None:
        return failed(from_os_error(error, error.filename if isinstance(error.filename, str) else name).error)
    return failed(ToolError(ErrorCode.UNHANDLED_EXCEPTION, _bug_report(name, error)))


def text_of(display: ToolResultDisplay) -> str:
    """The output of a running call as a model reads it; empty for a display that has no text of its own."""
    match display:
        case CommandOutput():
            before = f"[… these are the last lines of {display.lines:,}; everything is in {display.full_output}]\n"
            after = f"\n({display.note})" if display.note else ""
            return f"{before if display.full_output else ''}{plain(display.text)}{after}"
        case Matches():
            return "\n".join(f"{one.path}:{one.line}: {one.text}" for one in display.matches)
        case Several():
            return "\n".join(filter(None, map(text_of, display.shown)))
        case Markdown():
            return display.text
        case str():
            return display
        case _:
            return ""


def _bug_report(name: str, bug: BaseException) -> str:
    """Names the line to look at: the caller cannot mend a bug, but the tool's author can."""
    frames = traceback.extract_tb(bug.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{name} has a bug: {type(bug).__name__}: {bug}{place}. The arguments were fine; this is for the tool's author."
