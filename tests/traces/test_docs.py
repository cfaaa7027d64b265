"""``docs/traces.md`` says what is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

from nbtools.traces.formats import formats
from nbtools.traces.query.sql import SESSION_COUNTS
from nbtools.traces.query.tables import COLUMNS, CORPUS_TABLES, TEXTS
from nbtools.traces.reviews.records import Label
from nbtools.traces.reviews.signals import DEFINITIONS

PAGE = Path(__file__).parents[2] / "docs/traces.md"
READ = """
import sys
from nbtools.traces import load

trace = load(sys.argv[1])
for call in trace.calls:
    print(call.name, call.subject, call.status, call.detail.result)
for problem in trace.problems:
    print("line", problem.ref.line)
print(trace.facts()["tool_calls"], "calls,", len(trace.search("make")), "found")
"""


def sections() -> dict[str, str]:
    parts = re.split(r"^#+ (.+)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {title: text for title, text in pairwise(parts) if title in parts[::2]}


def rows(text: str) -> list[tuple[str, str]]:
    """The first two cells of each row of a table whose first is code."""
    return re.findall(r"^\| `(.+?)` \| (.+?) \|", text, flags=re.MULTILINE)


DOCUMENTED = {**CORPUS_TABLES, "labels": Label}


@pytest.mark.parametrize("table", DOCUMENTED)
def test_every_column_is_there_and_held_as_it_says(table: str) -> None:
    kind = DOCUMENTED[table]
    texts = [(name, "json" if name == "args" else "text") for name in TEXTS.get(kind, ())]
    counts = SESSION_COUNTS.items() if table == "sessions" else ()
    assert rows(sections()[table]) == [*COLUMNS[kind].items(), ("source", "text"), *texts, *counts]


def test_every_format_is_there() -> None:
    told = [name for name, _ in rows(sections()["Formats"])]
    assert sorted(told) == sorted(known.name for known in formats())


def test_every_signal_is_defined_as_the_code_says() -> None:
    assert rows(sections()["Signals without a model"]) == [*DEFINITIONS.items()]


def test_the_reader_that_it_shows_reads(tmp_path: Path) -> None:
    section = sections()["A reader of your own"]
    (code,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    (entry,) = re.findall(r"```toml\n(.*?)```", section, flags=re.DOTALL)
    (line,) = re.findall(r"`(\{.*\})`", section)
    points = tomllib.loads(entry)["project"]["entry-points"]
    about = tmp_path / "my_package-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: my-package\nVersion: 1\n")
    (about / "entry_points.txt").write_text(
        "".join(f"[{group}]\n{name} = {of}\n" for group in points for name, of in points[group].items())
    )
    (tmp_path / "my_package.py").write_text(code)
    (tmp_path / "log").write_text(f"{line}\nno JSON\n{line.replace('false', 'true')}\n")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }
    printed = subprocess.run(
        [sys.executable, "-c", READ, tmp_path / "log"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert printed.stdout.splitlines() == [
        "run make ok done",
        "run make error done",
        "line 2",
        "2 calls, 2 found",
    ]
