"""The blocks of the README and of the docs run as they stand:
the cells of a page in one kernel, its scripts and commands by themselves.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
import tomllib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.agents.openai_stub import Says, stub
from tests.traces.session_index.home import OVERRIDES
from tests.warm_python import warm_python

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests/traces/samples/claude-code"
FIRST = "external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl"
SECOND = "external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"
LOGS = {
    "session.jsonl": FIRST,
    "other.jsonl": SECOND,
    **dict(zip(("A.jsonl", "B.jsonl", "C.jsonl"), (FIRST, SECOND, FIRST), strict=True)),
    "submissions/anna/session.jsonl": FIRST,
    "submissions/ben/session.jsonl": SECOND,
    "runs/1.jsonl": FIRST,
    "runs/2.jsonl": SECOND,
}
RECORDS = 200
"""So much of each log has every step that a page names;
what is read, drawn and searched for secrets takes its time by the size.
"""
RECORDED_IN = "/Users/alisha/Projects/external-agents"
BLOCK = re.compile(r"^( *)```([\w+-]+)\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
CELLS = ("python", "ipython")
SHELL = ("sh", "console")
MAGIC = re.compile(r"^ *%", re.MULTILINE)
PAGES = sorted(
    path for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/how-to").glob("*.md"))
)
ENDLESS = re.compile(r"nbtools (lab|mcp)\b|--follow\b|--serve\b")
"""Commands that run until they are stopped."""
PROGRAMS = """
import contextlib, io, json, sys

printed = []
for number, script in enumerate(json.loads(sys.argv[1]), 1):
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(script, f"program {number}", "exec"), {"__name__": "__main__"})
    printed.append(output.getvalue().strip())
print(json.dumps(printed))
"""
"""Runs the programs of a page one after the other, in a process that imports what they share once;
prints what each printed.
"""
CALL = "application/vnd.nbtools.call.v1+json"
AGENT = "application/vnd.nbtools.agent.v1+json"


def blocks(page: Path, *languages: str) -> list[str]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [
        re.sub(rf"^{match[1]}", "", match[3], flags=re.MULTILINE) for match in found if match[2] in languages
    ]


def cells(page: Path) -> list[str]:
    return [block for block in blocks(page, *CELLS) if "asyncio.run(" not in block]


def scripts(page: Path) -> list[str]:
    return [block for block in blocks(page, *CELLS) if "asyncio.run(" in block]


def commands(page: Path) -> list[str]:
    lines = [line.removeprefix("$ ") for block in blocks(page, *SHELL) for line in block.splitlines()]
    return [line for line in lines if line.startswith("nbtools ") and not ENDLESS.search(line)]


def beginning(sample: str) -> str:
    return "".join((SAMPLES / sample).read_text(encoding="utf-8").splitlines(keepends=True)[:RECORDS])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with what the pages name: small projects, session logs, an MCP server, a provider of models;
    the home is beside it.
    """
    work, home, programs = tmp_path / "work", tmp_path / "home", tmp_path / "bin"
    for variable in OVERRIDES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv(
        "PATH", os.pathsep.join([str(programs), sysconfig.get_path("scripts"), os.environ["PATH"]])
    )
    for project in (work, work / "shop"):
        (project / "src").mkdir(parents=True)
        (project / "src/cart.py").write_text("total = 0  # todo: a Decimal\n")
        (project / "cart.py").write_text("total = 0\n")
        (project / "README.md").write_text("The shop sells pears, and the shop sells apples.\n")
        subprocess.run(["git", "init", "--quiet", str(project)], check=True)
    (work / "tests").mkdir()
    (work / "tests/test_cart.py").write_text("def test_total():\n    pass\n")
    (work / "Makefile").write_text("test:\n\techo passed\n")
    (work / "a.txt").write_text("done\n")
    (work / ".claude").mkdir()
    (work / ".claude/settings.json").write_text('{"permissions": {"allow": ["Bash(git log:*)"]}}')
    for name in ("runs", "submissions/anna", "submissions/ben"):
        (work / name).mkdir(parents=True)
    rubric = blocks(ROOT / "docs/how-to/learners.md", "toml")[0]
    (work / "rubric.toml").write_text(rubric, encoding="utf-8")
    for name, sample in LOGS.items():
        (work / name).write_text(beginning(sample), encoding="utf-8")
    sessions = home / ".claude/projects/-work-shop"
    sessions.mkdir(parents=True)
    (sessions / "session.jsonl").write_text(
        beginning(FIRST).replace(RECORDED_IN, str(work / "shop")), encoding="utf-8"
    )
    config = tmp_path / "config"
    config.mkdir()
    # The person of the tests approves edits and what the pages run; nobody else is there to ask.
    (config / "policy.toml").write_text(
        'mode = "auto_edit"\nallow = ["shell(pytest:*)", "shell(make test:*)", "mcp__time__*"]\n'
    )
    server = {"command": warm_python(), "args": [str(ROOT / "tests/notebook/shop_server.py")]}
    (config / "mcp.json").write_text(json.dumps({"mcpServers": {"shop": server}}))
    programs.mkdir()
    for name, module in {
        "uvx": '"$(echo "$1" | tr - _)"',
        "nbtools": 'nbtools "$@"',
    }.items():  # without a network, and ready at once
        (programs / name).write_text(f'#!/bin/sh\nexec "{warm_python()}" -m {module}\n')
        (programs / name).chmod(0o755)
    monkeypatch.setenv(
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1"
    )  # pages run pytest, which would import every plugin that is installed
    with stub(*[Says(("It is done.",))] * 10) as provider:
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        yield work


