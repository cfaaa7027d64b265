"""The texts of cards: statuses, outcomes of approvals, failures, times and counts."""

from __future__ import annotations

import time

from nbtools.core.confirmation import ToolConfirmationOutcome
from nbtools.core.errors import ErrorCode

CHECKING = "Checking"
QUEUED = "Queued"
NEEDS_ANSWER = "Needs your answer"
RUNNING = "Running"
DONE = "Done"
ANSWERED = "Answered"
DENIED = "Denied"
SKIPPED = "Skipped"
CANCELLED = "Cancelled"
UNDONE = "Undone"
SUPERSEDED = "Undone since"
RESTORED = "Restored"
MERGED = "Merged"
UNKNOWN_FAILURE = "Failed"
TRACEBACK = "Traceback"

OUTCOMES = {
    ToolConfirmationOutcome.PROCEED_ONCE: "Approved once by {}",
    ToolConfirmationOutcome.PROCEED_ALWAYS: "Approved by {}, and always from now on",
    ToolConfirmationOutcome.PROCEED_ALWAYS_TOOL: "Approved by {}, and always for this tool",
    ToolConfirmationOutcome.PROCEED_ALWAYS_SERVER: "Approved by {}, and always for this server",
    ToolConfirmationOutcome.MODIFY_WITH_EDITOR: "Modified by {}",
    ToolConfirmationOutcome.CANCEL: "Denied by {}",
}
"""What a card records of an answer, by outcome; the placeholder is whoever answered."""
SKIPPED_BY = "Skipped by {}"

TODO_MARKS = {"pending": "☐", "in_progress": "▶", "completed": "☑", "cancelled": "☒", "blocked": "⊘"}
"""The mark before an item of a to-do list, by status."""

FAILED: dict[ErrorCode, str] = {
    ErrorCode.POLICY_VIOLATION: "Not allowed",
    ErrorCode.INVALID_TOOL_PARAMS: "Invalid parameters",
    ErrorCode.UNKNOWN: UNKNOWN_FAILURE,
    ErrorCode.UNHANDLED_EXCEPTION: "The tool crashed",
    ErrorCode.TOOL_NOT_REGISTERED: "No such tool",
    ErrorCode.EXECUTION_FAILED: UNKNOWN_FAILURE,
    ErrorCode.FILE_NOT_FOUND: "File not found",
    ErrorCode.FILE_WRITE_FAILURE: "Could not write",
    ErrorCode.READ_CONTENT_FAILURE: "Could not read",
    ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE: "Already exists",
    ErrorCode.FILE_TOO_LARGE: "File too large",
    ErrorCode.PERMISSION_DENIED: "No permission",
    ErrorCode.NO_SPACE_LEFT: "Disk full",
    ErrorCode.TARGET_IS_DIRECTORY: "Is a folder",
    ErrorCode.PATH_NOT_IN_WORKSPACE: "Outside the workspace",
    ErrorCode.SEARCH_PATH_NOT_FOUND: "Path not found",
    ErrorCode.SEARCH_PATH_NOT_A_DIRECTORY: "Not a folder",
    ErrorCode.EDIT_PREPARATION_FAILURE: "Edit not possible",
    ErrorCode.EDIT_NO_OCCURRENCE_FOUND: "Text not found",
    ErrorCode.EDIT_EXPECTED_OCCURRENCE_MISMATCH: "Text found more than once",
    ErrorCode.EDIT_NO_CHANGE: "Nothing to change",
    ErrorCode.EDIT_NO_CHANGE_LLM_JUDGEMENT: "Nothing to change",
    ErrorCode.GLOB_EXECUTION_ERROR: "Search failed",
    ErrorCode.GREP_EXECUTION_ERROR: "Search failed",
    ErrorCode.LS_EXECUTION_ERROR: "Listing failed",
    ErrorCode.PATH_IS_NOT_A_DIRECTORY: "Not a folder",
    ErrorCode.MCP_TOOL_ERROR: "The server's tool failed",
    ErrorCode.MCP_RESOURCE_NOT_FOUND: "Resource not found",
    ErrorCode.MEMORY_TOOL_EXECUTION_ERROR: "Could not save the memory",
    ErrorCode.READ_MANY_FILES_SEARCH_ERROR: "Search failed",
    ErrorCode.SHELL_EXECUTE_ERROR: "Could not start",
    ErrorCode.SANDBOX_EXPANSION_REQUIRED: "Blocked by the sandbox",
    ErrorCode.DISCOVERED_TOOL_EXECUTION_ERROR: "The tool's command failed",
    ErrorCode.WEB_FETCH_NO_URL_IN_PROMPT: "No URL",
    ErrorCode.WEB_FETCH_FALLBACK_FAILED: "Could not fetch",
    ErrorCode.WEB_FETCH_PROCESSING_ERROR: "Could not fetch",
    ErrorCode.WEB_SEARCH_FAILED: "Search failed",
    ErrorCode.STOP_EXECUTION: "Stopped",
    ErrorCode.CONFIRMATION_REQUIRED: "Approval required",
    ErrorCode.CONFIRMATION_DENIED: DENIED,
    ErrorCode.CANCELLED: CANCELLED,
    ErrorCode.TIMEOUT: "Timed out",
    ErrorCode.CONFLICT: "Changed in the meantime",
}
"""A short status for every error code; the error message beside it has the details."""


def elapsed(seconds: float) -> str:
    """Formats a duration: ``0.03 s``, ``12.4 s``, ``2 min 5 s``, ``1 h 10 min``."""
    seconds = max(0.0, seconds)
    if seconds < 1:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def clock(at: float) -> str:
    """Returns the local time of day, such as ``14:02``."""
    return time.strftime("%H:%M", time.localtime(at))


def size(count: int) -> str:
    """Formats a number of bytes: ``812 B``, ``14.2 kB``, ``3.1 MB``."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} TB"
