"""Runs one recorded call again in a copy, under a policy, and compares the result with the recorded one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbtools.core.background import run_sync
from nbtools.core.confirmation import Confirmer
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, ToolResult
from nbtools.core.settings import Settings
from nbtools.diff.line_diff import file_diff
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay.canonical_call import CanonicalCall, canonical_call
from nbtools.replay.copy import Copy, temporary_copy
from nbtools.replay.output_comparison import (
    comparable_text,
    content_text,
    normalize,
    same_changes,
    volatile_differences,
)
from nbtools.replay.replayed import Replayed
from nbtools.replay.working_directory import WorkingDirectory, folder_to_copy, working_directory_of
from nbtools.session import Session
from nbtools.traces.model import Call, Detail

DEFAULT_POLICY = Policy(mode=Mode.AUTO_EDIT)
"""The default policy: edits run, because the copy is temporary;
commands need approval, because they can affect more.
"""
REPLAY_SETTINGS = Settings(read_first=False, journal=False, sandbox="if_present")
"""Edits need no previous read, there is no undo,
and commands run in a sandbox without network if one is available.
"""


async def replay(
    call: Call,
    folder: str | Path | None = None,
    commit: str = "",
    *,
    cwd: str = "",
    policy: Policy | None = None,
    confirmer: Confirmer | None = None,
) -> Replayed:
    """Runs ``call`` with the equivalent tool of nbtools in a temporary copy of ``folder``.

    ``folder`` defaults to the session's own; it is copied at ``commit``, else at the recorded commit if the
    repository has it, else as it is.  ``cwd`` is the session's folder if the log does not record it.  Without
    a ``policy`` edits run and commands ask ``confirmer``; without one they are denied.  Raises ``TraceError``
    if the call has no equivalent or the folder does not exist.
    """
    ground = working_directory_of(call, cwd)
    detail = call.detail
    canonical_call(call, ground, detail=detail)  # raises before copying
    async with (
        temporary_copy(folder_to_copy(ground, folder), commit, ground.commit) as copy,
        open_session(copy, policy, confirmer) as session,
    ):
        return await replay_in_copy(call, ground.in_copy(copy), copy, session, detail=detail)


def replay_sync(call: Call, folder: str | Path | None = None, commit: str = "", **options: Any) -> Replayed:
    """Like ``replay``, for programs without an event loop: waits for the result.

    ``options`` are those of ``replay``; ``confirmer`` is called in another thread.
    """
    return run_sync(replay(call, folder, commit, **options), "nbtools-replay")


def open_session(copy: Copy, policy: Policy | None, confirmer: Confirmer | None) -> Session:
    session = Session(
        copy.root, policy=policy or DEFAULT_POLICY, confirmer=confirmer, settings=REPLAY_SETTINGS
    )
    session.saves_grants = False
    return session


async def replay_in_copy(
    call: Call,
    ground: WorkingDirectory,
    copy: Copy,
    session: Session,
    *,
    detail: Detail,
    meaning: CanonicalCall | None = None,
    id: str | None = None,  # noqa: A002 - the session's name for it
) -> Replayed:
    """Runs one call in an existing copy; ``meaning`` replaces what the record says."""
    root = str(copy.root)
    canonical = meaning or canonical_call(call, ground, root, detail)
    result = await session.call(canonical.tool, canonical.arguments, id=id)
    comparison = _compare(call, detail, result, canonical.word_result(result), ground, root)
    difference = file_diff(f"result of {call.name}", comparison.recorded, comparison.new)
    same, volatile_parts = (
        comparison.same() if result.error is None or call.status == "error" else (False, ())
    )
    return Replayed(
        call,
        detail,
        canonical,
        result,
        difference,
        same,
        volatile_parts if same else (),
        copy.basis,
        ground.cwd,
    )


@dataclass(frozen=True, slots=True)
class _Comparison:
    recorded: str
    new: str
    diffs: bool = False

    def same(self) -> tuple[bool, tuple[str, ...]]:
        if self.diffs:
            return same_changes(self.recorded, self.new)
        return normalize(self.recorded) == normalize(self.new), volatile_differences(self.recorded, self.new)


def _compare(
    call: Call, detail: Detail, result: ToolResult, worded: ToolResult, ground: WorkingDirectory, root: str
) -> _Comparison:
    """Returns both texts to compare: of the displays if they are of the same kind,
    else of the model's content.
    """
    recorded_display, new_display = detail.display, result.return_display
    same_kind = not isinstance(recorded_display, str) and _kind(recorded_display) is _kind(new_display)
    old = comparable_text(recorded_display if same_kind else "", detail.result, (ground.cwd,))
    new = comparable_text(new_display if same_kind else "", content_text(worded.llm_content), (root,))
    if same_kind and isinstance(recorded_display, CommandOutput) and isinstance(new_display, CommandOutput):
        code = _exit_code(call, recorded_display)
        old, new = (
            old + _exit_code_line(code),
            new + (_exit_code_line(new_display.exit_code) if code is not None else ""),
        )
    return _Comparison(old, ground.restore_paths(new, root), same_kind and _kind(new_display) is FileDiff)


def _kind(display: object) -> type:
    return FileDiff if isinstance(display, FileDiffs) else type(display)


def _exit_code(call: Call, display: CommandOutput) -> int | None:
    """Returns the recorded exit code; None if unknown, so that it is not compared."""
    code = call.exit_code if display.exit_code is None else display.exit_code
    return 0 if code is None and call.status == "ok" else code


def _exit_code_line(code: int | None) -> str:
    return f"[exit code {code}]\n" if code else ""