@pytest.mark.parametrize("page", [page for page in PAGES if cells(page)], ids=lambda page: page.stem)
def test_a_pages_cells_run(page: Path, folder: Path) -> None:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(block) for block in cells(page)])
    NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    ).execute()
    outputs = [output for cell in notebook.cells for output in cell.outputs]
    assert outputs or not MAGIC.search("".join(cells(page)).replace("%load_ext", ""))
    for output in outputs:
        assert output.output_type != "error", output
        text = output.get("text") or output.get("data", {}).get("text/plain", "")
        assert not text.lstrip("▌ ").startswith("✕"), text
        assert output.get("data", {}).get(CALL, {}).get("state") != "error", text
        assert not output.get("data", {}).get(AGENT, {}).get("problem"), text


@pytest.mark.parametrize("page", [page for page in PAGES if scripts(page)], ids=lambda page: page.stem)
def test_a_pages_programs_run(page: Path, folder: Path) -> None:
    command = [warm_python(), "-c", PROGRAMS, json.dumps(scripts(page))]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    assert all(json.loads(ran.stdout)), ran.stdout


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.stem)
def test_a_pages_commands_run(page: Path, folder: Path) -> None:
    for command in commands(page):
        ran = subprocess.run(
            ["bash", "-c", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False
        )
        assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_data_can_be_read(page: Path) -> None:
    for block in blocks(page, "json"):
        json.loads(block)
    for block in blocks(page, "toml"):
        tomllib.loads(block)


def test_each_block_is_in_a_language_that_is_tried() -> None:
    languages = {match[2] for page in PAGES for match in BLOCK.finditer(page.read_text(encoding="utf-8"))}
    assert languages <= {*CELLS, *SHELL, "json", "toml"}


def test_every_page_is_listed() -> None:
    index = (ROOT / "docs/how-to/index.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs/how-to").glob("*.md")} - {"index.md"}
    assert set(re.findall(r"\]\(([\w-]+\.md)\)", index)) == pages
    assert {
        f"{name}.md" for name in re.findall(r"^([\w-]+)$", index.partition("{toctree}")[2], re.MULTILINE)
    } == pages
