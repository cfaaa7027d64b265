"""One call to Claude Code's tools, from the arguments to the reply:
what the tables of test_claude_* are made of.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nbtools import Policy, Session, ToolResult
from nbtools.core.errors import ErrorCode
from nbtools.dialects.claude import CLAUDE
from tests.dialects.laws import same_call

NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "id": "intro", "metadata": {}, "source": ["# Title"]},
            {
                "cell_type": "code",
                "execution_count": 1,
                "id": "hello",
                "metadata": {},
                "outputs": [{"name": "stdout", "output_type": "stream", "text": ["hi\n"]}],
                "source": ["print('hi')"],
            },
        ],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    },
    indent=1,
)
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c489"
    "0000000d49444154789c6360606060000000050001a5f64540"
    "0000000049454e44ae426082"
)
PROJECT: Mapping[str, str | bytes] = {
    "a.py": "import os\n\n\ndef f():\n    return 1\n\n\ndef g():\n    return 1\n",
    "src/b.py": "TODO = 1\n",
    "src/lib/c.js": "// TODO\nlet c;\n",
    ".env": "KEY=todo\n",
    "empty": "",
    "windows.txt": b"one\r\ntwo\r\n",
    "n.ipynb": NOTEBOOK,
    "dot.png": PICTURE,
}


@dataclass(frozen=True)
class Case:
    """``reply`` is all of it, ``{root}`` standing for the workspace; ``says`` are parts of it.
    ``after``: files by content, None for gone.

    ``first`` are calls before it, ``means`` the canonical call, ``data`` parts of the structured result.
    """

    name: str
    arguments: Mapping[str, Any]
    reply: str | None = None
    says: tuple[str, ...] = ()
    means: tuple[str, Mapping[str, Any]] | None = None
    after: Mapping[str, str | bytes | None] = field(default_factory=dict)
    first: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    code: ErrorCode | None = None


def project(root: Path) -> Path:
    """The files, each a second younger than the one before."""
    for age, (name, content) in enumerate(PROJECT.items()):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (1_700_000_000 + age, 1_700_000_000 + age))
    return root


def speaking_claude(root: Path, **options: Any) -> Session:
    """A session in which everything may run."""
    return Session(root, dialect="claude", policy=Policy(allow=["*"]), **options)


async def check(root: Path, case: Case) -> ToolResult:
    """Reads, runs and compares; ``{root}`` in arguments is replaced, too."""
    arguments = _with_root(case.arguments, root)
    if case.means is not None:
        said = CLAUDE.read(case.name, arguments)
        tool, meant = case.means
        assert said.tool == tool
        assert same_call(tool, said.arguments, _with_root(meant, root)), said.arguments
    async with speaking_claude(project(root)) as session:
        for name, before in case.first:
            assert (await session.call(name, _with_root(before, root))).ok, name
        result = await session.call(case.name, arguments)
    _compare(root, case, result)
    return result


def _compare(root: Path, case: Case, result: ToolResult) -> None:
    text = (
        result.llm_content
        if isinstance(result.llm_content, str)
        else "".join(part.get("text", "") for part in result.llm_content)
    )
    assert (result.error.code if result.error else None) == case.code, text
    if case.reply is not None:
        assert text == case.reply.replace("{root}", str(root))
    for part in case.says:
        assert part.replace("{root}", str(root)) in text
    for name, content in case.after.items():
        path = root / name
        found = path.read_bytes() if path.exists() else None
        assert found == (content.encode() if isinstance(content, str) else content)
    if case.data:
        shown = result.data.as_json()
        assert {name: shown.get(name) for name in case.data} == _with_root(case.data, root)


def _with_root(value: Any, root: Path) -> Any:
    if isinstance(value, str):
        return value.replace("{root}", str(root))
    if isinstance(value, Mapping):
        return {name: _with_root(part, root) for name, part in value.items()}
    return [_with_root(part, root) for part in value] if isinstance(value, list | tuple) else value
