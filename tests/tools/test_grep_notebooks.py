"""grep in notebooks: the sources of cells, with the cell of each match."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

import nbformat
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nbtools import Session
from nbtools.core.result import CellPlace, Listing
from nbtools.tools.grep import GrepTool
from nbtools.workspace.workspace import Workspace
from tests.tools.test_grep import grep


def notebook(*sources, output="TODO in an output", lists=True, indent=1, ids=True):
    cells = [
        {
            "cell_type": "code",
            "execution_count": 1,
            **({"id": f"c{number}"} if ids else {}),
            "metadata": {"TODO": "in metadata"},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": [f"{output} {number}\n"]}],
            "source": source.splitlines(keepends=True) if lists else source,
        }
        for number, source in enumerate(sources)
    ]
    return (
        json.dumps(
            {"cells": cells, "metadata": {"title": "TODO"}, "nbformat": 4, "nbformat_minor": 5}, indent=indent
        )
        + "\n"
    )


SOURCES = ("# TODO one\nx = 1\n# todo two", "y = 2", "z = 'TODO three'")
FOUND = [(CellPlace("c0", 1), 1, "# TODO one"), (CellPlace("c2", 3), 1, "z = 'TODO three'")]


def places(result):
    return [(match.cell, match.line, match.text) for match in result.data.matches if not match.context]


@pytest.mark.parametrize(
    ("params", "lines"),
    [
        ({}, 2),
        ({"ignore_case": True}, 3),
        ({"fixed": True}, 2),
        ({"word": True}, 2),
        ({"multiline": True, "pattern": "TODO"}, 2),
        ({"outputs": True}, 5),
        ({"glob": "*.ipynb"}, 2),
        ({"glob": "*.{py,ipynb}"}, 2),
        ({"type": "jupyter"}, 2),
        ({"path": "nb.ipynb"}, 2),
        ({"per_file": 5}, 2),
        ({"pattern": "TO.O"}, 2),
    ],
)
async def test_sources_of_cells_are_searched(tmp_path, params, lines):
    (tmp_path / "nb.ipynb").write_text(notebook(*SOURCES))
    (tmp_path / "only_outputs.ipynb").write_text(notebook("x = 1")) if "outputs" not in params else None
    tool = GrepTool(Workspace(tmp_path))
    result = await tool.validate_build_and_execute({"pattern": "TODO", **params})
    assert result.data.counts == {"nb.ipynb": lines}
    assert set(FOUND) <= set(places(result))
    assert result.data.total == len(places(result))
    counted = await tool.validate_build_and_execute({"pattern": "TODO", "mode": "count", **params})
    assert counted.data.counts == result.data.counts
    files = await tool.validate_build_and_execute({"pattern": "TODO", "mode": "files", **params})
    assert files.data.counts == {"nb.ipynb": 1}


@pytest.mark.parametrize(
    "params",
    [{"glob": "*.py"}, {"type": "py"}, {"exclude": "*.ipynb"}, {"path": "a.txt"}, {"glob": "src/**/*.txt"}],
)
async def test_a_search_of_other_files_does_not_find_notebooks(tmp_path, params):
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "nb.ipynb").write_text(notebook(*SOURCES))
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute({"pattern": "TODO", **params})
    assert result.data.counts == {}


async def test_notebooks_are_the_last_files_and_hits_name_their_cells(tmp_path):
    (tmp_path / "a.ipynb").write_text(notebook(*SOURCES))
    (tmp_path / "old.ipynb").write_text(notebook("TODO", ids=False))
    (tmp_path / "z.py").write_text("TODO\n")
    (tmp_path / "dir.ipynb").mkdir()
    (tmp_path / "dir.ipynb" / "b.py").write_text("TODO\n")
    tool = GrepTool(Workspace(tmp_path))
    result = await grep(tool, "TODO")
    assert list(result.data.counts) == ["dir.ipynb/b.py", "z.py", "a.ipynb", "old.ipynb"]
    assert str(result.llm_content).split("\n\n")[2:] == [
        "a.ipynb cell 1 (id c0)\n1: # TODO one",
        "a.ipynb cell 3 (id c2)\n1: z = 'TODO three'",
        "old.ipynb cell 1\n1: TODO",
    ]
    listed = await tool.validate_build_and_execute({"pattern": "TODO", "mode": "files"})
    assert isinstance(listed.return_display, Listing)
    assert [entry.path for entry in listed.return_display.entries] == list(result.data.counts)


async def test_outputs_are_named_as_such(tmp_path):
    (tmp_path / "nb.ipynb").write_text(notebook("x = 1"))
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute(
        {"pattern": "in an output", "outputs": True}
    )
    assert places(result) == [(CellPlace("c0", 1, output=True), 1, "TODO in an output 0")]
    assert "nb.ipynb cell 1 output (id c0)\n1: TODO" in str(result.llm_content)


async def test_pages_and_context_stay_in_the_cell(tmp_path):
    (tmp_path / "nb.ipynb").write_text(notebook(*SOURCES))
    (tmp_path / "a.py").write_text("TODO\n")
    tool = GrepTool(Workspace(tmp_path))
    pages = [
        await tool.validate_build_and_execute({"pattern": "TODO", "limit": 1, "offset": at, "context": 2})
        for at in range(3)
    ]
    assert [places(page) for page in pages] == [[(None, 1, "TODO")], FOUND[:1], FOUND[1:]]
    around = [[(match.line, match.context) for match in page.data.matches] for page in pages]
    assert around == [[(1, False)], [(1, False), (2, True), (3, True)], [(1, False)]]


async def test_a_match_over_several_lines_stays_in_the_cell(tmp_path):
    (tmp_path / "nb.ipynb").write_text(notebook("a\nb", "c"))
    tool = GrepTool(Workspace(tmp_path))
    across = await tool.validate_build_and_execute({"pattern": r"a\sb", "multiline": True})
    assert [(match.cell.number, match.line) for match in across.data.matches] == [(1, 1), (1, 2)]
    assert (await tool.validate_build_and_execute({"pattern": r"b\s*c", "multiline": True})).data.total == 0


@pytest.mark.parametrize(
    "text",
    [notebook("TODO", lists=False), notebook("TODO").replace("\n", "\r\n"), notebook("TODO", indent=None)],
)
async def test_notebooks_however_they_are_written(tmp_path, text):
    (tmp_path / "nb.ipynb").write_bytes(text.encode())
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute({"pattern": "TODO"})
    assert result.data.counts == {"nb.ipynb": 1}


@pytest.mark.parametrize(
    "text",
    [
        "{TODO\nTODO\n",
        '{"nbformat": 3, "worksheets": [],\n"a": "TODO",\n"b": "TODO"}',
        "[" * 100_000 + "\nTODO\nTODO\n",
    ],
)
async def test_a_file_that_is_no_notebook_is_searched_as_text(tmp_path, text):
    (tmp_path / "nb.ipynb").write_text(text)
    for pattern in ("TODO", "TO.O"):
        result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute(
            {"pattern": pattern, "context": 1}
        )
        assert result.data.counts == {"nb.ipynb": 2}
        assert [(match.cell, match.context) for match in result.data.matches if not match.context] == [
            (None, False)
        ] * 2


async def test_a_long_line_is_cut_around_its_hit(tmp_path):
    (tmp_path / "nb.ipynb").write_text(notebook("x" * 3000 + "TODO" + "y" * 3000))
    (match,) = (
        await GrepTool(Workspace(tmp_path)).validate_build_and_execute({"pattern": "TODO"})
    ).data.matches
    ((start, end),) = match.ranges
    assert match.text[start:end] == "TODO"
    assert match.text.endswith("[6,004 characters in all]")


async def test_hidden_ignored_and_linked_notebooks_are_left_out(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.ipynb").write_text(notebook("TODO"))
    root = tmp_path / "root"
    for folder in (".hidden", "ignored", "node"):
        (root / folder).mkdir(parents=True)
        (root / folder / "nb.ipynb").write_text(notebook("TODO"))
    (root / ".gitignore").write_text("ignored\n")
    (root / "link").symlink_to(outside)
    (root / "file.ipynb").symlink_to(outside / "x.ipynb")
    tool = GrepTool(Workspace(root))
    assert (await grep(tool, "TODO")).data.counts == {"node/nb.ipynb": 1}
    everything = await tool.validate_build_and_execute({"pattern": "TODO", "hidden": True, "ignored": True})
    assert sorted(everything.data.counts) == [".hidden/nb.ipynb", "ignored/nb.ipynb", "node/nb.ipynb"]


async def test_an_invalid_pattern_is_refused_for_a_notebook_without_cells(tmp_path):
    (tmp_path / "nb.ipynb").write_text(notebook())
    result = await GrepTool(Workspace(tmp_path)).validate_build_and_execute(
        {"pattern": "(", "path": "nb.ipynb"}
    )
    assert result.error is not None


LETTERS = st.text(st.sampled_from("abkKsn\u017f\u212aä\u20ac\U0001f600\"\\/\t\n\r\b\ufeff <&.-'"), max_size=8)


@st.composite
def documents(draw):
    """A valid notebook in an unusual spelling, and its sources."""
    cells, sources = [], []
    for number in range(draw(st.integers(0, 3))):
        pieces = draw(st.lists(LETTERS, max_size=4))
        source: object = pieces if draw(st.booleans()) else "".join(pieces)
        sources.append("".join(pieces))
        shown = [{"output_type": "stream", "name": "stdout", "text": draw(LETTERS)}]
        cells.append(
            {
                "cell_type": "code",
                "id": f"c{number}",
                "metadata": {},
                "execution_count": None,
                "outputs": shown,
                "source": source,
            }
        )
    whole = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = json.dumps(whole, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    if draw(st.booleans()):
        escaped = draw(st.sampled_from("abks"))
        text = re.sub(
            rf'(?<=[ "]){escaped}(?=[^"]*")(?!ell|ource|tdout|etadata)', f"\\\\u{ord(escaped):04x}", text
        )
    encoding = draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]))
    return text.encode(encoding), sources


PATTERNS = LETTERS.filter(lambda text: text and "\n" not in text)


@given(documents(), PATTERNS, st.booleans())
@example((notebook("ZQ").replace('"ZQ"', '"Z",\n"", "Q"').encode(), ["ZQ"]), "ZQ", False)
@example((notebook("ZQ").replace('"ZQ"', '"", "ZQ"').encode(), ["ZQ"]), "ZQ", False)
@example((notebook("x").replace('"x"', '"\\\\n",\n"Z"').encode(), ["\\nZ"]), "nZ", False)
@example((notebook("x").replace('"x"', '"\\u212a"').encode(), ["\u212a"]), "k", True)
async def test_hits_are_those_in_the_decoded_sources(document, pattern, ignore_case):
    data, sources = document
    parsed = nbformat.reads(re.sub(r"^\ufeff", "", data.decode(json.detect_encoding(data))), as_version=4)
    assert [cell.source for cell in parsed.cells] == sources
    wanted = re.compile(re.escape(pattern), re.IGNORECASE if ignore_case else 0)
    expected = [
        (f"c{at}", number)
        for at, source in enumerate(sources)
        for number, line in enumerate(source.split("\n"), 1)
        if wanted.search(line)
    ]
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "nb.ipynb").write_bytes(data)
        tool = GrepTool(Workspace(Path(folder)))
        for params in (
            {"fixed": True, "pattern": pattern},
            {"pattern": re.sub(r"[^a-zA-Z0-9_ ]", lambda one: f"\\x{{{ord(one[0]):x}}}", pattern)},
        ):
            result = await tool.validate_build_and_execute(
                {"ignore_case": ignore_case, "limit": 10_000, **params}
            )
            assert result.error is None
            assert [(match.cell.id, match.line) for match in result.data.matches] == expected


@pytest.mark.parametrize(
    ("dialect", "name", "arguments", "says"),
    [
        (
            "gemini",
            "grep_search",
            {"pattern": "in an output"},
            "File: nb.ipynb, cell 1 output\nL1: TODO in an output 0",
        ),
        (
            "claude",
            "Grep",
            {"pattern": "in an output", "output_mode": "content"},
            "nb.ipynb:cell 1 output:1:TODO in an output 0",
        ),
        ("claude", "Grep", {"pattern": "in an output"}, "Found 1 file\nnb.ipynb"),
        ("void", "search_for_files", {"query": "in an output"}, "nb.ipynb"),
        (
            "void",
            "search_in_file",
            {"uri": "nb.ipynb", "query": "x = 1"},
            "Line 1 of cell 1:\n```\nx = 1\n```",
        ),
        ("codex", "grep_files", {"pattern": "x = 1"}, "nb.ipynb"),
    ],
)
async def test_other_dialects_word_the_cells(tmp_path, dialect, name, arguments, says):
    (tmp_path / "nb.ipynb").write_text(notebook("x = 1"))
    async with Session(tmp_path, dialect=dialect) as session:
        result = await session.call(name, arguments)
    assert says in str(result.llm_content)
