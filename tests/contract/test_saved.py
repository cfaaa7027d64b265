"""Notebooks and session logs saved by earlier versions stay readable.

``saved/cards_0.1.ipynb`` and ``saved/session_0.1.jsonl`` were written by version 0.1.0,
before modules and classes were renamed.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import front_end
import nbformat
import pytest

import nbtools.traces
from nbtools.cards.card_model import MIME, Card
from nbtools.core.result import CommandOutput, FileDiff, Listing
from nbtools.traces.explorer.explorer_view import TRACE_MIME, TraceView
from tests.contract.test_front_end import said_by

HERE = Path(__file__).parent / "saved"
NOTEBOOK: Any = nbformat.read(HERE / "cards_0.1.ipynb", as_version=4)
OUTPUTS = [output.data for cell in NOTEBOOK.cells for output in cell.outputs if "data" in output]
CARDS = [data[MIME] for data in OUTPUTS if MIME in data]
EXPLORERS = [data[TRACE_MIME] for data in OUTPUTS if TRACE_MIME in data]


def test_the_saved_notebook_has_cards_of_many_tools() -> None:
    assert {card["tool"] for card in CARDS} >= {
        "ls",
        "grep",
        "read",
        "edit",
        "write",
        "shell",
        "glob",
        "tree",
        "delete",
        "todo",
        "undo",
    }
    assert {card["state"] for card in CARDS} == {"success", "error"}
    assert len(EXPLORERS) == 2


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card["tool"])
def test_python_reads_a_saved_card(card: dict[str, Any]) -> None:
    read = Card.model_validate_json(json.dumps(card))
    assert (read.tool, read.state, len(read.blocks)) == (card["tool"], card["state"], len(card["blocks"]))


@pytest.mark.parametrize("view", EXPLORERS)
def test_python_reads_a_saved_explorer(view: dict[str, Any]) -> None:
    read = TraceView.model_validate_json(json.dumps(view)).model_dump(mode="json", exclude_unset=True)
    assert read.keys() == view.keys() - {"kinds", "tools", "paths", "page"}, "the page asks for these now"
    assert TraceView.model_validate(view).total == 0


def test_the_front_end_reads_all_of_them(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(json.dumps({"cards": CARDS, "explorers": EXPLORERS}), encoding="utf-8")
    script = f"""
        import {{ readFileSync }} from 'node:fs';
        import {{ parseCard }} from './labextension/lib/cards/model.js';
        import {{ parseTraceView }} from './labextension/lib/explorer/model.js';
        const saved = JSON.parse(readFileSync({json.dumps(str(saved))}, 'utf8'));
        const cards = saved.cards.map(card => parseCard(card).tool);
        const explorers = saved.explorers.map(view => parseTraceView(view).format);
        console.log(JSON.stringify([cards, explorers]));
    """
    ran = said_by(Path(front_end.node_folder()) / "node", "--input-type=module", "--eval", script)
    assert ran.returncode == 0, ran.stderr
    cards, explorers = json.loads(ran.stdout)
    assert cards == [card["tool"] for card in CARDS]
    assert len(explorers) == len(EXPLORERS)


def test_a_saved_log_is_read() -> None:
    trace = nbtools.traces.load(HERE / "session_0.1.jsonl")
    assert trace.problems == []
    assert len(trace.calls) == 13
    assert Counter(call.status for call in trace.calls) == {"ok": 10, "error": 2, "denied": 1}
    displays = {call.name: call.detail.display for call in trace.calls if call.status == "ok"}
    assert isinstance(displays["edit"], FileDiff)
    assert isinstance(displays["ls"], Listing)
    shell = next(call for call in trace.calls if call.name == "shell")
    assert isinstance(shell.detail.display, CommandOutput)
    assert (shell.exit_code, shell.detail.command) == (3, "echo hello; echo wrong >&2; exit 3")
