"""HTTP servers that misbehave, each in its way: ``python bad_http.py WAY``.  They print their port."""

from __future__ import annotations

import gzip
import http.server
import io
import json
import sys
import time
from typing import Any

WAY = sys.argv[1]
TOOL = {"name": "do", "inputSchema": {"type": "object"}}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def do_GET(self) -> None:
        if not self.spoiled():
            self.reply(405, b"")

    def do_DELETE(self) -> None:
        self.reply(405, b"")

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.spoiled():
            return
        if "id" in message:
            self.answer(message)
        else:
            self.reply(202, b"")

    def spoiled(self) -> bool:
        """Whether the way is one that answers nothing."""
        match WAY:
            case "hangs":
                time.sleep(60)
            case "refuses":
                self.reply(500, b"oh dear", "text/plain")
            case "private":
                self.reply(401, b"")
            case "moved":
                self.reply(302, b"", location="http://127.0.0.1:1/elsewhere")
            case "page":
                self.reply(200, b"<html>Welcome</html>", "text/html")
            case "compressed":
                kind = "application/json" if self.command == "POST" else "text/event-stream"
                self.reply(200, gzip.compress(b"{}"), kind, coding="gzip")
            case _:
                return False
        return True

    def answer(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                info = {"name": "bad", "version": "7"}
                self.result(
                    message,
                    {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info},
                )
            case "tools/list":
                self.result(message, {"tools": [TOOL]})
            case "tools/call" if WAY == "tells_what_was_asked":
                asked = self.headers.get_all("Accept-Encoding")
                self.result(message, {"content": [{"type": "text", "text": json.dumps(asked)}]})
            case "tools/call" if WAY == "novel":
                self.result(message, {"content": [{"type": "hologram"}, {"type": "text", "text": "after"}]})
            case "tools/call":
                self.call(message)
            case _:
                self.reply(404, b"")

    def call(self, message: dict[str, Any]) -> None:
        match WAY:
            case "hangs_later":
                time.sleep(60)
            case "refuses_later":
                self.reply(503, b"")
            case "forgets":
                self.reply(404, b"")
            case "broken_stream":
                self.reply(200, b'event: message\ndata: {"jsonrpc": "2.0", "id"\n\n', "text/event-stream")
            case "ended_stream":
                self.reply(200, b": nothing\n\n", "text/event-stream")
            case "huge":
                self.result(message, {"content": [{"type": "text", "text": "x" * 100_000_000}]})
            case "compressed_later" | "compressed_stream":
                self.bomb(message)
            case "broken":
                self.reply(200, b'{"jsonrpc": "2.0", "id"')
            case "breaks_off":
                self.wfile.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
                )
                self.close_connection = True

    def bomb(self, message: dict[str, Any]) -> None:
        """300 MB of an answer, in 0.3 MB."""
        stream = WAY == "compressed_stream"
        packed = io.BytesIO()
        with gzip.GzipFile(fileobj=packed, mode="wb") as pack:
            pack.write(b"event: message\ndata: " if stream else b"")
            pack.write(
                b'{"jsonrpc": "2.0", "id": %d, "result": {"content": [{"type": "text", "text": "'
                % message["id"]
            )
            for _ in range(300):
                pack.write(b"x" * 1_000_000)
            pack.write(b'"}]}}\n\n')
        self.reply(
            200, packed.getvalue(), "text/event-stream" if stream else "application/json", coding="gzip"
        )

    def result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def reply(
        self, status: int, body: bytes, kind: str = "application/json", location: str = "", coding: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if coding:
            self.send_header("Content-Encoding", coding)
        if location:
            self.send_header("Location", location)
        if WAY == "forgets":
            self.send_header("Mcp-Session-Id", "7")
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        print(server.server_port, flush=True)
        server.serve_forever()
