"""The client that the conformance suite tries: nbtools, with somebody at it who allows and logs in.

The suite starts a program for each scenario, all at once, with a server's address; ``passing.py`` is that
program, and has it done here, in the process of the tests, so that nbtools and the SDK are loaded once.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.mcp.config.entries import parse_server

_MOST_LOGINS = 3
"""A person does not log in for ever."""


@asynccontextmanager
async def client(folder: Path) -> AsyncIterator[tuple[str, dict[str, int]]]:
    """The command that starts it, for as long as the block lasts, and the codes with which it has ended,
    by the scenarios.

    One scenario runs at a time.  Each has a workspace in ``folder``,
    and nothing is known there of the others' logins.
    """
    serving: set[asyncio.Task[None] | None] = set()
    codes: dict[str, int] = {}
    alone = asyncio.Lock()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        told = json.loads(await reader.readline())
        scenario = told["scenario"]
        workspace = folder / scenario
        try:
            async with alone:
                with pytest.MonkeyPatch.context() as patch:
                    patch.setenv("NBTOOLS_STATE", str(workspace / "state"))
                    patch.setenv("NBTOOLS_CONFIG", str(workspace / "config"))
                    await asyncio.to_thread(workspace.mkdir, parents=True)
                    codes[scenario], output = await played(
                        workspace, told["url"], scenario, json.loads(told["context"])
                    )
            writer.write(json.dumps({"code": codes[scenario], "output": "\n".join(output)}).encode() + b"\n")
        finally:
            writer.close()
            await writer.wait_closed()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        yield f"{sys.executable} -I -S {Path(__file__).with_name('passing.py')} {port}", codes
        await asyncio.gather(*filter(None, serving), return_exceptions=True)


async def played(folder: Path, url: str, scenario: str, context: Mapping[str, Any]) -> tuple[int, list[str]]:
    """The code that the program ends with, and what it says."""
    output: list[str] = []
    async with Session(folder, policy=Policy(mode="yolo"), confirmer=Willing()) as session:
        session.mcp.add([parse_server("suite", await asyncio.to_thread(entry, url, scenario, context), {})])
        await use(session, output)
        return int(session.mcp.get("suite").state != "connected"), output


class Willing:
    """Allows everything; leaves the fields of forms as they are."""

    async def ask(self, confirmation: Confirmation) -> Answer:
        if confirmation.type == "ask":
            blank = tuple("" for _ in confirmation.details.questions)
            return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=blank))
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


def browse(page: str) -> None:
    """Goes where it is sent, and lands where that leads to."""
    threading.Thread(target=lambda: urllib.request.urlopen(page, timeout=60).close(), daemon=True).start()


def entry(url: str, scenario: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the entry as a person would write it into a file of servers."""
    known = {"clientId": context.get("client_id", ""), "clientSecret": context.get("client_secret", "")}
    if "client-credentials" in scenario:
        known |= {"grantType": "client_credentials", "issuer": issuer(url)}
    if "private_key_pem" in context:
        known |= {"privateKey": context["private_key_pem"], "signingAlgorithm": context["signing_algorithm"]}
    return {"url": url, "oauth": known}


def issuer(url: str) -> str:
    """Told to a person by the service; here the server says it."""
    parts = urlsplit(url)
    with urllib.request.urlopen(
        f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}", timeout=60
    ) as known:
        servers: list[str] = json.load(known)["authorization_servers"]
    return servers[0]


async def use(session: Session, output: list[str]) -> None:
    """Connects and calls every tool, logging in where that is wanted."""
    connection = session.mcp.get("suite")
    done: set[str] = set()
    for _ in range(_MOST_LOGINS + 1):
        await session.mcp.connect()
        for name in [
            name for name in session.tools.names() if name.startswith("mcp__suite__") and name not in done
        ]:
            result = await session.call(name, arguments(session.tools[name]))
            output.append(f"{name} {result.llm_content if result.ok else result.error}")
            if not result.ok and "requires a login" in connection.problem:
                break
            done.add(name)
        output.append(f"{connection.state} {connection.problem}")
        if "requires a login" not in connection.problem:
            return
        output.append(f"the login is kept in {await session.mcp.login('suite', browse, 60)}")


def arguments(tool: Any) -> dict[str, Any]:
    values = {"number": 2, "integer": 2, "string": "two", "boolean": True}
    fields: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    return {name: values.get(field.get("type", ""), "two") for name, field in fields.items()}
