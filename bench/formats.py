"""Measures the reading of each format: every row of a log made by repeating real ones,
against decoding the same bytes with orjson.

python bench/formats.py [megabytes per format] [format ...]

Ids are renamed from copy to copy: what is repeated under its id would be told to be.  Formats of which there
is no large real log with calls (messages, Gemini's log of changes, Claude's stream, OTLP, ATIF, Inspect, our
own) are made of the messages and calls of a real session.  The floor decodes record by record, of documents
too: one large document takes orjson several times as long, and would flatter the reader.  A log without a
call is an error: it would not measure what reading is about.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import orjson
from report import Figure, alternate, rate, table

from nbtools import traces
from nbtools.traces.formats import open_log
from nbtools.traces.model import Call, Detail
from nbtools.traces.recording.log_records import CallRecord, ChangeRecord, SessionRecord

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
MEGABYTES = float(sys.argv[1]) if len(sys.argv) > 1 else 10
ONLY = sys.argv[2:]
ROUNDS = 5
IDENTITY = re.compile(
    rb"((?<=\")(?:toolu|msg|req|call)_[0-9A-Za-z]{4}|(?<=-)[0-9a-f]{12}(?=[^0-9a-f])|(?<=Id\":\")[0-9a-f]{8}|(?<=\"id\":)\d+|(?<=\"cause\":)\d+)"
)
"""What is another's in another copy: ids of providers, the last part of a UUID, a span's,
numbers of events.
"""


AT = "2026-01-01T00:00:00.000Z"
NANOSECONDS = 1_767_225_600 * 10**9
BARS = {
    "claude-code": 0.6,
    "codex": 0.14,
    "otlp": 0.3,
    "gemini-cli jsonl": 0.3,
    "claude-stream-json": 0.3,
    "nbtools": 0.55,
    "gemini-cli json": 0.08,
    "swe-agent": 0.07,
    "mini-swe-agent": 0.3,
    "openhands": 0.1,
    "atif": 0.04,
    "inspect json": 0.05,
    "messages": 0.055,
}
"""The least rates, as parts of orjson's:
what is asked of Claude Code, OTLP, Gemini CLI and mini-swe-agent, and what others reach.
"""


@dataclass(frozen=True)
class Shape:
    """A log: ``head``, then ``pieces`` again and again with ``between`` them, then ``tail``.
    ``lines``: each is a document by itself.
    """

    name: str
    pieces: tuple[bytes, ...]
    head: bytes = b""
    between: bytes = b"\n"
    tail: bytes = b"\n"

    @property
    def lines(self) -> bool:
        return self.between == b"\n"

    def write(self, path: Path, size: float) -> Path:
        with path.open("wb") as file:
            file.write(self.head)
            copies = itertools.chain.from_iterable(map(self.copy, itertools.count(1)))
            file.write(next(copies))
            while file.tell() < size:
                file.write(self.between + next(copies))
            file.write(self.tail)
        return path

    def copy(self, number: int) -> list[bytes]:
        return [IDENTITY.sub(lambda found: _renamed(found[0], number), piece) for piece in self.pieces]

    def decoded(self, path: Path) -> Callable[[], object]:
        """Orjson over the same records, one by one."""
        if self.lines:
            return lambda: _each_line(path)
        text = path.read_bytes()
        items = text[len(self.head) - 1 : len(text) - len(self.tail) + 1]
        records = [*map(bytes, msgspec.json.decode(items, type=list[msgspec.Raw]))]
        return lambda: _each(records)


def _each(records: Sequence[bytes]) -> None:
    for record in records:
        orjson.loads(record)


def _each_line(path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as lines:
        for line in lines:
            orjson.loads(line)


def _renamed(identity: bytes, number: int) -> bytes:
    if identity.isdigit() and len(identity) < 8:
        return b"%d" % (int(identity) + 1_000_000 * number)
    head, mark, tail = identity.partition(b"_")
    return (
        b"%s_%dx%s" % (head, number, tail)
        if mark
        else b"%0*x" % (len(identity), (int(identity, 16) + number) % 16 ** len(identity))
    )


def lines(name: str, pattern: str) -> Shape:
    texts = [path.read_bytes() for path in sorted(SAMPLES.glob(pattern))]
    return Shape(name, tuple(line for text in texts for line in text.split(b"\n") if line.strip()))


def document(name: str, pattern: str, field: str = "") -> Shape:
    """One document, with the items of its list ``field`` repeated; those of the largest sample."""
    found = max(SAMPLES.glob(pattern), key=lambda path: path.stat().st_size)
    whole = orjson.loads(found.read_bytes())
    items = whole[field] if field else whole
    return Shape(name, tuple(map(orjson.dumps, items)), *_frame(whole, field))


def _frame(whole: object, field: str) -> tuple[bytes, bytes, bytes]:
    """Returns the bytes before, between and after the items."""
    if not isinstance(whole, dict):
        return b"[", b",", b"]"
    rest = orjson.dumps({key: value for key, value in whole.items() if key != field} | {field: []})
    return rest[:-2], b",", rest[-2:]


def gemini_lines() -> Shape:
    made = document("gemini-cli jsonl", "gemini-cli/session-*.json", "messages")
    return Shape(
        made.name,
        made.pieces,
        head=b'{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00Z","kind":"main"}\n',
    )


def _calls() -> list[tuple[Call, Detail]]:
    """The calls of a real session."""
    return [
        (call, call.detail) for call in traces.load(SAMPLES / "claude-code" / "cctrace--main.jsonl").calls
    ]


def inspect() -> Shape:
    """Samples of an evaluation, each with twenty calls, in the one document that they are in a ``.json``."""
    found = max((SAMPLES / "inspect").glob("*.eval"), key=lambda path: path.stat().st_size)
    with zipfile.ZipFile(found) as archive:
        header = orjson.loads(archive.read("header.json"))
    calls = _calls()
    samples = [
        _sample(number, calls[start : start + 20]) for number, start in enumerate(range(0, len(calls), 20))
    ]
    return Shape("inspect json", tuple(map(orjson.dumps, samples)), *_frame(header, "samples"))


def _sample(number: int, calls: Sequence[tuple[Call, Detail]]) -> dict[str, object]:
    events: list[dict[str, object]] = [
        {"event": "sample_init", "timestamp": AT, "sample": {"input": "Repair it."}}
    ]
    for call, detail in calls:
        asked = {"id": call.native_id, "function": call.name, "arguments": dict(detail.args)}
        message = {
            "role": "assistant",
            "content": f"I use {call.name} on {call.subject}.",
            "tool_calls": [asked],
        }
        output = {
            "model": "m",
            "choices": [{"message": message}],
            "usage": {"input_tokens": 100, "output_tokens": 10},
        }
        events.append({"event": "model", "timestamp": AT, "model": "m", "output": output})
        events.append(
            {"event": "tool", "timestamp": AT, "type": "function", **asked, "result": detail.result}
        )
    return {
        "id": number,
        "epoch": 1,
        "input": "Repair it.",
        "target": "",
        "messages": [],
        "events": events,
        "attachments": {},
    }


def atif() -> Shape:
    """A trajectory with a call in each step."""
    steps = [
        {
            "step_id": number,
            "timestamp": AT,
            "source": "agent",
            "message": f"I use {call.name} on {call.subject}.",
            "tool_calls": [
                {"tool_call_id": call.native_id, "function_name": call.name, "arguments": dict(detail.args)}
            ],
            "observation": {"results": [{"source_call_id": call.native_id, "content": detail.result}]},
            "metrics": {"prompt_tokens": 100, "completion_tokens": 10},
        }
        for number, (call, detail) in enumerate(_calls())
    ]
    about = {"schema_version": "ATIF-v1.4", "session_id": "s", "agent": {"name": "a", "version": "1"}}
    return Shape("atif", tuple(map(orjson.dumps, steps)), *_frame(about, "steps"))


def otlp() -> Shape:
    """Exports of ten calls each, as the collector's file exporter writes them:
    a span for the model's answer, one for the tool.
    """
    calls = _calls()
    return Shape(
        "otlp", tuple(orjson.dumps(_export(calls[start : start + 10])) for start in range(0, len(calls), 10))
    )


def _export(calls: Sequence[tuple[Call, Detail]]) -> dict[str, object]:
    spans = [span for call, detail in calls for span in _spans(call, detail)]
    resource = {"attributes": _attributes({"service.name": "bench", "service.version": "1"})}
    return {
        "resourceSpans": [
            {"resource": resource, "scopeSpans": [{"scope": {"name": "bench"}, "spans": spans}]}
        ]
    }


def _spans(call: Call, detail: Detail) -> Iterator[dict[str, object]]:
    asked = {"type": "tool_call", "id": call.native_id, "name": call.name, "arguments": dict(detail.args)}
    answer = [
        {
            "role": "assistant",
            "parts": [{"type": "text", "content": f"I use {call.name} on {call.subject}."}, asked],
        }
    ]
    model = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.output.messages": orjson.dumps(answer).decode(),
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 10,
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call.name,
        "gen_ai.tool.call.id": call.native_id,
        "gen_ai.tool.call.arguments": orjson.dumps(dict(detail.args)).decode(),
        "gen_ai.tool.call.result": detail.result,
    }
    for name, fields, start in (
        (f"chat {call.seq}", model, 2 * call.seq),
        (f"execute_tool {call.name}", tool, 2 * call.seq + 1),
    ):
        times = {
            "startTimeUnixNano": f"{NANOSECONDS + start * 10**9}",
            "endTimeUnixNano": f"{NANOSECONDS + (start + 1) * 10**9}",
        }
        span = f"0{'01'[name.startswith('e')]}{call.seq:02x}0000000000{call.seq:02x}"
        yield {
            "traceId": "a" * 32,
            "spanId": span,
            "name": name,
            "kind": 1,
            **times,
            "attributes": _attributes(fields),
            "status": {},
        }


def _attributes(fields: Mapping[str, object]) -> list[dict[str, object]]:
    kinds = {str: "stringValue", int: "intValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in fields.items()]


def _claude() -> Iterator[dict[str, object]]:
    for line in (SAMPLES / "claude-code" / "cctrace--main.jsonl").read_bytes().splitlines():
        record = orjson.loads(line)
        if isinstance(record.get("message"), dict):
            yield record


def messages() -> Shape:
    return Shape(
        "messages",
        tuple(orjson.dumps(record["message"]) for record in _claude()),
        b'{"messages":[',
        b",",
        b"]}",
    )


def stream() -> Shape:
    kept = ("type", "message", "uuid", "session_id", "parent_tool_use_id", "tool_use_result")
    said = (
        {**record, "session_id": "s", "tool_use_result": record.get("toolUseResult")} for record in _claude()
    )
    pieces = tuple(orjson.dumps({key: one[key] for key in kept if key in one}) for one in said)
    return Shape(
        "claude-stream-json", pieces, head=b'{"type":"system","subtype":"init","session_id":"s","cwd":"/w"}\n'
    )


def ours() -> Shape:
    """Calls as they are recorded: those of a real session."""
    head = SessionRecord(format="nbtools", version=1, id="s", at=1.0, workspace="/w")
    return Shape(
        "nbtools",
        tuple(msgspec.json.encode(_recorded(call, detail)) for call, detail in _calls()),
        head=msgspec.json.encode(head) + b"\n",
    )


def _recorded(call: Call, detail: Detail) -> CallRecord:
    return CallRecord(
        session="s",
        number=call.seq,
        id=call.id,
        name="edit",
        spoken=call.name,
        subject=call.subject,
        paths=call.paths,
        asked=1.0,
        ended=2.0,
        state="success",
        size=call.result_size,
        changes=tuple(
            ChangeRecord(path=one.file_name, kind="modify", added=1, removed=1) for one in detail.changes
        ),
        arguments=msgspec.Raw(msgspec.json.encode(detail.args)),
        content=msgspec.Raw(msgspec.json.encode(detail.result)),
        display=msgspec.Raw(msgspec.json.encode({"type": "str", "text": detail.result})),
    )


def shapes() -> list[Shape]:
    return [
        lines("claude-code", "claude-code/*.jsonl"),
        lines("codex", "codex/[es]*--019*.jsonl"),
        otlp(),
        gemini_lines(),
        stream(),
        ours(),
        document("gemini-cli json", "gemini-cli/session-*.json", "messages"),
        document("swe-agent", "swe-agent/*.traj", "trajectory"),
        document("mini-swe-agent", "mini-swe-agent/*.json"),
        document("openhands", "openhands/*.json"),
        atif(),
        inspect(),
        messages(),
    ]


def extract(path: Path) -> int:
    return sum(type(row) is Call for row in traces.stream(path))


def measure(shape: Shape, path: Path) -> None:
    """Prints a format's table. Exits where the log has no call, or another reader reads it."""
    size, calls, known = path.stat().st_size / 1e6, extract(path), open_log(path).format.name
    if not calls or known not in shape.name:
        raise SystemExit(f"{shape.name}: {calls} calls were found, read as {known}.")
    rates = alternate(ROUNDS, orjson=rate(shape.decoded(path), size), rows=rate(lambda: extract(path), size))
    decoded = Figure("orjson.loads only", rates["orjson"], "MB/s")
    table(
        f"{shape.name}: {size:.0f} MB, {calls:,} calls",
        [decoded, Figure("all rows", rates["rows"], "MB/s", f"≥ {BARS[shape.name]} x")],
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes():
            if not ONLY or any(one in shape.name for one in ONLY):
                measure(
                    shape,
                    shape.write(Path(folder, "log.jsonl" if shape.lines else "log.json"), MEGABYTES * 1e6),
                )


if __name__ == "__main__":
    main()
