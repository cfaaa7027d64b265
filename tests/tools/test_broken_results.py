"""No text tool leaves a notebook file that is no notebook, or text in two encodings,
whatever the tool and the dialect.
"""

import json

import pytest

from nbtools import Policy, Session
from nbtools.core.errors import ErrorCode

CELL = {
    "cell_type": "code",
    "id": "a",
    "metadata": {},
    "source": ["x = 1"],
    "outputs": [],
    "execution_count": None,
}
NOTEBOOK = json.dumps({"cells": [CELL], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"
LINE = ' "cells": ['
BROKEN = ' "cells" ['
BLOCK = f"<<<<<<< SEARCH\n{LINE}\n=======\n{BROKEN}\n>>>>>>> REPLACE\n"
VOID_BLOCK = f"<<<<<<< ORIGINAL\n{LINE}\n=======\n{BROKEN}\n>>>>>>> UPDATED\n"
UPDATE = "*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n"
UNIFIED = "--- {path}\n+++ {path}\n@@ -2 +2 @@\n-{old}\n+{new}\n"


def update(path, old, new):
    return UPDATE.format(path=path, old=old, new=new)


CHANGES = [
    ("nbtools", "edit", {"path": "n.ipynb", "old": '"cells":', "new": '"cells"'}),
    ("nbtools", "edit", {"path": "n.ipynb", "old": '"nbformat": 4', "new": '"nbformat": "4"'}),
    ("nbtools", "edit", {"path": "n.ipynb", "old": '"cell_type": "code"', "new": '"cell_type": "kode"'}),
    ("nbtools", "edit", {"path": "new.ipynb", "old": "", "new": "import os\n"}),
    ("nbtools", "write", {"path": "n.ipynb", "content": "import os\n"}),
    ("nbtools", "write", {"path": "new.IPYNB", "content": "import os\n"}),
    (
        "nbtools",
        "write",
        {"path": "new.ipynb", "content": '{"cells": [{"cell_type": "code", "source": ""}], "nbformat": 4}'},
    ),
    ("nbtools", "patch", {"patch": BLOCK, "path": "n.ipynb"}),
    ("nbtools", "patch", {"patch": update("n.ipynb", LINE, BROKEN)}),
    ("nbtools", "patch", {"patch": UNIFIED.format(path="n.ipynb", old=LINE, new=BROKEN)}),
    ("nbtools", "patch", {"patch": "*** Begin Patch\n*** Add File: new.ipynb\n+import os\n*** End Patch\n"}),
    (
        "nbtools",
        "patch",
        {
            "patch": "*** Begin Patch\n*** Update File: t.txt\n*** Move to: new.ipynb\n@@\n-caf\n+x\n*** End Patch\n"
        },
    ),
    (
        "nbtools",
        "replace_in_files",
        {"pattern": '"cells":', "replacement": "", "fixed": True, "path": "n.ipynb", "apply": True},
    ),
    (
        "gemini",
        "replace",
        {"file_path": "n.ipynb", "instruction": "", "old_string": '"cells":', "new_string": '"cells"'},
    ),
    ("gemini", "write_file", {"file_path": "n.ipynb", "content": "import os"}),
    ("claude", "Write", {"file_path": "new.ipynb", "content": "import os"}),
    ("codex", "apply_patch", {"input": update("n.ipynb", LINE, BROKEN)}),
    ("void", "edit_file", {"uri": "n.ipynb", "search_replace_blocks": VOID_BLOCK}),
    ("void", "rewrite_file", {"uri": "n.ipynb", "new_content": "import os"}),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "n.ipynb").write_text(NOTEBOOK)
    (tmp_path / "t.txt").write_text("caf\n")
    return tmp_path


def content_of(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.parametrize(("dialect", "tool", "arguments"), CHANGES)
async def test_a_notebook_stays_a_notebook(folder, dialect, tool, arguments):
    before = content_of(folder)
    async with Session(folder, policy=Policy(mode="yolo"), dialect=dialect) as session:
        result = await session.call(tool, arguments)
    assert result.error is not None
    assert result.error.code in {ErrorCode.EDIT_PREPARATION_FAILURE, ErrorCode.FILE_WRITE_FAILURE}
    assert "valid notebook" in str(result.llm_content)
    assert content_of(folder) == before


async def test_an_edit_of_a_notebooks_text_that_keeps_it_valid_is_made(folder):
    async with Session(folder, policy=Policy(mode="yolo")) as session:
        assert (await session.call("edit", {"path": "n.ipynb", "old": "x = 1", "new": "x = 2"})).error is None
        empty = json.dumps({"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        assert (await session.call("write", {"path": "new.ipynb", "content": empty})).error is None


async def test_a_notebook_with_conflict_marks_is_repaired_in_several_steps(folder):
    (folder / "n.ipynb").write_text(NOTEBOOK.replace(LINE, f"<<<<<<< ours\n{LINE}\n=======\n"))
    async with Session(folder, policy=Policy(mode="yolo")) as session:
        assert (
            await session.call("edit", {"path": "n.ipynb", "old": "<<<<<<< ours\n", "new": ""})
        ).error is None
        assert (
            await session.call("edit", {"path": "n.ipynb", "old": "=======\n\n", "new": ""})
        ).error is None
    assert json.loads((folder / "n.ipynb").read_text())["nbformat"] == 4


TEXTS = [
    ("latin-1", "const café = 1\nlast\n", "€"),
    ("latin-1", "const café = 1\nlast\n", "é"),
    ("shift_jis", "const 日本語の = 1\nlast\n", "名前"),
    ("gbk", "const 中文字符 = 1\nlast\n", "中"),
    ("euc_kr", "const 한국어 = 1\nlast\n", "한"),
    ("iso2022_jp", "const 日本語 = 1\nlast\n", "名前"),
]


@pytest.mark.parametrize(("encoding", "text", "added"), TEXTS)
@pytest.mark.parametrize("dialect", ["nbtools", "gemini", "claude", "codex", "void"])
async def test_text_that_does_not_fit_the_encoding_of_a_file_is_refused(
    tmp_path, encoding, text, added, dialect
):
    data = text.encode(encoding)
    (tmp_path / "f").write_bytes(data)
    new = f"new {added}"
    blocks = "<<<<<<< ORIGINAL\nlast\n=======\n{}\n>>>>>>> UPDATED\n"
    calls = {
        "nbtools": [
            ("edit", {"path": "f", "old": "last", "new": new}),
            ("write", {"path": "f", "content": f"{new}\n"}),
            ("patch", {"patch": update("f", "last", new)}),
            ("replace_in_files", {"pattern": "last", "replacement": new, "path": "f", "apply": True}),
        ],
        "gemini": [
            ("replace", {"file_path": "f", "instruction": "", "old_string": "last", "new_string": new}),
            ("write_file", {"file_path": "f", "content": new}),
        ],
        "claude": [
            ("Edit", {"file_path": "f", "old_string": "last", "new_string": new}),
            ("Write", {"file_path": "f", "content": new}),
        ],
        "codex": [("apply_patch", {"input": update("f", "last", new)})],
        "void": [
            ("edit_file", {"uri": "f", "search_replace_blocks": blocks.format(new)}),
            ("rewrite_file", {"uri": "f", "new_content": new}),
        ],
    }[dialect]
    async with Session(tmp_path, policy=Policy(mode="yolo"), dialect=dialect) as session:
        if dialect == "claude":
            await session.call("Read", {"file_path": "f"})
        for tool, arguments in calls:
            result = await session.call(tool, arguments)
            assert result.error is not None, tool
            assert result.error.code is ErrorCode.EDIT_PREPARATION_FAILURE, (tool, result.llm_content)
        assert (tmp_path / "f").read_bytes() == data
        ascii_only = update("f", "last", "new") if dialect == "codex" else None
        if ascii_only:
            assert (await session.call("apply_patch", {"input": ascii_only})).error is None
            assert (tmp_path / "f").read_bytes() == data.replace(b"last", b"new")


async def test_text_is_added_to_a_utf8_file_with_a_damaged_byte(tmp_path):
    (tmp_path / "f").write_bytes(("é" * 20).encode() + b"\xff\nlast\n")
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        assert (await session.call("edit", {"path": "f", "old": "last", "new": "né"})).error is None
    assert (tmp_path / "f").read_bytes() == ("é" * 20).encode() + b"\xff\nn\xc3\xa9\n"
