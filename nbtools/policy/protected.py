"""Protected paths and critical deletions, which need approval in every mode and whatever the rules allow.

Protected are files that can start programs or loosen rules.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fnmatch import fnmatchcase

from nbtools.core.decision import Action, Decision
from nbtools.core.protected_files import protected_files
from nbtools.policy.path_rules import PathContext, ResolvedPath

_MEMORY = ("memory.md",)

PROTECTED = "protected paths need approval"
CRITICAL = "critical deletions need approval"
DOUBT = "commands that cannot be fully analysed need approval"


def protection_reason(resolved: ResolvedPath, grounds: PathContext) -> str:
    """Returns why writing the path always needs approval; empty for an unprotected path."""
    absolute, path = resolved.absolute, resolved.absolute.casefold()
    if any(
        is_in(absolute, grounds.normalise(folder)) and not absolute.endswith(_MEMORY)
        for folder in grounds.own_folders
    ):
        return "it holds the rules and logs of nbtools"
    if grounds.program_folders and any(
        is_in(absolute, grounds.normalise(folder)) for folder in grounds.program_folders
    ):
        return "it is on PATH, where commands look for programs"
    known, parts = protected_files(), path.split("/")
    for part in parts:
        if part in known.names or (resolved.unclear and _may_be_protected(part)):
            if part == ".nbtools" and parts[-2:] == [part, *_MEMORY]:
                continue
            return f"{part} can start programs or loosen rules"
    if path.endswith(known.endings) or any(f"/{subpath}/" in f"{path}/" for subpath in known.paths):
        return (
            f"{parts[-1]} can start programs or loosen rules"
            if not path.endswith("nbtools/memory.md")
            else ""
        )
    if "**" in parts and any(
        fnmatchcase(name, part) for part in parts[parts.index("**") + 1 :] for name in known.in_git
    ):
        return f"{parts[-1]} may be found in .git, where it can start programs"
    return ""


def is_protected_name(part: str) -> bool:
    """Whether changing a file or folder of this name, or anything in it, always needs approval."""
    return part.casefold() in protected_files().names


def protected_question(resolved: ResolvedPath, why: str) -> Decision:
    """Returns the question before writing a protected path."""
    part = resolved.relative or resolved.absolute
    return Decision(Action.ASK, f"{part} is protected: {why}", PROTECTED, part)


def is_critical(resolved: ResolvedPath, grounds: PathContext) -> bool:
    """Whether deleting it is critical: the workspace or above, the home folder, a top-level folder."""
    path = resolved.absolute
    return (
        any(is_in(grounds.normalise(folder), path) for folder in (grounds.root, *grounds.homes))
        or path.count("/") == 1
    )


def critical_deletion(path: str, directory: str, grounds: PathContext, *, known: bool) -> ResolvedPath | None:
    """Returns where a path in a command leads if deleting that is critical, else None.

    ``known``: whether the path is literal.
    In a path that the shell expands, only wildcards and the home folder are understood.
    """
    if not known:
        path = re.sub(r"[\"'\\]", "", path)
        path = re.sub(r"\A\$(?:HOME\b|\{HOME\})", grounds.homes[0] if grounds.homes else "~", path)
        if "$" in path or "`" in path:
            return None
    resolved_paths = tuple(grounds.deletion_paths(path, directory))
    found = next((one for one in resolved_paths if is_critical(one, grounds)), None)
    if found is None and not known:
        essential = tuple(map(grounds.normalise, (grounds.root, *grounds.homes)))
        found = next(
            (
                one
                for one in resolved_paths
                if any(_may_be_above(one.absolute, folder) for folder in essential)
            ),
            None,
        )
    return found


def _may_be_above(pattern: str, folder: str) -> bool:
    """Whether a path with wildcards matches the folder, a folder above it, or everything in it."""
    parts, names = re.sub(r"\{[^/}]+\}", "*", pattern).split("/"), folder.split("/")
    if len(parts) == len(names) + 1 and not re.search(r"[^*?.[\]!^]", parts[-1]):
        parts = parts[:-1]
    return len(parts) <= len(names) and all(map(fnmatchcase, names, parts))


def repository_question(resolved_paths: Iterable[ResolvedPath], grounds: PathContext) -> Decision | None:
    """Returns the question before a write that makes a folder a git repository without ``.git``."""
    children: dict[str, set[str]] = defaultdict(set)
    by: dict[str, ResolvedPath] = {}
    for resolved in resolved_paths:
        folder, _, name = resolved.absolute.rpartition("/")
        while folder and (not resolved.inside or len(folder) >= len(grounds.root)):
            children[folder].add(name)
            by.setdefault(folder, resolved)
            folder, _, name = folder.rpartition("/")
    for folder, resolved in by.items():
        if _is_repository(folder, children[folder], grounds):
            return protected_question(
                resolved,
                f"git would treat {folder.rpartition('/')[2]} as a repository, whose settings can start"
                " programs",
            )
    return None


def _is_repository(folder: str, written: set[str], grounds: PathContext) -> bool:
    """Whether the folder has what git looks for, on the disk or among the names written to it."""

    def has(name: str) -> bool:
        return grounds.normalise(name) in written or grounds.exists(f"{folder}/{name}")

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def critical_question(what: str, why: str) -> Decision:
    """Returns the question before a critical deletion or write."""
    return Decision(Action.ASK, f"it would delete or overwrite something essential: {why}", CRITICAL, what)


def _may_be_protected(part: str) -> bool:
    """Whether a pattern may match a protected name; a shell matches a leading dot only by a dot."""
    if not any(sign in part for sign in "*?[{"):
        return False
    names = protected_files().names
    if "{" in part:
        return any(name in part for name in names) or part.startswith((".{", "{."))
    return part.startswith((".", "[")) and any(fnmatchcase(name, part) for name in names)


def is_in(path: str, folder: str) -> bool:
    """Whether an absolute path is the folder or in it."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
