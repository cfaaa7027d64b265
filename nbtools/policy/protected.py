"""What is asked in every mode and whatever the rules allow: files that make programs run or loosen rules, and removals beyond repair."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from fnmatch import fnmatchcase

from nbtools.core.decision import Action, Decision
from nbtools.policy.paths import Grounds, Spot

_FOLDERS = (
    ".git .hg .svn .vscode .idea .husky .cargo .yarn .mvn .devcontainer .claude .gemini .codex .cursor .void .continue .nbtools "
    ".ipython .jupyter .ssh .gnupg .aws .docker .kube .direnv .githooks"
)
_FILES = (
    ".bashrc .bash_profile .bash_login .bash_logout .bash_aliases .bash_env .profile .inputrc .zshrc .zshenv .zprofile .zlogin .zlogout "
    ".kshrc .mkshrc .cshrc .tcshrc .login .logout .xprofile .xinitrc .xsessionrc .pam_environment "
    ".npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .gitconfig .gitmodules .envrc .mcp.json .claude.json .pre-commit-config.yaml .ripgreprc "
    ".netrc .pypirc .curlrc .wgetrc .vimrc .exrc .emacs .tmux.conf .screenrc .psqlrc .pdbrc .pythonrc .gdbinit .lldbinit .rprofile "
    ".bazelrc .condarc pyrightconfig.json sitecustomize.py usercustomize.py"
)
_WAYS = (".config/git", ".config/fish", ".config/nbtools", ".config/systemd", ".config/autostart", ".local/state/nbtools")
_NAMES = frozenset(f"{_FOLDERS} {_FILES}".split())
_MEMORY = ("memory.md",)
_ENDINGS = (".pth", ".code-workspace")

PROTECTED = "protected paths ask"
CRITICAL = "critical removals ask"
DOUBT = "what cannot be read whole asks"


def protection(spot: Spot, grounds: Grounds) -> str:
    """Why writing there is always asked, empty where it is not."""
    path = spot.absolute.casefold()
    if any(_is_in(spot.absolute, grounds.named(folder)) and not spot.absolute.endswith(_MEMORY) for folder in grounds.own):
        return "it holds rules and records of nbtools itself"
    if grounds.programs and any(_is_in(spot.absolute, grounds.named(folder)) for folder in grounds.programs):
        return "commands look for programs there"
    parts = path.split("/")
    for part in parts:
        if part in _NAMES or (spot.unclear and _may_be_protected(part)):
            if part == ".nbtools" and parts[-2:] == [part, *_MEMORY]:
                continue
            return f"{part} can make programs run or loosen rules"
    if path.endswith(_ENDINGS) or any(f"/{way}/" in f"{path}/" for way in _WAYS):
        return f"{parts[-1]} can make programs run or loosen rules" if not path.endswith("nbtools/memory.md") else ""
    return ""


def is_protected_name(part: str) -> bool:
    """Whether what is called so, or lies in what is called so, is always asked."""
    return part.casefold() in _NAMES


def ask_protected(spot: Spot, why: str) -> Decision:
    part = spot.relative or spot.absolute
    return Decision(Action.ASK, f"{part} is protected: {why}", PROTECTED, part)


def is_critical(spot: Spot, grounds: Grounds) -> bool:
    """Whether deleting it is critical: the workspace or a folder above it, the home folder, a top-level folder."""
    path = spot.absolute
    return any(_is_in(grounds.named(kept), path) for kept in (grounds.root, *grounds.homes)) or path.count("/") == 1


def critical_spot(path: str, directory: str, grounds: Grounds, *, known: bool) -> Spot | None:
    """Where the path of a command leads, if nothing should remove that.  ``known``: whether it stands there as it is.

    Of a path that the shell fills in, wildcards and the home folder are understood.
    """
    if not known:
        path = re.sub(r"[\"'\\]", "", path)
        path = re.sub(r"\A\$(?:HOME\b|\{HOME\})", grounds.homes[0] if grounds.homes else "~", path)
        if "$" in path or "`" in path:
            return None
    spots = tuple(grounds.removed(path, directory))
    found = next((spot for spot in spots if is_critical(spot, grounds)), None)
    if found is None and not known:
        kept = tuple(map(grounds.named, (grounds.root, *grounds.homes)))
        found = next((spot for spot in spots if any(_may_be_above(spot.absolute, folder) for folder in kept)), None)
    return found


def _may_be_above(pattern: str, folder: str) -> bool:
    """Whether a path with wildcards finds the folder, one that it lies in, or everything in it."""
    parts, names = re.sub(r"\{[^/}]+\}", "*", pattern).split("/"), folder.split("/")
    if len(parts) == len(names) + 1 and not re.search(r"[^*?.[\]!^]", parts[-1]):
        parts = parts[:-1]
    return len(parts) <= len(names) and all(map(fnmatchcase, names, parts))


def ask_repository(spots: Iterable[Spot], grounds: Grounds) -> Decision | None:
    """A question where something is written in a folder that git takes for a repository then, though it is not called ``.git``."""
    children: dict[str, set[str]] = defaultdict(set)
    by: dict[str, Spot] = {}
    for spot in spots:
        folder, _, name = spot.absolute.rpartition("/")
        while folder and (not spot.inside or len(folder) >= len(grounds.root)):
            children[folder].add(name)
            by.setdefault(folder, spot)
            folder, _, name = folder.rpartition("/")
    for folder, spot in by.items():
        if _is_repository(folder, children[folder], grounds):
            return ask_protected(spot, f"git takes {folder.rpartition('/')[2]} for a repository, whose settings can start programs")
    return None


def _is_repository(folder: str, written: set[str], grounds: Grounds) -> bool:
    """Whether the folder has what git looks for, on the disk or in what is written there."""

    def has(name: str) -> bool:
        return grounds.named(name) in written or grounds.exists(f"{folder}/{name}")

    return has("HEAD") and (has("commondir") or (has("objects") and has("refs")))


def ask_critical(what: str, why: str) -> Decision:
    return Decision(Action.ASK, f"it would delete or overwrite something essential: {why}", CRITICAL, what)


def _may_be_protected(part: str) -> bool:
    """A word that the shell fills in only when it runs; a leading dot has to be written for it to find a dotted name."""
    if not any(sign in part for sign in "*?[{"):
        return False
    if "{" in part:
        return any(name in part for name in _NAMES) or part.startswith((".{", "{."))
    return part.startswith((".", "[")) and any(fnmatchcase(name, part) for name in _NAMES)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
