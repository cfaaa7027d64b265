"""A server on loopback that speaks OpenAI's chat completions:
answers each request with the next of its script, streamed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, TypeAlias

from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


@dataclass
class Says:
    """Pieces of text, thoughts before them, then calls (id, name, arguments as JSON).

    Before piece ``waits_at`` it waits for ``gate`` and sets ``reached``;
    at piece ``breaks_at`` the connection ends.
    """

    pieces: tuple[str, ...] = ()
    calls: tuple[tuple[str, str, str], ...] = ()
    thoughts: tuple[str, ...] = ()
    usage: dict[str, Any] = field(default_factory=lambda: {"prompt_tokens": 100, "completion_tokens": 10})
    waits_at: int = -1
    breaks_at: int = -1
    gate: Event = field(default_factory=Event)
    reached: Event = field(default_factory=Event)


@dataclass
class Refuses:
    """``again``: the client may try once more at once."""

    status: int
    message: str = "no"
    code: str = ""
    again: bool = False


Reply: TypeAlias = Says | Refuses


class Stub(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, script: tuple[Reply, ...]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.left = Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def model(self, name: str = "gpt-4o-mini") -> OpenAIChatModel:
        return OpenAIChatModel(name, provider=OpenAIProvider(base_url=self.url, api_key="sk-test"))

    def messages_of(self, number: int) -> list[dict[str, Any]]:
        """The messages of a request, from 0."""
        return list(self.asked[number]["messages"])


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Stub

    def do_POST(self) -> None:
        self.server.asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        reply = self.server.script.pop(0)
        if isinstance(reply, Refuses):
            self._refuse(reply)
            return
        if not self.server.asked[-1].get("stream"):
            self._complete(reply)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            self._stream(reply)
        except (BrokenPipeError, ConnectionResetError):
            self.server.left.set()

    def _refuse(self, reply: Refuses) -> None:
        self._whole(
            reply.status,
            {"error": {"message": reply.message, "code": reply.code or None, "type": "error"}},
            {"x-should-retry": "true" if reply.again else "false", "retry-after-ms": "1"},
        )

    def _complete(self, reply: Says) -> None:
        """Answers a request that wants the message in one piece."""
        calls = [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": text}}
            for id_, name, text in reply.calls
        ]
        message = {
            "role": "assistant",
            "content": "".join(reply.pieces) or None,
            **({"tool_calls": calls} if calls else {}),
        }
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        fields = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-4o-mini",
            "choices": [choice],
        }
        self._whole(200, {**fields, "usage": {**reply.usage, "total_tokens": 0}}, {})

    def _whole(self, status: int, fields: dict[str, Any], headers: dict[str, str]) -> None:
        body = json.dumps(fields).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, reply: Says) -> None:
        for thought in reply.thoughts:
            self._chunk({"reasoning_content": thought})
        for number, piece in enumerate(reply.pieces):
            if number == reply.breaks_at:
                self.close_connection = True
                return
            if number == reply.waits_at:
                self._wait(reply)
            self._chunk({"content": piece})
        for index, (id_, name, arguments) in enumerate(reply.calls):
            function = {"name": name, "arguments": arguments}
            self._chunk(
                {"tool_calls": [{"index": index, "id": id_, "type": "function", "function": function}]}
            )
        self._chunk({}, "tool_calls" if reply.calls else "stop")
        self._send({"choices": [], "usage": {**reply.usage, "total_tokens": 0}})
        self._write(b"data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _wait(self, reply: Says) -> None:
        """Waits until the gate opens, or the reader has gone."""
        reply.reached.set()
        while not reply.gate.wait(0.02):
            self._write(b": still here\n\n")

    def _chunk(self, delta: dict[str, Any], reason: str | None = None) -> None:
        self._send(
            {"choices": [{"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}]}
        )

    def _send(self, fields: dict[str, Any]) -> None:
        chunk = {
            "id": "chatcmpl-1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-4o-mini",
            **fields,
        }
        self._write(b"data: " + json.dumps(chunk).encode() + b"\n\n")

    def _write(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        return


@contextmanager
def stub(*script: Reply) -> Iterator[Stub]:
    server = Stub(script)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
