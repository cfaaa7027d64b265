"""Helpers of the programs here: MCP of 2025-11-25 as lines of JSON, without the SDK,
so that they start at once.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

Message = dict[str, Any]
TOOL: Message = {"name": "do", "description": "Does it.", "inputSchema": {"type": "object"}}


def send(message: Message) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def answer(request: Message, result: Message) -> None:
    send({"id": request["id"], "result": result})


def answer_text(request: Message, text: str) -> None:
    """A tool's answer."""
    answer(request, {"content": [{"type": "text", "text": text}]})


def notify(method: str, params: Message | None = None) -> None:
    send({"method": f"notifications/{method}", "params": params or {}})


def messages() -> Iterator[Message]:
    for line in sys.stdin:
        yield json.loads(line)


def serve(
    call: Callable[[Message], None],
    tools: Callable[[], list[Message]] = lambda: [TOOL],
    hear: Callable[[Message], None] = print,
) -> None:
    """Greets, lists ``tools``, hands calls to ``call`` and notifications to ``hear``."""
    for message in messages():
        match message.get("method"):
            case "initialize":
                able = {"tools": {"listChanged": True}}
                info = {"name": "bad", "version": "7"}
                answer(
                    message,
                    {
                        "protocolVersion": "2025-11-25",
                        "capabilities": able,
                        "serverInfo": info,
                        "instructions": "Beware.",
                    },
                )
            case "tools/list":
                answer(message, {"tools": tools()})
            case "tools/call":
                call(message)
            case str(method) if "id" in message:
                send({"id": message["id"], "error": {"code": -32601, "message": f"no method {method}"}})
            case str(method) if method.startswith("notifications/") and hear is not print:
                hear(message)
