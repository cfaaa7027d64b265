"""The client that the conformance suite starts, with a server's address: nbtools, with somebody at it who allows and logs in.

``MCP_CONFORMANCE_SCENARIO`` says what to do with the server, ``MCP_CONFORMANCE_CONTEXT`` as whom.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome, ToolConfirmationPayload
from nbtools.sources.mcp.settings.entries import settings_of

_MOST_LOGINS = 3
"""A person does not log in for ever."""


class Willing:
    """Allows everything; leaves the fields of forms as they are."""

    async def ask(self, confirmation: Confirmation) -> Answer:
        if confirmation.type == "ask":
            blank = tuple("" for _ in confirmation.details.questions)
            return Answer(ToolConfirmationOutcome.PROCEED_ONCE, ToolConfirmationPayload(answers=blank))
        return Answer(ToolConfirmationOutcome.PROCEED_ONCE)


def browse(page: str) -> None:
    """Goes where it is sent, and lands where that leads to."""
    threading.Thread(target=lambda: urllib.request.urlopen(page, timeout=10).close(), daemon=True).start()


def entry(url: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """As a person would write it into a file of servers."""
    scenario = os.environ.get("MCP_CONFORMANCE_SCENARIO", "")
    known = {"clientId": context.get("client_id", ""), "clientSecret": context.get("client_secret", "")}
    if "client-credentials" in scenario:
        known |= {"grantType": "client_credentials", "issuer": issuer(url)}
    if "private_key_pem" in context:
        known |= {"privateKey": context["private_key_pem"], "signingAlgorithm": context["signing_algorithm"]}
    return {"url": url, "oauth": known}


def issuer(url: str) -> str:
    """Told to a person by the service; here the server says it."""
    parts = urlsplit(url)
    with urllib.request.urlopen(f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}", timeout=10) as known:
        servers: list[str] = json.load(known)["authorization_servers"]
    return servers[0]


async def use(session: Session) -> None:
    """Connects and calls every tool, logging in where that is wanted."""
    connection = session.mcp.named("suite")
    done: set[str] = set()
    for _ in range(_MOST_LOGINS + 1):
        await session.mcp.connect()
        for name in [name for name in session.tools.names() if name.startswith("mcp__suite__") and name not in done]:
            result = await session.call(name, arguments(session.tools.find(name)))
            print(name, result.llm_content if result.ok else result.error)
            if not result.ok and "wants a login" in connection.problem:
                break
            done.add(name)
        print(connection.state, connection.problem)
        if "wants a login" not in connection.problem:
            return
        print("the login is kept in", await session.mcp.login("suite", browse, 10))


def arguments(tool: Any) -> dict[str, Any]:
    values = {"number": 2, "integer": 2, "string": "two", "boolean": True}
    fields: dict[str, dict[str, Any]] = tool.parameters.get("properties", {})
    return {name: values.get(field.get("type", ""), "two") for name, field in fields.items()}


async def main() -> int:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {
            "NBTOOLS_STATE": f"{folder}/state",
            "NBTOOLS_CONFIG": f"{folder}/config",
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        async with Session(folder, policy=Policy(mode="yolo"), confirmer=Willing()) as session:
            session.mcp.add([settings_of("suite", entry(sys.argv[1], context), {})])
            await use(session)
            return int(session.mcp.named("suite").state != "connected")


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
