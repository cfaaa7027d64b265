"""A reader of another agent's logs: ``trail 1``, then a line a call,
as ``tool<TAB>argument<TAB>ok or failed<TAB>result``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from nbtools.traces import Call, Detail, Problem, Session
from nbtools.traces.model import Origin, Row
from nbtools.traces.reader import Head
from nbtools.traces.source import Source


class Trail:
    name = "trail"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        return head.start.startswith(b"trail 1\n")

    def files(self, path: Path) -> Sequence[Path]:
        return ()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        session, records = source.path.stem, 0
        for line in source.lines(_fields):
            if isinstance(line, Problem):
                yield line
                continue
            ref, fields = line
            if fields:
                tool, argument, status, result = fields
                yield Call(
                    session,
                    str(records),
                    records,
                    tool,
                    "other",
                    origin,
                    subject=argument,
                    status="ok" if status == "ok" else "error",
                    status_source="flag",
                    answered=True,
                    result_size=len(result),
                    ref=ref,
                )
                records += 1
        yield Session(id=session, format=self.name, agent="trail", records=records)

    def detail(self, source: Source, call: Call) -> Detail:
        _tool, argument, _status, result = _fields(source.bytes_of(call.ref))
        return Detail(args={"argument": argument}, result=result, display=result)


def _fields(line: bytes) -> list[str]:
    """None of the first line.  Raises what ``Source.lines`` turns into a problem."""
    fields = line.decode().rstrip("\n").split("\t")
    if fields != ["trail 1"] and len(fields) != 4:
        raise msgspec.ValidationError(f"{len(fields)} fields, not 4")
    return [] if len(fields) == 1 else fields


TRAIL = Trail()
