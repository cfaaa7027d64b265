"""The Python blocks of the how-to pages run, one after the other, in a real kernel."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests/traces/samples/claude-code"
LOGS = {
    "session.jsonl": "external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl",
    "other.jsonl": "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl",
}
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
PAGES = sorted(path for path in (ROOT / "docs/how-to").glob("*.md") if "```python" in path.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[str]:
    return [match[2] for match in BLOCK.finditer(page.read_text(encoding="utf-8"))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a small project and two session logs; the kernel's state is beside it."""
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    work = tmp_path / "work"
    (work / "shop/src").mkdir(parents=True)
    (work / "shop/cart.py").write_text("total = 0\n")
    (work / "shop/src/cart.py").write_text("total = 0\n")
    (work / "shop/README.md").write_text("The shop sells pears, and the shop sells apples.\n")
    subprocess.run(["git", "init", "--quiet", str(work / "shop")], check=True)
    for name, sample in LOGS.items():
        shutil.copy(SAMPLES / sample, work / name)
    return work


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_blocks_run(page: Path, folder: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block) for block in blocks(page)])
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    cards = [
        output["data"]["application/vnd.nbtools.call.v1+json"]
        for output in outputs
        if "data" in output and "application/vnd.nbtools.call.v1+json" in output["data"]
    ]
    assert outputs
    print("\n".join(str(output)[:600] for output in outputs))
    for card in cards:
        assert card["state"] != "error", card


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs/how-to/index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs/how-to").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages
    assert {f"{name}.md" for name in re.findall(r"^([\w-]+)$", index.partition("{toctree}")[2], re.MULTILINE)} == pages
