"""Explains errors of the SDK, the network and the system in plain words."""

from __future__ import annotations

from pydantic import ValidationError

_EXTRA = 'MCP support is not installed. Run pip install "nbtools-agent[mcp]", then restart the kernel'
_NETWORK = {
    "ConnectError": "it cannot be reached",
    "ConnectTimeout": "it cannot be reached in time",
    "ReadTimeout": "it stopped answering",
    "ReadError": "its answer was interrupted",
    "RemoteProtocolError": "its answer was interrupted",
    "SSEError": "its stream is broken",
    "InvalidURL": "its address is not a valid URL",
    "UnsupportedProtocol": "its address is not a valid URL",
}
"""Texts by the names of httpx2's errors, because httpx2 is imported later than this module."""
_VAGUE = ("Server returned an error response", "Session terminated", "Not Found", "Connection closed")
"""Messages of the SDK that hide a more specific reason."""
_SYSTEM = {
    FileNotFoundError: "there is no program {}",
    NotADirectoryError: "the folder {} does not exist",
    PermissionError: "{} cannot be executed (permission denied)",
}
_MOST = 300
_SDK = ("httpx2", "mcp", "mcp_types")


def error_text(error: BaseException) -> str:
    """Returns the explanation of the first error in ``error``, without a full stop."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip().rstrip(".")
    if isinstance(error, ImportError) and (error.name or "").partition(".")[0] in _SDK:
        return _EXTRA
    if isinstance(error, OSError) and type(error) in _SYSTEM:
        return _SYSTEM[type(error)].format(error.filename)
    if type(error).__module__.startswith("httpx2") and type(error).__name__ in _NETWORK:
        explanation = _NETWORK[type(error).__name__]
        return f"{explanation}: {text}" if text else explanation
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return (
            f"its answer does not conform to MCP: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
        )
    return text[:_MOST] or type(error).__name__


def is_vague(error: BaseException) -> bool:
    """Returns whether a notice of the transport explains more than this error."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) in _VAGUE or type(error).__name__ == "HTTPStatusError"


def status_text(server: str, status: int, reason: str) -> str:
    """Explains an HTTP error status."""
    if status == 401:
        return f"it requires a login: %tools mcp login {server}"
    return f"it answered HTTP {status} {reason}".rstrip()
