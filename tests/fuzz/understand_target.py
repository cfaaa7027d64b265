"""A target for atheris: ``python understand_target.py -runs=N``.

Lines are put together from pieces of bash, or are text as it comes.
"""

from __future__ import annotations

import sys
import time

import atheris

with atheris.instrument_imports(include=["nbtools.shell", "nbtools.core"]):
    from nbtools.shell import analyse

_TEXT = """
env -S -C -u xargs -I {} find . -exec -delete ; \\; + git -c a.b=c submodule foreach bash -c sed s/a/b/e tar cf -C $(ls) <<E E > f
&& || | cd .. - ~ sudo flock awk {print} python -m ssh host -o fd -x curl * $(( )) [[ -eq ]] ` ' " \\ rm -rf / if then fi
for in do done ( ) { } ! # = X=1 eval trap <( ${ "$X"
"""
_PIECES = [*_TEXT.split(), "'rm x'", "\n", "\nE\n"]
_SECONDS = 5


def line_from(data: bytes) -> str:
    """Each byte below 0x80 is a piece, the rest is text."""
    if data[:1] < b"\x40":
        return " ".join(_PIECES[byte % len(_PIECES)] for byte in data[1:64])
    return data[1:].decode("utf-8", "surrogateescape")


def one(data: bytes) -> None:
    line = line_from(data)
    started = time.process_time()
    understood = analyse(line)
    assert time.process_time() - started < _SECONDS, line
    for act in understood.commands:
        assert act.words or not act.dynamic, line
        assert all(place < len(act.words) for place in act.dynamic), line
        assert not (act.transparent and act.risk), line
        assert not (act.harmless and (act.writes or act.risk or act.critical)), line
        assert set(act.redirected) <= set(act.writes), line
        assert act.entry or not (act.harmless and act.words), line
    assert not (understood.harmless and (understood.doubt or understood.unverified)), line
    if not (understood.doubt or understood.unverified):
        _a_part_more(line)


def _a_part_more(line: str) -> None:
    """Whatever stands behind a line, nothing that it does goes missing."""
    longer = analyse(f"{line}\nrm -rf /")
    assert not longer.unverified, line
    programs = {act.words for act in longer.commands}
    assert longer.doubt or all(not act.words or act.words in programs for act in analyse(line).commands), line
    assert longer.doubt or any(act.critical for act in longer.commands), line


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
