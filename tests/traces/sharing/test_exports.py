"""No export publishes a secret that the shared page removes."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from nbtools import to_notebook, traces
from nbtools.core.redaction import encodings
from nbtools.traces import Trace
from nbtools.traces.export import write_atif, write_claude_code, write_csv, write_parquet
from tests.traces.sharing.planted import secrets, write_planted_log

Export = Callable[..., Path]
EXPORTS: dict[str, Export] = {
    "notebook": lambda trace, folder, **options: to_notebook(trace, folder / "story.ipynb", **options),
    "lesson": lambda trace, folder, **options: to_notebook(
        trace, folder / "lesson.ipynb", lesson=True, **options
    ),
    "atif": lambda trace, folder, **options: write_atif(trace, folder / "session.atif.json", **options),
    "claude": lambda trace, folder, **options: write_claude_code(
        trace, folder / "session.claude.jsonl", **options
    ),
    "csv": lambda trace, folder, **options: write_csv(trace, folder / "tables of csv", **options),
    "parquet": lambda trace, folder, **options: write_parquet(trace, folder / "tables", **options),
}
_TAGS = re.compile(r"<[^>]*>")


def strings(value: Any) -> Iterator[str]:
    """The texts of JSON; a list of texts is one text, too, as notebooks store lines,
    and spans of a card's line.
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        joined = "".join(
            item[0] if isinstance(item, list) and item and isinstance(item[0], str) else str(item)
            for item in value
        )
        yield joined
        for item in value:
            yield from strings(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)


def documents_in(path: Path, text: str) -> list[Any]:
    """The values in a file of JSON or of JSON lines, or in a folder of tables."""
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    if not path.is_dir():
        return [json.loads(text)]
    csv.field_size_limit(10**9)
    files = [io.StringIO(file.read_text(encoding="utf-8")) for file in path.glob("*.csv")]
    cells = [cell for file in files for row in csv.reader(file) for cell in row]
    rows = [parquet.read_table(file).to_pylist() for file in path.glob("*.parquet")]
    found = [*cells, *(value for table in rows for row in table for value in row.values())]
    assert found
    parsed = [json.loads(text) for text in found if isinstance(text, str) and text.startswith(("{", '["'))]
    return [found, *parsed]


def everything_in(path: Path) -> str:
    text = "" if path.is_dir() else path.read_text(encoding="utf-8")
    documents = documents_in(path, text)
    texts = [one for document in documents for one in strings(document)]
    return "\n".join([text, *texts, *(html.unescape(_TAGS.sub("", one)) for one in texts if "<" in one)])


@pytest.fixture(scope="module")
def planted_trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return traces.load(write_planted_log(tmp_path_factory.mktemp("planted") / "session.jsonl", secrets(4)))


@pytest.mark.parametrize("name", EXPORTS)
def test_no_planted_secret_is_in_an_export(name: str, planted_trace: Trace, tmp_path: Path) -> None:
    text = everything_in(EXPORTS[name](planted_trace, tmp_path))
    left = [
        one.kind
        for one in secrets(4)
        for part in one.secret.split("\n")
        if any(form in text for form in encodings(part))
    ]
    assert left == []
    assert "[redacted: " in text


@pytest.mark.parametrize("name", EXPORTS)
def test_home_folders_are_shortened_where_the_person_wants_it(
    name: str, planted_trace: Trace, tmp_path: Path
) -> None:
    assert "margarethe" not in everything_in(EXPORTS[name](planted_trace, tmp_path, home=True))
    assert "/home/margarethe" in everything_in(EXPORTS[name](planted_trace, tmp_path / "..", home=False))


@pytest.mark.parametrize("name", EXPORTS)
def test_a_secret_that_a_person_keeps_stays_and_further_patterns_are_removed(
    name: str, tmp_path: Path
) -> None:
    [planted] = [one for one in secrets(3) if one.kind == "GitHub token"][:1]
    trace = traces.load(write_planted_log(tmp_path / "session.jsonl", [planted]))
    [found] = traces.find_secrets(trace, home=False)
    assert planted.secret not in everything_in(EXPORTS[name](trace, tmp_path))
    text = everything_in(EXPORTS[name](trace, tmp_path, keep=[found.id], redact=r"the configuration"))
    assert planted.secret in text
    assert "the configuration" not in text


@pytest.mark.parametrize("lesson", [False, True])
def test_the_first_cell_says_how_many_secrets_were_removed(lesson: bool, tmp_path: Path) -> None:
    planted = [one for one in secrets(3) if one.kind in {"GitHub token", "GitLab token"}][:2]
    trace = traces.load(write_planted_log(tmp_path / "session.jsonl", planted))
    cells = json.loads(to_notebook(trace, tmp_path / "n.ipynb", lesson=lesson).read_text(encoding="utf-8"))[
        "cells"
    ]
    assert "2 secrets removed" in "".join(cells[0]["source"])
