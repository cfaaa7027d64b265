"""Decides which files git's ignore files and those for agents (``.geminiignore``) leave out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from nbtools.workspace.search.gitignore import (
    IGNORE_FILES,
    REPOSITORY,
    IgnorePatterns,
    IgnoreRules,
    read_patterns,
)
from nbtools.workspace.workspace import Workspace


class IgnoreFilter:
    """Tells which paths below ``root`` are ignored; what a folder above a path says holds for the path.

    ``patterns`` are those of the agent's ignore files, the first has precedence; git's rules apply with
    ``git`` where they say nothing, so that ``!name`` in an agent's file makes a git-ignored file visible.
    """

    def __init__(
        self,
        root: Path,
        patterns: Sequence[IgnorePatterns],
        *,
        git: bool,
        kinds: Sequence[str] = IGNORE_FILES,
    ) -> None:
        self._root, self._patterns, self._git, self._kinds = root, tuple(patterns), git, tuple(kinds)
        self._folders: dict[str, bool] = {}
        self._rules: dict[str, IgnoreRules] = {}

    @property
    def negates(self) -> bool:
        """Whether git-ignored files may be visible."""
        return any(patterns.negates for patterns in self._patterns)

    def beside_ripgrep(self) -> IgnoreFilter:
        """Returns the filter for paths that git's rules were applied to already, where possible."""
        return self if self.negates else IgnoreFilter(self._root, self._patterns, git=False)

    def ignores(self, path: str, *, folder: bool = False) -> bool:
        """Returns whether a relative path is ignored; the root itself and absolute paths are not."""
        if path == "." or path.startswith("/"):
            return False
        names = path.split("/")
        for count in range(1, len(names)):
            above = "/".join(names[:count])
            if above not in self._folders:
                self._folders[above] = self._judged(above, folder=True)
            if self._folders[above]:
                return True
        return self._judged(path, folder=folder)

    def _judged(self, path: str, *, folder: bool) -> bool:
        verdict = self.agent_verdict(path, folder=folder)
        return self._git and self._ignored_by_git(path, folder=folder) if verdict is None else verdict

    def agent_verdict(self, path: str, *, folder: bool) -> bool | None:
        """Returns what the agent's ignore files say about this path itself; None where they say nothing."""
        verdicts = (patterns.verdict(path, folder=folder) for patterns in self._patterns)
        return next((verdict for verdict in verdicts if verdict is not None), None)

    def _ignored_by_git(self, path: str, *, folder: bool) -> bool:
        above, _, name = path.rpartition("/")
        if above not in self._rules:
            self._rules[above] = IgnoreRules(self._root / above, self._kinds)
        return name == REPOSITORY or self._rules[above].ignores(name, folder=folder)


def ignore_filter(workspace: Workspace, *, git: bool, agent: bool) -> IgnoreFilter | None:
    """Returns the filter of a listing or search; None where no agent's ignore file applies.

    ``git`` and ``agent``: whether git's rules and those of the agent's ignore files are respected.
    """
    patterns = _agent_patterns(workspace) if agent else []
    return IgnoreFilter(workspace.root, patterns, git=git) if patterns else None


def is_ignored_by_name(workspace: Workspace, path: str) -> bool:
    """Returns whether a file must not be read although a call names it. ``path`` is as the call spells it."""
    in_repository = not workspace.reads_ignored and any(
        (above / REPOSITORY).exists() for above in (workspace.root, *workspace.root.parents)
    )
    patterns = _agent_patterns(workspace)
    if not (in_repository or patterns):
        return False
    ignoring = IgnoreFilter(workspace.root, patterns, git=in_repository, kinds=(".gitignore",))
    return any(ignoring.ignores(name) for name in workspace.spellings(path))


def _agent_patterns(workspace: Workspace) -> list[IgnorePatterns]:
    found = (read_patterns(workspace.root / name) for name in reversed(workspace.ignore_files))
    return [patterns for patterns in found if patterns]
