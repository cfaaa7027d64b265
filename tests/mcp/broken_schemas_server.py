"""An MCP server on stdio that lists whatever declarations its first argument has, as JSON;
a call returns its arguments.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def answer(request: dict[str, Any]) -> dict[str, Any]:
    match request["method"]:
        case "initialize":
            version = request["params"]["protocolVersion"]
            return {
                "protocolVersion": version,
                "capabilities": {"tools": {}, "prompts": {}},
                "serverInfo": {"name": "b", "version": "1"},
            }
        case "tools/list":
            return {"tools": json.loads(sys.argv[1])}
        case "prompts/list":
            return {
                "prompts": [
                    {"name": "good"},
                    {"title": "it has no name"},
                    5,
                    {"name": "half", "arguments": "no list"},
                ]
            }
        case "tools/call":
            return {"content": [{"type": "text", "text": json.dumps(request["params"].get("arguments"))}]}
    return {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        known = request["method"] in ("initialize", "tools/list", "prompts/list", "tools/call", "ping")
        reply = (
            {"result": answer(request)} if known else {"error": {"code": -32601, "message": "no such method"}}
        )
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}) + "\n")
        sys.stdout.flush()
