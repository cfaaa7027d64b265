"""What an output says of how its call ended.  Codex has no flag for it: it stands in the text, in three generations of wording."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from nbtools.traces.formats.codex.records import text
from nbtools.traces.model import Status, StatusSource

_FAILED = (
    "apply_patch verification failed",
    "exec_command failed",
    "write_stdin failed",
    "collab spawn failed",
    "Script failed",
    "failed to parse function arguments",
    "unsupported call",
    "execution error",
)
_EXITED = re.compile(r"Process exited with code (-?\d{1,18})")
_CODE = re.compile(r"^Exit code: (-?\d{1,18})", re.MULTILINE)
_WALL = re.compile(r"Wall time:? (\d+(?:\.\d+)?) seconds")
_ENDED = re.compile(
    r"(?:Chunk ID: [0-9a-z]{1,40}\n)?Wall time: (\d{1,9}\.\d{1,9}) seconds\nProcess exited with code (-?\d{1,18})\n"
    r"(?:Original token count: \d{1,18}\n)?Output:\n"
)
_SHORT = 400
"""Characters of an output that is a notice, not what a command printed."""


class _Metadata(msgspec.Struct):
    exit_code: Any = None
    duration_seconds: Any = None


class Wrapped(msgspec.Struct):
    """The JSON text that early outputs are."""

    metadata: _Metadata | None = None
    output: Any = ""
    agent_id: Any = None


class Outcome(msgspec.Struct, frozen=True):
    """``running``: the command goes on and a later record may tell its end."""

    size: int = 0
    failed: bool = False
    source: StatusSource = "text"
    exit_code: int | None = None
    duration: float | None = None
    running: bool = False
    stopped: Status | None = None
    child: str = ""
    cut: bool = False


def outcome(output: Any) -> Outcome:
    said = output if isinstance(output, str) else read(output)
    ended = _ENDED.match(said)
    return _worded(said) if ended is None else _ended(said, float(ended[1]), int(ended[2]))


def _ended(said: str, duration: float, code: int) -> Outcome:
    """Of a command that has ended, as nearly all outputs are: the same as ``_worded`` says, by less reading."""
    stopped: Status | None = "denied" if not code and len(said) <= _SHORT and "rejected by user" in said else None
    return Outcome(len(said), code != 0, "exit_code", code, duration, False, stopped, "", "tokens truncated" in said)


def _worded(said: str) -> Outcome:
    wrapped = unwrapped(said) if said.startswith("{") else None
    header = said[: _header(said)]
    codes = _codes(header)
    if wrapped is not None and wrapped.metadata is not None and _number(wrapped.metadata.exit_code):
        codes.append(int(wrapped.metadata.exit_code))
    failed = said.startswith(_FAILED) or any(codes)
    return Outcome(
        size=len(said),
        failed=failed,
        source="exit_code" if codes else "text",
        exit_code=next(filter(None, codes), 0) if codes else None,
        duration=_duration(header, wrapped),
        running="Process running with session ID" in header or header.startswith("Script running"),
        stopped=None if failed or len(said) > _SHORT else _stopped(said),
        child=wrapped.agent_id if wrapped is not None and isinstance(wrapped.agent_id, str) else "",
        cut="tokens truncated" in said or "truncated output" in header,
    )


def read(output: Any) -> str:
    """The text that the model read."""
    return msgspec.json.encode(output).decode() if isinstance(output, dict) else text(output)


def _header(said: str) -> int:
    if said.startswith("Output:\n"):
        return 0
    found = said.find("\nOutput:\n")
    if found < 0:
        return len(said) - 8 if said.endswith("\nOutput:") else len(said)
    return found


def parted(said: str) -> tuple[str, str]:
    """The lines before the one that is ``Output:``, and what is behind; without one all is header."""
    end = _header(said)
    return said[:end], said[end:].lstrip("\n").removeprefix("Output:").removeprefix("\n") if end < len(said) else ""


def unwrapped(said: str) -> Wrapped | None:
    if not said.startswith("{") or '"' not in said[:200]:
        return None
    try:
        return msgspec.json.decode(said, type=Wrapped)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _codes(header: str) -> list[int]:
    found: list[str] = []
    if "Process exited" in header:
        found = _EXITED.findall(header)
    if "Exit code: " in header:
        found += _CODE.findall(header)
    return [int(code) for code in found]


def _duration(header: str, wrapped: Wrapped | None) -> float | None:
    if wrapped is not None and wrapped.metadata is not None and _number(wrapped.metadata.duration_seconds):
        return float(wrapped.metadata.duration_seconds)
    at = header.find("Wall time", 0, _SHORT)
    found = _WALL.match(header, at) if at >= 0 else None
    return float(found[1]) if found else None


def _stopped(said: str) -> Status | None:
    if said.startswith("aborted"):
        return "interrupted"
    return "denied" if "rejected by user" in said else None


def _number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool) and abs(found) < 1e15
