"""A target for atheris: ``python edit_target.py -runs=N``.

A file and an edit are put together from few pieces, so that they meet often;
patches from the pieces that patches are made of.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["nbtools.workspace"]):
    from nbtools.core.errors import ToolFailure
    from nbtools.diff.patch_model import Replacement
    from nbtools.workspace.text.file_edit import plan_edit
    from nbtools.workspace.text.patch_plan import read_patch

_PIECES = [
    *"ab \t(){}#",
    "\n",
    "\n",
    "\r\n",
    "    ",
    "def f():\n",
    "return x\n",
    "é",
    "\u2028",
    "\x0c",
    "\ufeff",
    "...",
    "\xff",
]
_PATCH = """*** Begin Patch|*** End Patch|*** Update File: f|*** Add File: g|*** Delete File: d|*** Move to: m|@@|@@ def f():|-a|+b| a|-|+|
--- a/f|+++ b/f|@@ -1,2 +1,2 @@|@@ -0,0 +1 @@|\\ No newline at end of file|<<<<<<< SEARCH|=======|>>>>>>> REPLACE|diff --git a/f b/f|```|f
"""
_LINES = [line.strip("\n") for line in _PATCH.split("|")]
_SECONDS = 5
_LATIN = "\xff"


def text_from(data: bytes) -> bytes:
    """``ÿ`` stands for a byte that is no UTF-8."""
    text = "".join(_PIECES[byte % len(_PIECES)] for byte in data)
    return b"\xff".join(part.encode() for part in text.split(_LATIN))


def one(data: bytes) -> None:
    started = time.process_time()
    if data[:1] < b"\x40":
        _patch(data[1:])
    else:
        _edit(data[1:])
    assert time.process_time() - started < _SECONDS


def _patch(data: bytes) -> None:
    lines = [
        _LINES[byte % len(_LINES)] if byte < 0xE0 else text_from(bytes([byte] * 3)).decode(errors="replace")
        for byte in data
    ]
    try:
        read_patch("\n".join(lines), "f")
    except ToolFailure as failure:
        assert failure.message  # noqa: PT017 - a fuzzer's target, no test


def _edit(data: bytes) -> None:
    if len(data) < 4:
        return
    match = ("exact", "blanks", "close")[data[0] % 3]
    body = data[4:]
    cut = len(body) * data[1] // 256
    before, new = text_from(body[:cut]), text_from(body[cut:]).decode(errors="replace")
    start = cut * data[2] // 256
    old = text_from(body[start : min(cut, start + 1 + data[3] % 24)]).decode(errors="replace")
    try:
        change = plan_edit(Path("f"), "f", before, [Replacement(old, new)], match=match)
    except ToolFailure:
        return
    assert change.before == before
    if (
        not change.loose
        and b"\r" not in before
        and not before.startswith(b"\xef\xbb\xbf")
        and not set("\r\ufffd") & set(old + new)
    ):
        place = before.find(old.encode())
        assert place >= 0, (before, old)
        assert change.after == before[:place] + new.encode() + before[place + len(old.encode()) :], (
            before,
            old,
            new,
            change.after,
        )


if __name__ == "__main__":
    atheris.Setup(sys.argv, one)
    atheris.Fuzz()
