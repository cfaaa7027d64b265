"""A provider's server on loopback: answers each request with the next of what it was given,
and keeps what it was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, TypeAlias

Call: TypeAlias = tuple[str, str, dict[str, Any] | str]
"""Id, name and arguments; arguments that are text are sent as they are."""


class Provider(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, replies: list[Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = replies
        self.asked: list[dict[str, Any]] = []
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Provider

    def do_POST(self) -> None:
        self.server.paths.append(self.path)
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        status, body = self.server.replies[len(self.server.asked) - 1]
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        return


@contextmanager
def provider(*replies: Any) -> Iterator[Provider]:
    """A reply is a body, or a status and a body."""
    server = Provider([reply if isinstance(reply, tuple) else (200, reply) for reply in replies])
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def chat(content: str | None = None, calls: tuple[Call, ...] = (), finish: str = "") -> dict[str, Any]:
    """An answer of OpenAI's chat completions."""
    tool_calls = [
        {"id": i, "type": "function", "function": {"name": name, "arguments": _json(args)}}
        for i, name, args in calls
    ]
    message = {"role": "assistant", "content": content, **({"tool_calls": tool_calls} if calls else {})}
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub-1",
        "choices": [
            {"index": 0, "message": message, "finish_reason": finish or ("tool_calls" if calls else "stop")}
        ],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    }


def response(content: str = "", calls: tuple[Call, ...] = ()) -> dict[str, Any]:
    """An answer of OpenAI's responses."""
    text = {"type": "output_text", "text": content, "annotations": []}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
    called = [
        {
            "type": "function_call",
            "id": f"f{i}",
            "call_id": i,
            "name": name,
            "arguments": _json(args),
            "status": "completed",
        }
        for i, name, args in calls
    ]
    return {
        "id": "r1",
        "object": "response",
        "created_at": 1,
        "model": "stub-1",
        "status": "completed",
        "output": [*([message] if content else []), *called],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 3,
            "output_tokens": 2,
            "total_tokens": 5,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def _json(arguments: dict[str, Any] | str) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)
