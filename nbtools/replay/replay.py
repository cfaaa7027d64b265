"""One recorded call, run again: in a copy, under a policy, and compared with what is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from nbtools.core.confirmation import Confirmer
from nbtools.core.result import CommandOutput, FileDiff, FileDiffs, ToolResult
from nbtools.core.settings import Settings
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.replay.copying import Copy, copied
from nbtools.replay.ground import Ground, folder_of, ground_of
from nbtools.replay.meaning import Meaning, meaning_of
from nbtools.replay.wording import levelled, same_changes, text_in, volatile, words_of
from nbtools.session import Session
from nbtools.traces.model import Call, Detail
from nbtools.workspace.diff import file_diff

ASKS = Policy(mode=Mode.AUTO_EDIT)
"""Edits in the copy run, for it is thrown away; commands ask, for they reach further."""
SETTINGS = Settings(read_first=False, journal=False, sandbox="if_present")
"""What was read before is not read again; the copy needs no undo; commands are in a sandbox, without network, where there is one."""


@dataclass(frozen=True, slots=True)
class Replayed:
    """What ``meaning`` gave now (``result``) beside what is recorded.

    ``difference`` leads from the recorded text to the new one, in which the copy is named as the session's folder was.  ``same``: they
    differ in nothing, or in nothing but ``volatile`` parts: times, durations, temporary paths, addresses.  ``basis`` says what the copy
    had.  A call that policy or the person did not let run is not ``same``; ``result.error`` says so.
    """

    call: Call
    recorded: Detail
    meaning: Meaning
    result: ToolResult
    difference: FileDiff
    same: bool
    volatile: tuple[str, ...] = ()
    basis: str = ""
    cwd: str = ""
    """The session's folder as recorded."""

    @property
    def ran(self) -> bool:
        """Whether it was let run at all."""
        return self.result.error is None or self.result.error.code not in _NOT_RUN

    def __str__(self) -> str:
        head = f"{self.call.name} {self.call.subject} → {self.meaning.tool}, {self.basis}: {'the same' if self.same else 'different'}"
        apart = f", but for {'; '.join(self.volatile)}" if self.volatile else ""
        return f"{head}{apart}\n{self.difference.file_diff}".rstrip()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """In a notebook, a card.  The room above is named, not imported: programs do without it."""
        shown: dict[str, Any] = import_module("nbtools.notebook.trace.replayed").bundle_of_replayed(self)
        return shown


_NOT_RUN = {"policy_violation", "confirmation_required", "confirmation_denied"}


async def replay(
    call: Call,
    folder: str | Path | None = None,
    commit: str = "",
    *,
    cwd: str = "",
    policy: Policy | None = None,
    confirmer: Confirmer | None = None,
) -> Replayed:
    """Runs ``call`` with our tool of the same meaning in a copy of ``folder``, which is thrown away.

    ``folder`` is what stands for the session's, that itself unless said; at ``commit``, else at the recorded one where the repository has
    it, else as it is.  ``cwd`` is the session's folder where the log does not say it.  Without a ``policy`` edits run and commands ask
    ``confirmer``; where there is none, they do not run.  Raises ``TraceError`` where the call means nothing here or there is no folder.
    """
    ground = ground_of(call, cwd)
    detail = call.detail
    meaning_of(call, ground, detail=detail)  # nothing is copied for what cannot be run
    async with copied(folder_of(ground, folder), commit, ground.commit) as copy, session_in(copy, policy, confirmer) as session:
        return await run(call, ground.on(copy), copy, session, detail=detail)


def session_in(copy: Copy, policy: Policy | None, confirmer: Confirmer | None) -> Session:
    return Session(copy.root, policy=policy or ASKS, confirmer=confirmer, settings=SETTINGS)


async def run(
    call: Call,
    ground: Ground,
    copy: Copy,
    session: Session,
    *,
    detail: Detail,
    meaning: Meaning | None = None,
    id: str | None = None,  # noqa: A002 - the session's name for it
) -> Replayed:
    """One call in a copy that is there, on its ``ground``; ``meaning`` in place of its own."""
    root = str(copy.root)
    meant = meaning or meaning_of(call, ground, root, detail)
    result = await session.call(meant.tool, meant.arguments, id=id)
    compared = _compared(call, detail, result, meant.say(result), ground, root)
    difference = file_diff(f"result of {call.name}", compared.recorded, compared.new)
    same, apart = compared.same() if result.error is None or call.status == "error" else (False, ())
    return Replayed(call, detail, meant, result, difference, same, apart if same else (), copy.basis, ground.cwd)


@dataclass(frozen=True, slots=True)
class _Compared:
    recorded: str
    new: str
    diffs: bool = False

    def same(self) -> tuple[bool, tuple[str, ...]]:
        if self.diffs:
            return same_changes(self.recorded, self.new)
        return levelled(self.recorded) == levelled(self.new), volatile(self.recorded, self.new)


def _compared(call: Call, detail: Detail, result: ToolResult, said: ToolResult, ground: Ground, root: str) -> _Compared:
    """Both by what they show where that is of one kind, else by what a model read."""
    shown, now = detail.display, result.return_display
    alike = not isinstance(shown, str) and _kind(shown) is _kind(now)
    old = words_of(shown if alike else "", detail.result, (ground.cwd,))
    new = words_of(now if alike else "", text_in(said.llm_content), (root,))
    if alike and isinstance(shown, CommandOutput) and isinstance(now, CommandOutput):
        code = _exit_code(call, shown)
        old, new = old + _exited(code), new + (_exited(now.exit_code) if code is not None else "")
    return _Compared(old, ground.named(new, root), alike and _kind(now) is FileDiff)


def _kind(display: object) -> type:
    return FileDiff if isinstance(display, FileDiffs) else type(display)


def _exit_code(call: Call, shown: CommandOutput) -> int | None:
    """None where nobody knows, so that it cannot differ."""
    known = call.exit_code if shown.exit_code is None else shown.exit_code
    return 0 if known is None and call.status == "ok" else known


def _exited(code: int | None) -> str:
    return f"[exit code {code}]\n" if code else ""
