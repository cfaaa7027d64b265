"""A change by a call can be undone and redone."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Literal

import pytest

from nbtools import ErrorCode, FileDiff, Policy, Session
from nbtools.core.result_data import UndoData
from nbtools.core.settings import Settings
from nbtools.testing import temporary_workspace
from nbtools.workspace.notebooks.open_notebooks import (
    CellChange,
    NoOpenNotebooks,
    OpenCell,
    OpenNotebook,
    ReplaceCell,
)

FILES = {
    "a.py": "one\ntwo\nthree\nfour\nfive\nsix\n",
    "b.txt": "b\n",
    "dir/x": "x\n",
    "dir/deep/y": "yy\n",
    "n.ipynb": '{"cells": [{"cell_type": "code", "id": "c1", "metadata": {}, "source": "1", "outputs": [], "execution_count": null}],'
    ' "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
}
YOLO = Policy(mode="yolo")
CHANGED = "one\nzwei\nthree\nfour\nfive\nSIX\n"


def tree(root: Path) -> dict[str, tuple[object, int]]:
    """Every path with what it holds (or where it leads) and its mode."""
    found: dict[str, tuple[object, int]] = {}
    for path in sorted(root.rglob("*")):
        content = path.read_bytes() if path.is_file() else None
        what = str(path.readlink()) if path.is_symlink() else content
        found[str(path.relative_to(root))] = what, stat.S_IMODE(path.lstat().st_mode)
    return found


def test_a_session_without_await_lists_and_undoes_changes() -> None:
    with temporary_workspace(FILES) as root, Session(root, policy=YOLO).sync() as session:
        assert session.call("write", {"path": "new.txt", "content": "new\n"}, id="w").ok
        assert [(change.id, change.files, change.undone) for change in session.changes] == [
            ("w", ("new.txt",), False)
        ]
        assert session.undo().ok
        assert not (root / "new.txt").exists()
        assert [change.undone for change in session.changes if change.id == "w"] == [True]
        again = session.undo("nothing of the sort")
        assert again.error is not None
        assert again.error.code is ErrorCode.INVALID_TOOL_PARAMS


PATCH = """*** Begin Patch
*** Update File: a.py
@@
-two
+TWO
*** Delete File: b.txt
*** Add File: new/c.txt
+c
*** Update File: dir/x
*** Move to: moved/x
@@
-x
+X
*** End Patch
"""

CALLS = {
    "edit": ("edit", {"path": "a.py", "old": "two", "new": "TWO"}),
    "overwrite": ("write", {"path": "a.py", "content": "all new\n"}),
    "create": ("write", {"path": "new/deep/f.txt", "content": "new\n"}),
    "make a folder": ("write", {"path": "new/folder/", "content": ""}),
    "patch": ("patch", {"patch": PATCH}),
    "replace": (
        "replace_in_files",
        {"pattern": "[xy]", "replacement": "Z", "glob": "*.{py,txt}", "apply": True},
    ),
    "delete a file": ("delete", {"path": "b.txt"}),
    "delete a folder": ("delete", {"path": "dir", "recursive": True}),
    "delete a link": ("delete", {"path": "link"}),
    "move": ("move", {"path": "a.py", "to": "there/z.py"}),
    "move a folder": ("move", {"path": "dir", "to": "other"}),
    "move over": ("move", {"path": "a.py", "to": "b.txt", "overwrite": True}),
    "cells": ("cells", {"path": "n.ipynb", "action": "replace", "id": "c1", "source": "2"}),
    "memory": ("memory", {"text": "Tabs, not spaces."}),
}


@pytest.mark.parametrize("what", CALLS)
async def test_a_change_is_undone_and_redone(what: str) -> None:
    with temporary_workspace(FILES) as root:
        (root / "a.py").chmod(0o751)
        (root / "b.txt").chmod(0o600)
        (root / "link").symlink_to("dir")
        before = tree(root)
        async with Session(root, policy=YOLO) as session:
            result = await session.call(*CALLS[what], id="the-call")
            assert result.ok, result.error
            after = tree(root)
            assert after != before
            undone = await session.undo()
            assert undone.ok, undone.error
            assert isinstance(undone.data, UndoData)
            assert undone.data.call == "the-call"
            assert tree(root) == before
            again = await session.undo(session.history[-1].request.id)
            assert again.ok, again.error
            assert tree(root) == after
            assert (await session.undo("the-call")).ok
            assert tree(root) == before
            assert [call.request.name for call in session.history] == [CALLS[what][0], "undo", "undo", "undo"]


async def test_the_last_change_goes_first_and_then_the_one_before() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            states = [tree(root)]
            for what in ("edit", "delete a file", "move a folder", "create"):
                assert (await session.call(*CALLS[what])).ok
                states.append(tree(root))
            for state in reversed(states[:-1]):
                assert (await session.undo()).ok
                assert tree(root) == state
            nothing = await session.undo()
            assert nothing.error is not None
            assert nothing.error.code is ErrorCode.EDIT_NO_CHANGE
            assert "Nothing is left to undo" in nothing.error.message


async def test_a_later_session_undoes_what_an_earlier_one_did() -> None:
    with temporary_workspace(FILES) as root:
        before = tree(root)
        async with Session(root, policy=YOLO) as first:
            await first.call(*CALLS["patch"], id="first-patch")
        async with Session(root, policy=YOLO) as second:
            (change,) = second.changes
            assert (change.id, change.tool, change.undone, change.of_this_session) == (
                "first-patch",
                "patch",
                False,
                False,
            )
            assert set(change.files) == {"a.py", "b.txt", "new/c.txt", "dir/x", "moved/x"}
            undone = await second.undo()
            assert undone.ok, undone.error
            assert "of another session" in str(undone.llm_content)
            assert tree(root) == before
            assert [one.undone for one in second.changes] == [True, False]


async def test_a_file_changed_since_is_a_conflict_shown_as_a_merge_that_can_be_taken() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"], id="edit-1")
            (root / "a.py").write_text((root / "a.py").read_text().replace("six", "SIX"))
            refused = await session.undo("edit-1")
            assert refused.error is not None
            assert refused.error.code is ErrorCode.CONFLICT
            assert "Undo edit-1 with merge" in refused.error.message
            assert isinstance(refused.return_display, FileDiff)
            assert refused.return_display.new_content == "one\ntwo\nthree\nfour\nfive\nSIX\n"
            assert [(file.path, file.outcome) for file in refused.data.files] == [("a.py", "mergeable")]
            assert "TWO" in (root / "a.py").read_text()
            merged = await session.undo("edit-1", merge=True)
            assert merged.ok, merged.error
            assert (root / "a.py").read_text() == "one\ntwo\nthree\nfour\nfive\nSIX\n"
            assert (await session.undo(session.history[-1].request.id)).ok
            assert (root / "a.py").read_text() == "one\nTWO\nthree\nfour\nfive\nSIX\n"


async def test_a_change_in_the_same_lines_is_never_overwritten() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"])
            (root / "a.py").write_text("one\nzwei\nthree\nfour\nfive\nsix\n")
            for merge in (False, True):
                refused = await session.undo(merge=merge)
                assert refused.error is not None
                assert refused.error.code is ErrorCode.CONFLICT
                assert "in the same lines" in refused.error.message
                assert (root / "a.py").read_text() == "one\nzwei\nthree\nfour\nfive\nsix\n"


@pytest.mark.parametrize(
    ("merge", "expected"),
    [("keep", "one\nzwei\nthree\nfour\nfive\nSIX\n"), ("take_back", "one\ntwo\nthree\nfour\nfive\nSIX\n")],
)
async def test_the_person_decides_whether_lines_changed_twice_are_undone(
    merge: Literal["keep", "take_back"], expected: str
) -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"], id="edit-1")
            (root / "a.py").write_text(CHANGED)
            refused = await session.undo("edit-1")
            assert refused.data.has_same_lines
            assert (await session.undo("edit-1", merge=merge)).ok
            assert (root / "a.py").read_text() == expected
            assert (await session.undo(session.history[-1].request.id)).ok or merge == "keep"
            assert (root / "a.py").read_text() == CHANGED


async def test_a_conflict_that_is_not_in_lines_has_no_sides() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"])
            (root / "a.py").unlink()
            for merge in (False, "keep", "take_back"):
                refused = await session.undo(merge=merge)  # type: ignore[arg-type]
                assert not refused.ok
                assert not refused.data.has_same_lines
            assert not (root / "a.py").exists()


async def test_all_or_nothing() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["patch"])
            (root / "new" / "c.txt").write_text("mine now\n")
            changed = tree(root)
            refused = await session.undo()
            assert refused.error is not None
            assert {file.path: file.outcome for file in refused.data.files}["new/c.txt"] == "conflict"
            assert tree(root) == changed


@pytest.mark.parametrize("what", ["delete a folder", "delete a file"])
async def test_a_new_file_with_the_same_name_is_not_overwritten(what: str) -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS[what])
            path = root / CALLS[what][1]["path"]  # type: ignore[index]
            path.write_text("mine\n")
            refused = await session.undo()
            assert refused.error is not None
            assert refused.error.code is ErrorCode.CONFLICT
            assert path.read_text() == "mine\n"
            path.unlink()
            assert (await session.undo()).ok


async def test_later_files_in_a_created_folder_are_preserved() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["create"])
            (root / "new" / "mine").write_text("mine\n")
            assert (await session.undo()).ok
            assert [str(path.relative_to(root)) for path in (root / "new").rglob("*")] == ["new/mine"]


async def test_a_call_is_not_undone_twice() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"], id="edit-1")
            assert (await session.undo("edit-1")).ok
            by = session.history[-1].request.id
            twice = await session.undo("edit-1")
            assert twice.error is not None
            assert twice.error.code is ErrorCode.EDIT_NO_CHANGE
            assert f"Undo {by} to restore its changes" in twice.error.message


async def test_unknown_calls_and_calls_without_changes_are_reported() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            nothing = await session.undo()
            assert nothing.error is not None
            assert "no call has saved changes here" in nothing.error.message
            await session.call("read", {"path": "a.py"}, id="reading")
            for call in ("reading", "nonsense"):
                unknown = await session.undo(call)
                assert unknown.error is not None
                assert unknown.error.code is ErrorCode.INVALID_TOOL_PARAMS
                assert f"no change by the call '{call}'" in unknown.error.message


async def test_deny_rules_and_mode_plan_apply_without_approval() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            await session.call(*CALLS["edit"])
            changed = tree(root)
            for policy in (Policy(mode="plan"), Policy(deny=("edit(a.py)",)), Policy(deny=("undo",))):
                session.policy = policy
                refused = await session.undo()
                assert refused.error is not None
                assert refused.error.code is ErrorCode.POLICY_VIOLATION
                assert tree(root) == changed
            session.policy = Policy(mode="dont_ask")
            assert (await session.undo()).ok


async def test_without_a_journal_nothing_is_stored_and_a_message_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO, settings=Settings(journal=False)) as session:
            deleted = await session.call(*CALLS["delete a folder"])
            assert "It cannot be undone: there is no journal." in str(deleted.llm_content)
            for what in ("edit", "delete a file", "move", "create"):
                assert (await session.call(*CALLS[what])).ok
            assert session.changes == ()
            nothing = await session.undo()
            assert nothing.error is not None
            assert "the journal is off" in nothing.error.message
        assert not (tmp_path / "state").exists()


async def test_a_deletion_that_is_too_large_to_keep_says_so_before() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO, settings=Settings(journal_bytes=3)) as session:
            tool = session._registry.get("delete")
            question = await tool.build({"path": "dir", "recursive": True}).should_confirm_execute()
            assert question is not False
            assert "It cannot be undone: it exceeds the journal limit of 3 bytes." in question.prompt  # type: ignore[union-attr]
            await session.call(*CALLS["delete a folder"])
            refused = await session.undo()
            assert refused.error is not None
            assert "too large to be stored" in refused.error.message


async def test_the_users_memory_is_brought_back_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            before = tree(tmp_path)
            assert (await session.call("memory", {"text": "Likes tabs.", "scope": "user"})).ok
            assert tree(tmp_path) != before
            assert (await session.undo()).ok
            assert tree(tmp_path) == before


class _OpenNotebook(NoOpenNotebooks):
    """One notebook that is open in an editor."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.source = "1"

    async def find(self, file: Path | None) -> OpenNotebook | None:
        return OpenNotebook("page", "n.ipynb", self.file, dirty=False, own=False)

    async def cells(self, notebook: OpenNotebook) -> tuple[OpenCell, ...]:
        return (OpenCell("c1", "code", self.source),)

    async def change(self, notebook: OpenNotebook, change: CellChange) -> tuple[OpenCell, ...]:
        assert isinstance(change, ReplaceCell)
        self.source = change.source
        return await self.cells(notebook)


async def test_a_change_in_an_open_notebook_says_who_undoes_it() -> None:
    with temporary_workspace(FILES) as root:
        async with Session(root, policy=YOLO) as session:
            session.workspace.open_notebooks = _OpenNotebook(root / "n.ipynb")
            changed = await session.call(*CALLS["cells"])
            assert changed.ok, changed.error
            refused = await session.undo()
            assert refused.error is not None
            assert refused.error.code is ErrorCode.CONFLICT
            assert (
                "n.ipynb: it was changed in the open notebook, which has its own undo. Undo it in the editor: Ctrl-Z"
                in refused.error.message
            )
            assert "by hand" not in refused.error.message
