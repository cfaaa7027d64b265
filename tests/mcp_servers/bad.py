"""MCP servers that misbehave, each in its way: ``python bad.py WAY``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from lines import TOOL, Message, answer, answer_text, messages, notify, send, serve


def silent() -> None:
    """Hears and says nothing."""
    for _ in messages():
        pass


def gone() -> None:
    """Ends at once."""
    sys.exit("no licence")


def unknown() -> None:
    """Takes a call and never answers it; tells with the next one what it has heard since."""
    heard: list[str] = []

    def call(request: Message) -> None:
        if request["params"]["name"] == "heard":
            answer_text(request, "\n".join(heard))
        else:
            notify(
                "progress",
                {
                    "progressToken": request["params"]["_meta"]["progressToken"],
                    "progress": 0,
                    "message": "I have it",
                },
            )

    def hear(message: Message) -> None:
        heard.append(f"{message['method']} {message.get('params', {}).get('requestId', '')}")

    serve(call, lambda: [TOOL, {**TOOL, "name": "heard"}], hear)


def novel() -> None:
    """Answers with blocks of kinds that no version of MCP has, beside some that it has."""
    blocks: list[Message] = [
        {"type": "text", "text": "before"},
        {"type": "hologram", "data": {"é": [1]}},
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "tool_use", "id": "1", "name": "do", "input": {}},
        {"type": "text", "text": "after"},
    ]
    serve(lambda request: answer(request, {"content": blocks}))


def steady() -> None:
    """Takes longer than a call may, and tells how far it is."""

    def call(request: Message) -> None:
        token = request["params"]["_meta"]["progressToken"]
        for step in range(1, 13):
            time.sleep(0.3)
            notify("progress", {"progressToken": token, "progress": step, "total": 12})
        answer_text(request, "done")

    serve(call)


def crash() -> None:
    def call(request: Message) -> None:
        print("out of memory", file=sys.stderr, flush=True)
        os._exit(3)

    serve(call)


def killed() -> None:
    serve(lambda _: os.kill(os.getpid(), signal.SIGKILL))


def endless() -> None:
    """Messages without end."""

    def call(request: Message) -> None:
        while True:
            notify("message", {"level": "info", "data": "and on"})

    serve(call)


def endless_line() -> None:
    def call(request: Message) -> None:
        while True:
            sys.stdout.write("x" * 1_000_000)

    serve(call)


def huge() -> None:
    """100 MB in one answer."""
    serve(lambda request: answer_text(request, "x" * 100_000_000))


def heavy() -> None:
    """Few bytes, and a minute's work to read."""
    serve(lambda request: answer(request, {"content": [], "structuredContent": {"rows": [[]] * 3_000_000}}))


def broken() -> None:
    """Its output is not JSON."""

    def call(request: Message) -> None:
        sys.stdout.write(f'{{"jsonrpc": "2.0", "id": {request["id"]}, "result": {{"content": [\n')
        sys.stdout.flush()

    serve(call)


def misshapen() -> None:
    """JSON, and no message."""
    serve(lambda request: send({"id": request["id"], "result": "done"}))


def nothing() -> None:
    """A message, and no answer to a call."""
    serve(lambda request: answer(request, {"content": [{"type": "text"}]}))


def chatty() -> None:
    """Prints beside its messages, as many do by mistake."""

    def call(request: Message) -> None:
        print("{ level: 'info' }\n\nworking ...", flush=True)
        print('{"level": 30, "msg": "a log in JSON"}', flush=True)
        answer_text(request, "done")

    print("Welcome!", flush=True)
    serve(call)


def strict() -> None:
    """Ends unless it is greeted as it knows it."""
    first = sys.stdin.readline()
    if '"initialize"' not in first:
        sys.exit("expected a greeting")
    request = json.loads(first)
    info = {"name": "bad", "version": "7"}
    answer(request, {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info})
    serve(lambda request: answer_text(request, "done"))


def cyclic() -> None:
    """Schemas that contain themselves."""
    node: Message = {
        "type": "object",
        "properties": {"next": {"$ref": "#/$defs/node"}, "name": {"type": "string"}},
    }
    schema = {"type": "object", "properties": {"node": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}
    loop = {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
    }
    tools = [
        {**TOOL, "inputSchema": schema, "outputSchema": schema},
        {**TOOL, "name": "loop", "inputSchema": loop, "outputSchema": loop},
    ]

    def call(request: Message) -> None:
        given = request["params"]["arguments"]
        answer(request, {"content": [{"type": "text", "text": "done"}], "structuredContent": given})

    serve(call, lambda: tools)


def many() -> None:
    serve(
        lambda request: answer_text(request, "done"),
        lambda: [{**TOOL, "name": f"do{number}"} for number in range(5_000)],
    )


def long() -> None:
    """Names of 300 characters that differ in the last."""
    serve(
        lambda request: answer_text(request, request["params"]["name"][-1]),
        lambda: [{**TOOL, "name": "n" * 299 + end} for end in "ab"],
    )


def twice() -> None:
    serve(
        lambda request: answer_text(request, "done"),
        lambda: [TOOL, TOOL, {**TOOL, "description": "Does it, too."}],
    )


def changing() -> None:
    """The tool goes while it is called, and others come; some of the notices are for nothing."""
    names = ["do", "stay"]

    def call(request: Message) -> None:
        names[:] = ["stay", *(f"new{number}" for number in range(20))]
        for _ in range(200):
            notify("tools/list_changed")
        time.sleep(0.5)
        if not request["params"]["arguments"].get("hang"):
            answer_text(request, "done")

    serve(call, lambda: [{**TOOL, "name": name} for name in names])


def wrong_ids() -> None:
    serve(lambda request: send({"id": request["id"] + 1_000, "result": {"content": []}}))


def loud() -> None:
    """Complains a lot."""

    def call(request: Message) -> None:
        for _ in range(60):
            sys.stderr.write("oh dear\n" * 12_500)
        answer_text(request, "done")

    serve(call)


def stubborn() -> None:
    """Does not go when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve(lambda request: answer_text(request, "done"))
    while True:
        time.sleep(60)


def parent() -> None:
    """Leaves a process behind that has nothing to do with it any more."""

    def call(request: Message) -> None:
        left = subprocess.Popen(["sleep", "600"], start_new_session=True, stdin=-3, stdout=-3, stderr=-3)
        answer_text(request, str(left.pid))

    serve(call)


def mute() -> None:
    """Closes its output, and lives."""

    def call(request: Message) -> None:
        os.close(1)
        time.sleep(600)

    serve(call)


def deaf() -> None:
    """Does not read what it is sent."""

    def call(request: Message) -> None:
        time.sleep(600)

    serve(call)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
