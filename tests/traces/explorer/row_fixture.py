"""Writes rows of a sample log to a file, from which tests of the front end read them.

``python -m tests.traces.explorer.row_fixture`` writes it again after a change of the format.
"""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from typing import Any

from nbtools import open_trace
from nbtools.traces.explorer.row_messages import (
    TraceExplorerParams,
    TraceRowsParams,
    TraceVersionParams,
)
from tests.traces.column_reader import rows
from tests.traces.explorer.samples import sample

ROOT = Path(__file__).parents[3]
TARGET = ROOT / "labextension" / "src" / "test" / "trace_rows.json"
LOG = "claude-code/subagent-layout/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl"


def fixture() -> dict[str, Any]:
    """Returns the replies of three methods with their buffers in base64, and what the columns contain."""
    explorer = open_trace(sample(LOG))
    about = {"explorer": explorer.id, "version": 0}
    replies: dict[str, Any] = {}
    listed, data = explorer.methods.rows(TraceRowsParams(**about, first=0, count=2_000))
    tokens, more = explorer.methods.tokens(TraceVersionParams(**about)).result()
    for name, reply, (buffer,) in (("rows", listed, data), ("tokens", tokens, more)):
        assert reply.block
        replies[name] = {
            "reply": reply.model_dump(mode="json"),
            "data": base64.b64encode(buffer).decode(),
            "expected": [
                {key: _plain(value) for key, value in row.items()} for row in rows(reply.block, buffer)
            ],
        }
    facets = explorer.methods.facets(TraceExplorerParams(explorer=explorer.id))
    return {**replies, "facets": facets.model_dump(mode="json")}


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def text() -> str:
    return json.dumps(fixture(), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
