"""What went wrong with a server, in words: the one table of what the SDK, networks and systems raise."""

from __future__ import annotations

from pydantic import ValidationError

_EXTRA = 'pip install "nbtools-agent[mcp]" first, then start the kernel anew'
_NETWORK = {
    "ConnectError": "it cannot be reached",
    "ConnectTimeout": "it cannot be reached in time",
    "ReadTimeout": "it stopped answering",
    "ReadError": "it broke off its answer",
    "RemoteProtocolError": "it broke off its answer",
    "SSEError": "its stream is broken",
    "InvalidURL": "its address is none",
    "UnsupportedProtocol": "its address is none",
}
"""By the names of httpx2's errors: this module is there before that one is loaded."""
_VAGUE = ("Server returned an error response", "Session terminated", "Not Found", "Connection closed")
"""What the SDK says where it knows better."""
_SYSTEM = {
    FileNotFoundError: "there is no program {}",
    NotADirectoryError: "there is no folder {}",
    PermissionError: "{} may not be run",
}
_MOST = 300
_SDK = ("httpx2", "mcp", "mcp_types")


def in_words(error: BaseException) -> str:
    """The first of the errors that are in it; no full stop at the end."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    said = str(error).strip().rstrip(".")
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in _SDK:
        return _EXTRA
    if isinstance(error, OSError) and type(error) in _SYSTEM:
        return _SYSTEM[type(error)].format(error.filename)
    if type(error).__module__.startswith("httpx2") and type(error).__name__ in _NETWORK:
        words = _NETWORK[type(error).__name__]
        return f"{words}: {said}" if said else words
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"its answer is not as MCP has it: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
    return said[:_MOST] or type(error).__name__


def is_vague(error: BaseException) -> bool:
    """Whether what was noted of the server tells more."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) in _VAGUE or type(error).__name__ == "HTTPStatusError"


def status_in_words(server: str, status: int, reason: str) -> str:
    """What an HTTP answer that is none means."""
    if status == 401:
        return f"it wants a login: %tools mcp login {server}"
    return f"it answered HTTP {status} {reason}".rstrip()
