"""What is asked in every mode and whatever the rules allow: files that make programs run or loosen rules, and removals beyond repair."""

from __future__ import annotations

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
    """Whether what would be removed cannot be missed: the workspace, what it lies in, the home folder, the top of the disk."""
    path = spot.absolute
    return any(_is_in(grounds.named(kept), path) for kept in (grounds.root, *grounds.homes)) or path.count("/") == 1


def ask_critical(what: str, why: str) -> Decision:
    return Decision(Action.ASK, f"it removes what cannot be missed: {why}", CRITICAL, what)


def _may_be_protected(part: str) -> bool:
    """A word that the shell fills in only when it runs; a leading dot has to be written for it to find a dotted name."""
    if not any(sign in part for sign in "*?[{"):
        return False
    if "{" in part:
        return any(name in part for name in _NAMES) or part.startswith((".{", "{."))
    return part.startswith((".", "[")) and any(fnmatchcase(name, part) for name in _NAMES)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")
