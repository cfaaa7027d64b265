"""``nbtools mcp``: from the command line's words to a server that runs."""

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
from typing import TYPE_CHECKING

from nbtools.core.errors import NbtoolsError, SessionError
from nbtools.dialects import Dialect
from nbtools.dialects import dialect as dialect_named
from nbtools.serving.choosing import Chosen
from nbtools.serving.offer import Offer
from nbtools.workspace.state import project_folder

if TYPE_CHECKING:
    from nbtools.serving.server import OfferServer
    from nbtools.session import Session

TOKEN = "NBTOOLS_MCP_TOKEN"  # noqa: S105 - the variable's name
_SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Wish:
    """What is to be served; ``port`` is None for standard input and output, ``token`` empty for one to be made."""

    folder: str
    dialect: str
    port: int | None
    token: str


def run(wish: Wish) -> int:
    """Serves until the client goes away or the process is told to end; the exit code."""
    try:
        root, dialect, token = _root(wish.folder), dialect_named(wish.dialect), _token(wish.token)
    except SessionError as error:
        sys.stderr.write(f"nbtools: {error}\n")
        return 2
    try:
        asyncio.run(_serve(root, dialect, wish.port, token))
    except (OSError, NbtoolsError) as error:
        sys.stderr.write(f"nbtools: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def _root(folder: str) -> Path:
    """The folder that is named, or the project around this one, which is what a notebook works on, too."""
    root = Path(folder).expanduser() if folder else project_folder(Path.cwd())
    if not root.is_dir():
        raise SessionError(f"{folder} is no folder.")
    return root.resolve()


def _token(given: str) -> str:
    """Raises ``SessionError`` for one that could be guessed, or that no header can carry."""
    token = given or os.environ.get(TOKEN, "") or secrets.token_urlsafe(32)
    if len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise SessionError(f"A token has at least {_SHORTEST_TOKEN} plain characters; without --token one is made.")
    return token


async def _serve(root: Path, dialect: Dialect, port: int | None, token: str) -> None:
    over = False
    async with offered(root, dialect) as offer:
        server = _server_of(offer, root)
        if port is None:
            over = await _over_stdio(server)
        else:
            await _over_http(server, root, port, token)
    if over:
        os._exit(0)  # the thread that reads the input would wait for one more line


@contextlib.asynccontextmanager
async def offered(root: Path, dialect: Dialect) -> AsyncIterator[Offer]:
    """What there is to serve on ``root``: a notebook's tools, or those of a session alone."""
    opened: list[Session] = []

    def alone() -> Offer:
        from nbtools.serving.alone import ABOUT, open_alone  # noqa: PLC0415 - 100 ms that a notebook makes needless
        from nbtools.serving.session_offer import SessionOffer  # noqa: PLC0415

        opened.append(open_alone(root))
        return SessionOffer(opened[0], dialect, ABOUT)

    chosen = Chosen(root, dialect, alone)
    await chosen.start()
    try:
        yield chosen
    finally:
        await chosen.close()
        for session in opened:
            await session.close()


def _server_of(offer: Offer, root: Path) -> OfferServer:
    from nbtools.serving.server import OfferServer  # noqa: PLC0415 - the SDK: an extra, and most of the time that a start takes

    return OfferServer(offer, str(root))


async def _over_stdio(server: OfferServer) -> bool:
    """Until the client closes the input, or a signal comes: then it says so, and what reads the input is still at it."""
    from mcp.server.stdio import stdio_server  # noqa: PLC0415 - as above

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    loop, signalled = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled.set)
    serving, waiting = asyncio.ensure_future(serve()), asyncio.ensure_future(signalled.wait())
    await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if serving.done():
        serving.result()
    return not serving.done()


async def _over_http(server: OfferServer, root: Path, port: int, token: str) -> None:
    from nbtools.serving.http import address, bound, entry, serve_http  # noqa: PLC0415 - as above

    with contextlib.closing(bound(port)) as listening:
        url = address(listening)
        sys.stderr.write(f"nbtools serves {root} at {url}. A client's settings:\n{json.dumps(entry(url, token), indent=2)}\n")
        sys.stderr.flush()
        await serve_http(server, listening, token)
