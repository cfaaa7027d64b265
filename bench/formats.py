"""What reading each format costs: every row of a log made by repeating real ones, against decoding the same bytes with orjson and no more.

python bench/formats.py [megabytes per format] [format ...]

Ids are renamed from copy to copy: what is repeated under its id would be told to be.  Formats of which there is no large real log
(messages, Gemini's log of changes, Claude's stream, our own) are made of the messages of those that there are.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
import orjson
from report import Figure, alternate, paired, rate

from nbtools import traces
from nbtools.traces.model import Call
from nbtools.traces.reader import open_log
from nbtools.traces.recording.log_records import CallRecord, ChangeRecord, SessionRecord

SAMPLES = Path(__file__).resolve().parents[1] / "tests" / "traces" / "samples"
MEGABYTES = float(sys.argv[1]) if len(sys.argv) > 1 else 10
ONLY = sys.argv[2:]
ROUNDS = 5
IDENTITY = re.compile(
    rb"((?<=\")(?:toolu|msg|req|call)_[0-9A-Za-z]{4}|(?<=-)[0-9a-f]{12}(?=[^0-9a-f])|(?<=Id\":\")[0-9a-f]{8}|(?<=\"id\":)\d+|(?<=\"cause\":)\d+)"
)
"""What is another's in another copy: ids of providers, the last part of a UUID, a span's, numbers of events."""


@dataclass(frozen=True)
class Shape:
    """A log: ``head``, then ``pieces`` again and again with ``between`` them, then ``tail``.  ``lines``: each is a document by itself."""

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
        """Orjson over the same bytes."""
        if not self.lines:
            return lambda: orjson.loads(path.read_bytes())
        return lambda: _each_line(path)


def _each_line(path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as lines:
        for line in lines:
            orjson.loads(line)


def _renamed(identity: bytes, number: int) -> bytes:
    if identity.isdigit() and len(identity) < 8:
        return b"%d" % (int(identity) + 1_000_000 * number)
    head, mark, tail = identity.partition(b"_")
    return b"%s_%dx%s" % (head, number, tail) if mark else b"%0*x" % (len(identity), (int(identity, 16) + number) % 16 ** len(identity))


def lines(name: str, pattern: str) -> Shape:
    texts = [path.read_bytes() for path in sorted(SAMPLES.glob(pattern))]
    return Shape(name, tuple(line for text in texts for line in text.split(b"\n") if line.strip()))


def document(name: str, pattern: str, field: str = "") -> Shape:
    """One document, with the items of its list ``field`` repeated; those of the largest sample."""
    found = max(SAMPLES.glob(pattern), key=lambda path: path.stat().st_size)
    whole = orjson.loads(found.read_bytes())
    items = whole[field] if field else whole
    return Shape(name, tuple(map(orjson.dumps, items)), *_around(whole, field))


def _around(whole: object, field: str) -> tuple[bytes, bytes, bytes]:
    """What stands before, between and behind the items."""
    if not isinstance(whole, dict):
        return b"[", b",", b"]"
    rest = orjson.dumps({key: value for key, value in whole.items() if key != field} | {field: []})
    return rest[:-2], b",", rest[-2:]


def gemini_lines() -> Shape:
    made = document("gemini-cli jsonl", "gemini-cli/session-*.json", "messages")
    return Shape(made.name, made.pieces, head=b'{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00Z","kind":"main"}\n')


def inspect() -> Shape:
    """The samples of an ``.eval`` in the one document that they are in a ``.json``."""
    found = max((SAMPLES / "inspect").glob("*.eval"), key=lambda path: path.stat().st_size)
    with zipfile.ZipFile(found) as archive:
        header = orjson.loads(archive.read("header.json"))
        samples = [archive.read(name) for name in archive.namelist() if name.startswith("samples/")]
    return Shape("inspect json", tuple(orjson.dumps(orjson.loads(one)) for one in samples), *_around(header, "samples"))


def _claude() -> Iterator[dict[str, object]]:
    for line in (SAMPLES / "claude-code" / "cctrace--main.jsonl").read_bytes().splitlines():
        record = orjson.loads(line)
        if isinstance(record.get("message"), dict):
            yield record


def messages() -> Shape:
    return Shape("messages", tuple(orjson.dumps(record["message"]) for record in _claude()), b'{"messages":[', b",", b"]}")


def stream() -> Shape:
    kept = ("type", "message", "uuid", "session_id", "parent_tool_use_id", "tool_use_result")
    said = ({**record, "session_id": "s", "tool_use_result": record.get("toolUseResult")} for record in _claude())
    pieces = tuple(orjson.dumps({key: one[key] for key in kept if key in one}) for one in said)
    return Shape("claude-stream-json", pieces, head=b'{"type":"system","subtype":"init","session_id":"s","cwd":"/w"}\n')


def ours() -> Shape:
    """Calls as they are recorded: those of a real session."""
    found = traces.load(SAMPLES / "claude-code" / "cctrace--main.jsonl").calls
    head = SessionRecord(format="nbtools", version=1, id="s", at=1.0, workspace="/w")
    return Shape("nbtools", tuple(msgspec.json.encode(_recorded(call)) for call in found), head=msgspec.json.encode(head) + b"\n")


def _recorded(call: Call) -> CallRecord:
    detail = call.detail
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
        changes=tuple(ChangeRecord(path=one.file_name, kind="modify", added=1, removed=1) for one in detail.changes),
        arguments=msgspec.Raw(msgspec.json.encode(detail.args)),
        content=msgspec.Raw(msgspec.json.encode(detail.result)),
        display=msgspec.Raw(msgspec.json.encode({"type": "str", "text": detail.result})),
    )


def shapes() -> list[Shape]:
    return [
        lines("claude-code", "claude-code/*.jsonl"),
        lines("codex", "codex/[es]*--019*.jsonl"),
        lines("otlp", "otlp/*.json"),
        gemini_lines(),
        stream(),
        ours(),
        document("gemini-cli json", "gemini-cli/session-*.json", "messages"),
        document("swe-agent", "swe-agent/*.traj", "trajectory"),
        document("mini-swe-agent", "mini-swe-agent/*.json"),
        document("openhands", "openhands/*.json"),
        document("atif", "atif/*openhands*.json", "steps"),
        inspect(),
        messages(),
    ]


def extract(path: Path) -> int:
    return sum(type(row) is Call for row in traces.stream(path))


def figures(shape: Shape, path: Path) -> str:
    size = path.stat().st_size / 1e6
    calls, known = extract(path), open_log(path).format.name
    rates = alternate(ROUNDS, orjson=rate(shape.decoded(path), size), rows=rate(lambda: extract(path), size))
    decoded, rows = Figure("orjson", rates["orjson"], "MB/s"), Figure("rows", rates["rows"], "MB/s")
    ratio = paired(rows.values, decoded.values)
    read_as = "" if known in shape.name else f"  (read as {known})"
    return f"  {shape.name:20} {size:6.1f} {calls:8,} {decoded.median:10.0f} {rows.median:8.0f} {ratio:8.2f}{read_as}"


def main() -> None:
    print(f"  {'format':20} {'MB':>6} {'calls':>8} {'orjson MB/s':>10} {'rows':>8} {'x orjson':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for shape in shapes():
            if not ONLY or any(one in shape.name for one in ONLY):
                path = shape.write(Path(folder, "log.jsonl" if shape.lines else "log.json"), MEGABYTES * 1e6)
                print(figures(shape, path), flush=True)


if __name__ == "__main__":
    main()
