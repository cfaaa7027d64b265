"""A process that writes a log as agents do: ``writer.py HOW SOURCE LOG [PIECE]``.

It writes one piece for each line that it reads, and answers each with a line: ``lines`` appends whole lines,
``halves`` appends pieces of ``PIECE`` bytes, each flushed, and ``rename`` writes the file anew with one more
line and renames it into place. It ends with its source.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path


def appended(log: Path, pieces: list[bytes]) -> Iterator[None]:
    with log.open("ab") as file:
        for piece in pieces:
            file.write(piece)
            file.flush()
            yield


def renamed(log: Path, pieces: list[bytes]) -> Iterator[None]:
    for content in accumulate(pieces, initial=log.read_bytes()):
        new = log.with_suffix(".new")
        new.write_bytes(content)
        new.rename(log)
        yield


def main(how: str, source: str, log: str, size: str = "1000") -> None:
    content = Path(source).read_bytes()[Path(log).stat().st_size :]
    step = int(size)
    halves = [content[at : at + step] for at in range(0, len(content), step)]
    pieces = content.splitlines(keepends=True) if how in {"lines", "rename"} else halves
    write: Callable[[Path, list[bytes]], Iterator[None]] = renamed if how == "rename" else appended
    for _ in write(Path(log), pieces):
        print("written", flush=True)
        sys.stdin.readline()
    print("ended", flush=True)


main(*sys.argv[1:])
