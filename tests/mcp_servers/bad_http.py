"""HTTP servers that misbehave, each in its way: ``python bad_http.py WAY``.  They print their port."""

from __future__ import annotations

import http.server
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
            case _:
                return False
        return True

    def answer(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                info = {"name": "bad", "version": "7"}
                self.result(message, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":
                self.result(message, {"tools": [TOOL]})
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
            case "broken":
                self.reply(200, b'{"jsonrpc": "2.0", "id"')
            case "breaks_off":
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{")
                self.close_connection = True

    def result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.reply(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode())

    def reply(self, status: int, body: bytes, kind: str = "application/json", location: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
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
