"""The exceptions of nbtools, error codes, and the translation of ``OSError``.

::

    NbtoolsError               base of everything that nbtools raises on purpose
     ├─ ToolFailure            a call failed and the caller can fix it; raised in a tool, it becomes a result
     ├─ PolicyError            a rule or mode is invalid
     ├─ SessionError           a session was created or used wrongly (closed, unknown dialect)
     ├─ TraceError             a log is missing, in no known format, or has changed since it was read
     └─ AgentError             a model cannot be used: no key, unknown model, not reachable, refused
         └─ RunError           a run failed, and its cell already displays the reason

Every other exception raised by a tool was not foreseen by it:
it is reported with the line that raised (``unhandled_exception``).
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class ErrorCode(StrEnum):
    """The closed set of reasons for a failed call.
    The values are those of Gemini CLI, except the last five.
    """

    POLICY_VIOLATION = "policy_violation"
    INVALID_TOOL_PARAMS = "invalid_tool_params"
    UNKNOWN = "unknown"
    UNHANDLED_EXCEPTION = "unhandled_exception"
    TOOL_NOT_REGISTERED = "tool_not_registered"
    EXECUTION_FAILED = "execution_failed"
    FILE_NOT_FOUND = "file_not_found"
    FILE_WRITE_FAILURE = "file_write_failure"
    READ_CONTENT_FAILURE = "read_content_failure"
    ATTEMPT_TO_CREATE_EXISTING_FILE = "attempt_to_create_existing_file"
    FILE_TOO_LARGE = "file_too_large"
    PERMISSION_DENIED = "permission_denied"
    NO_SPACE_LEFT = "no_space_left"
    TARGET_IS_DIRECTORY = "target_is_directory"
    PATH_NOT_IN_WORKSPACE = "path_not_in_workspace"
    SEARCH_PATH_NOT_FOUND = "search_path_not_found"
    SEARCH_PATH_NOT_A_DIRECTORY = "search_path_not_a_directory"
    EDIT_PREPARATION_FAILURE = "edit_preparation_failure"
    EDIT_NO_OCCURRENCE_FOUND = "edit_no_occurrence_found"
    EDIT_EXPECTED_OCCURRENCE_MISMATCH = "edit_expected_occurrence_mismatch"
    EDIT_NO_CHANGE = "edit_no_change"
    EDIT_NO_CHANGE_LLM_JUDGEMENT = "edit_no_change_llm_judgement"
    GLOB_EXECUTION_ERROR = "glob_execution_error"
    GREP_EXECUTION_ERROR = "grep_execution_error"
    LS_EXECUTION_ERROR = "ls_execution_error"
    PATH_IS_NOT_A_DIRECTORY = "path_is_not_a_directory"
    MCP_TOOL_ERROR = "mcp_tool_error"
    MCP_RESOURCE_NOT_FOUND = "mcp_resource_not_found"
    MEMORY_TOOL_EXECUTION_ERROR = "memory_tool_execution_error"
    READ_MANY_FILES_SEARCH_ERROR = "read_many_files_search_error"
    SHELL_EXECUTE_ERROR = "shell_execute_error"
    SANDBOX_EXPANSION_REQUIRED = "sandbox_expansion_required"
    DISCOVERED_TOOL_EXECUTION_ERROR = "discovered_tool_execution_error"
    WEB_FETCH_NO_URL_IN_PROMPT = "web_fetch_no_url_in_prompt"
    WEB_FETCH_FALLBACK_FAILED = "web_fetch_fallback_failed"
    WEB_FETCH_PROCESSING_ERROR = "web_fetch_processing_error"
    WEB_SEARCH_FAILED = "web_search_failed"
    STOP_EXECUTION = "stop_execution"
    CONFIRMATION_REQUIRED = "confirmation_required"
    CONFIRMATION_DENIED = "confirmation_denied"
    CANCELLED = "cancelled"
    TIMEOUT = "timeout"
    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class ToolError:
    """Why a call failed: a code for programs and a message that says what to do next."""

    code: ErrorCode
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, slots=True)
class Binary:
    """The data of a failure on a binary file: ``what`` it contains, and its ``size`` in bytes."""

    what: str
    size: int


@dataclass(frozen=True, slots=True)
class Raised:
    """The data of a call whose tool raised an exception:
    its ``traceback``, as Python prints it, from the tool's own code on.
    """

    traceback: str


class NbtoolsError(Exception):
    """Base class of everything that nbtools raises on purpose."""


class ToolFailure(NbtoolsError):  # noqa: N818 - the name that the public API gives it
    """A call failed and the caller can fix it.
    ``tools.…`` raises it, a magic shows it, ``Session.call`` returns it as a result.

    ``data`` has details for programs and dialects; it becomes the data of the result.
    """

    def __init__(self, code: ErrorCode, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    @property
    def error(self) -> ToolError:
        """The failure as a value."""
        return ToolError(self.code, self.message)


class PolicyError(NbtoolsError):
    """A rule or a mode is invalid; the message names the part and shows a valid one."""


class SessionError(NbtoolsError):
    """A session was created or used wrongly."""


class AgentError(NbtoolsError):
    """A model cannot be used; the message says in one line why, and what to do."""


class RunError(AgentError):
    """A run that failed; its cell already displays the reason."""


class TraceError(NbtoolsError):
    """A log is missing, in no known format, or has changed since it was read.
    Errors inside a log are rows of type ``Problem``.
    """


def cell_name(filename: str) -> str:
    """Returns ``cell 5`` for the file name under which IPython compiled the cell ``In [5]``;
    empty for any other file.
    """
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    named = None if shell is None else shell.compile.format_code_name(filename)
    return (
        f"cell {named[1].removeprefix('In[').rstrip(']')}"
        if named is not None and named[1].startswith("In[")
        else ""
    )


def exception_text(error: BaseException) -> str:
    """Returns the type, the message and the line that raised: ``KeyError: 'x' (/work/tools.py:12)``.

    The line of a cell's code that led there is named as well:
    ``(cell 5, line 3; /usr/lib/json/decoder.py:355)``.
    """
    frames = traceback.extract_tb(error.__traceback__)
    cells = [f"{name}, line {frame.lineno}" for frame in frames if (name := cell_name(frame.filename))]
    last = [f"{frame.filename}:{frame.lineno}" for frame in frames[-1:] if not cell_name(frame.filename)]
    place = "; ".join((*cells[-1:], *last))
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - the exception is somebody else's class
        text = "its text cannot be shown"
    return f"{type(error).__name__}: {text}{f' ({place})' if place else ''}"


_LIBRARY = Path(traceback.__file__).parent
_CALLERS = tuple(
    f"{folder}{os.sep}"
    for folder in (Path(__file__).parents[1], _LIBRARY / "asyncio", _LIBRARY / "concurrent")
)
"""Folders of the code that calls a tool, in a thread where it is not asynchronous."""


def traceback_text(error: BaseException) -> str:
    """Returns the traceback of an exception and of those that caused it, from the tool's code on.

    Files of cells are named as in ``exception_text``: ``File "cell 5", line 3``.
    """
    whole = traceback.TracebackException.from_exception(error)
    causes: list[traceback.TracebackException | None] = [whole]
    while causes:
        one = causes.pop()
        if one is not None:
            one.stack = traceback.StackSummary.from_list(map(_named_by_cell, _from_tool_on(one.stack)))
            causes += [one.__cause__, one.__context__]
    return "".join(whole.format())


def _from_tool_on(frames: Sequence[traceback.FrameSummary]) -> Sequence[traceback.FrameSummary]:
    """Leaves out the frames that lead to the tool; all stay where there are no others."""
    first = next((index for index, frame in enumerate(frames) if not frame.filename.startswith(_CALLERS)), 0)
    return frames[first:]


def _named_by_cell(frame: traceback.FrameSummary) -> traceback.FrameSummary:
    name = cell_name(frame.filename)
    return traceback.FrameSummary(name, frame.lineno, frame.name, line=frame.line) if name else frame


_BY_ERRNO: dict[int, tuple[ErrorCode, str]] = {
    errno.ENOENT: (ErrorCode.FILE_NOT_FOUND, "there is no such file or folder"),
    errno.EACCES: (
        ErrorCode.PERMISSION_DENIED,
        "permission denied; check the owner and mode of the file and its folder",
    ),
    errno.EPERM: (ErrorCode.PERMISSION_DENIED, "the operation is not permitted here"),
    errno.EROFS: (ErrorCode.PERMISSION_DENIED, "the file system is read-only"),
    errno.ENOSPC: (ErrorCode.NO_SPACE_LEFT, "no space is left on the disk; free some and call again"),
    errno.EDQUOT: (ErrorCode.NO_SPACE_LEFT, "the disk quota is used up; free some space and call again"),
    errno.EISDIR: (ErrorCode.TARGET_IS_DIRECTORY, "it is a folder, not a file"),
    errno.ENOTDIR: (ErrorCode.PATH_IS_NOT_A_DIRECTORY, "a part of the path is a file, not a folder"),
    errno.ELOOP: (ErrorCode.PATH_NOT_IN_WORKSPACE, "its symbolic links form a loop"),
    errno.ENAMETOOLONG: (ErrorCode.INVALID_TOOL_PARAMS, "the name is too long for this file system"),
    errno.EFBIG: (ErrorCode.FILE_TOO_LARGE, "the file is too large for this file system"),
    errno.EMFILE: (ErrorCode.EXECUTION_FAILED, "too many files are open in this process"),
    errno.ENFILE: (ErrorCode.EXECUTION_FAILED, "too many files are open on this machine"),
    errno.ETXTBSY: (ErrorCode.FILE_WRITE_FAILURE, "the file is a program that is running"),
    errno.EEXIST: (ErrorCode.ATTEMPT_TO_CREATE_EXISTING_FILE, "it exists already"),
    errno.ENOTEMPTY: (ErrorCode.EXECUTION_FAILED, "the folder is not empty"),
    errno.ENXIO: (ErrorCode.READ_CONTENT_FAILURE, "it is a device, a socket or a pipe, not a file"),
    errno.EIO: (ErrorCode.READ_CONTENT_FAILURE, "the disk reports an input/output error"),
    errno.E2BIG: (ErrorCode.SHELL_EXECUTE_ERROR, "the command line is longer than the system allows"),
}


def from_os_error(
    error: OSError, subject: str, otherwise: ErrorCode = ErrorCode.EXECUTION_FAILED
) -> ToolFailure:
    """Translates an operating system error; ``subject`` is the path or command as the caller wrote it."""
    code, reason = _BY_ERRNO.get(error.errno or 0, (otherwise, error.strerror or str(error)))
    return ToolFailure(code, f"{subject}: {reason}.")
