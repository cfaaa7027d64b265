"""Servers added to a file of settings and taken out of it; whatever else stands there stays."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from nbtools.core.errors import ErrorCode, ToolFailure, from_os_error
from nbtools.sources.mcp.settings.reading import KEY, parsed
from nbtools.workspace.atomic import write_lasting
from nbtools.workspace.folder_lock import folder_lock
from nbtools.workspace.state import private_folder

_INDENT = re.compile(r"^\{\s*\n([ \t]+)")


def add_server(path: Path, name: str, entry: Mapping[str, Any], *, replace: bool = False) -> None:
    """Raises ``ToolFailure``: where the file cannot be read or written, and where there is one of that name that is not to be replaced."""

    def change(servers: dict[str, Any]) -> None:
        if name in servers and not replace:
            raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{path} names an MCP server {name!r} already; remove it first.")
        servers[name] = dict(entry)

    _rewrite(path, change)


def remove_server(path: Path, name: str) -> None:
    """Raises ``ToolFailure``; that it is not there is no failure."""
    _rewrite(path, lambda servers: servers.pop(name, None))


def write_whole(path: Path, text: str) -> None:
    """Old or new, never half.  A link stays one; a new file is for this user's eyes only.  Raises ``OSError``."""
    real = path.resolve()
    temporary = real.with_name(f".{real.name}.{uuid.uuid4().hex}.tmp")
    try:
        write_lasting(temporary, text.encode())
        if real.exists():
            shutil.copymode(real, temporary)
        temporary.replace(real)
    finally:
        temporary.unlink(missing_ok=True)


def _rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    try:
        if not path.parent.is_dir():
            private_folder(path.parent)
        with folder_lock(path.parent):
            data = path.read_bytes() if path.exists() else b""
            content = parsed(data)
            servers = content.setdefault(KEY, {})
            if not isinstance(servers, dict):
                raise ValueError(f"its {KEY} is no object")  # noqa: TRY004, TRY301 - told like JSON that is none
            change(servers)
            indent = _INDENT.search(data.decode(errors="replace"))
            write_whole(path, json.dumps(content, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise from_os_error(error, str(path), ErrorCode.FILE_WRITE_FAILURE) from None
    except ValueError as error:
        raise ToolFailure(ErrorCode.INVALID_TOOL_PARAMS, f"{path} was left as it is: {error}. Mend it, then try again.") from None
