"""The ``nbtools mcp`` command: serves a session's tools over stdio or HTTP."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from mcp.server.stdio import stdio_server

from nbtools.core.errors import NbtoolsError, SessionError
from nbtools.dialects import Dialect
from nbtools.dialects import dialect as dialect_named
from nbtools.mcp.server.routing import NO_NOTEBOOK_NOTE, ToolRouter, open_standalone_session
from nbtools.mcp.server.server import ToolServer
from nbtools.mcp.server.tool_provider import SessionToolProvider, ToolProvider
from nbtools.session import Session
from nbtools.storage.state_folder import project_folder

TOKEN_VARIABLE = "NBTOOLS_MCP_TOKEN"  # noqa: S105 - the variable's name
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The command's options.  ``port`` is None for stdio;
    an empty ``token`` is replaced by a generated one.
    """

    folder: str
    dialect: str
    port: int | None
    token: str


def run(options: ServeOptions) -> int:
    """Serves until the client disconnects or the process is signalled; returns the exit code."""
    try:
        root, dialect, token = _root(options.folder), dialect_named(options.dialect), _token(options.token)
    except SessionError as error:
        sys.stderr.write(f"nbtools: {error}\n")
        return 2
    try:
        asyncio.run(_serve(root, dialect, options.port, token))
    except (OSError, NbtoolsError) as error:
        sys.stderr.write(f"nbtools: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _root(folder: str) -> Path:
    """Returns the given folder, or the project that contains the current one (the same that a
    notebook uses).
    """
    root = Path(folder).expanduser() if folder else project_folder(Path.cwd())
    if not root.is_dir():
        raise SessionError(f"{folder} is not a folder.")
    return root.resolve()


def _token(value: str) -> str:
    """Returns the token to use.  Raises ``SessionError`` for one that is too short or not valid in
    a header.
    """
    token = value or os.environ.get(TOKEN_VARIABLE, "") or secrets.token_urlsafe(32)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        needed = f"at least {_SHORTEST_TOKEN} printable ASCII characters without spaces"
        raise SessionError(f"The token must have {needed}. Omit --token to have one generated.")
    return token


async def _serve(root: Path, dialect: Dialect, port: int | None, token: str) -> None:
    signalled = False
    async with open_tool_provider(root, dialect) as offer:
        server = ToolServer(offer, str(root))
        if port is None:
            signalled = await _over_stdio(server)
        else:
            await _over_http(server, root, port, token)
    if signalled:
        os._exit(0)  # the thread that reads stdin would block until one more line arrives


@contextlib.asynccontextmanager
async def open_tool_provider(root: Path, dialect: Dialect) -> AsyncIterator[ToolProvider]:
    """Opens the tools to serve on ``root``: a notebook's, or those of a standalone session."""
    opened: list[Session] = []

    def open_standalone() -> ToolProvider:
        opened.append(open_standalone_session(root))
        return SessionToolProvider(opened[0], dialect, NO_NOTEBOOK_NOTE)

    router = ToolRouter(root, dialect, open_standalone)
    await router.start()
    try:
        yield router
    finally:
        await router.close()
        for session in opened:
            await session.close()


async def _over_stdio(server: ToolServer) -> bool:
    """Serves until the client closes stdin, or a signal arrives:
    then returns True, and a thread is still reading stdin.
    """

    async def serve() -> None:
        async with stdio_server() as (read_stream, write_stream):
            await server.run(read_stream, write_stream, server.create_initialization_options())

    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled.set)
    serving, waiting = asyncio.ensure_future(serve()), asyncio.ensure_future(signalled.wait())
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if serving.done():
        serving.result()
    return not serving.done()


async def _over_http(server: ToolServer, root: Path, port: int, token: str) -> None:
    from nbtools.mcp.server.http import (  # noqa: PLC0415 - uvicorn is not needed over stdio
        bind_loopback,
        client_configuration,
        serve_http,
        url_of,
    )

    with contextlib.closing(bind_loopback(port)) as sock:
        url = url_of(sock)
        sys.stderr.write(
            f"nbtools serves {root} at {url}. Client"
            f" configuration:\n{json.dumps(client_configuration(url, token), indent=2)}\n"
        )
        sys.stderr.flush()
        await serve_http(server, sock, token)
