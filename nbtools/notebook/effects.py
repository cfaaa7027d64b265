"""What a simple command does to the world, in a few words: a small honest table.  A program that is not in it gets no note."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from nbtools.core.shell_syntax import SimpleCommand


class Effect(NamedTuple):
    """A note on a command; ``warning``: look twice."""

    note: str
    warning: bool = False


Arguments: TypeAlias = tuple[str, ...]

INSIDE = Effect("runs another command inside", True)

_BY_PROGRAM: dict[str, Effect] = {
    **dict.fromkeys(("rm", "unlink", "shred"), Effect("deletes files", True)),
    "rmdir": Effect("deletes empty folders"),
    "mv": Effect("moves or renames files"),
    "cp": Effect("copies files"),
    "ln": Effect("makes links"),
    "mkdir": Effect("makes folders"),
    "touch": Effect("makes files or changes their time"),
    "truncate": Effect("changes files in place", True),
    "patch": Effect("changes files in place"),
    **dict.fromkeys(("chmod", "chown", "chgrp"), Effect("changes who may use files")),
    "dd": Effect("writes raw data", True),
    **dict.fromkeys(("curl", "wget", "scp", "rsync", "ftp", "nc", "telnet"), Effect("uses the network")),
    "ssh": Effect("runs a command on another machine", True),
    **dict.fromkeys(("kill", "pkill", "killall"), Effect("ends processes")),
    **dict.fromkeys(("eval", "exec", "source", ".", "xargs", "parallel", "watch"), INSIDE),
    **dict.fromkeys(("env", "nohup", "timeout", "time", "nice", "stdbuf", "setsid", "command", "builtin", "trap"), INSIDE),
    **dict.fromkeys(("sudo", "su", "doas", "pkexec"), Effect("runs another command with other rights", True)),
    **dict.fromkeys(("apt", "apt-get", "dnf", "yum", "brew", "apk", "pacman"), Effect("manages the system's packages")),
    **dict.fromkeys(("crontab", "at", "systemctl", "service"), Effect("changes what this machine runs", True)),
    **dict.fromkeys(("cd", "pushd"), Effect("changes the folder for what follows")),
}

_GIT: dict[str, Effect] = {
    **dict.fromkeys(("add", "rm", "mv"), Effect("changes the git index")),
    "commit": Effect("writes .git"),
    **dict.fromkeys(("push", "send-email"), Effect("sends to another machine")),
    **dict.fromkeys(("fetch", "clone"), Effect("uses the network, writes .git")),
    "pull": Effect("uses the network, changes files"),
    **dict.fromkeys(("merge", "rebase", "cherry-pick", "revert", "stash", "switch", "am", "apply"), Effect("changes files and .git")),
    **dict.fromkeys(("checkout", "restore", "reset"), Effect("may discard changes", True)),
    "clean": Effect("deletes files", True),
    **dict.fromkeys(("tag", "branch", "config", "remote", "gc", "worktree", "submodule", "init"), Effect("may write .git")),
}

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish"})
_INSTALLERS = frozenset({"pip", "pip3", "uv", "poetry", "npm", "yarn", "pnpm", "jlpm", "cargo", "gem", "conda", "mamba"})
_INSTALLING = frozenset({"install", "add", "i", "ci", "sync", "update", "upgrade", "uninstall", "remove"})


def effect(command: SimpleCommand) -> Effect | None:
    """What the program itself does with these arguments; redirects are not its doing."""
    if not command.argv or command.argv[0].startswith("-"):
        return None
    if 0 in command.dynamic:
        return Effect("which program this is shows only when it runs", True)
    program = posixpath.basename(command.argv[0])
    special = _SPECIAL.get(program)
    if special is not None:
        return special(command.argv[1:], command.operator)
    if program in _INSTALLERS and _INSTALLING.intersection(command.argv[1:3]):
        return Effect("installs or removes packages")
    return _BY_PROGRAM.get(program)


def _git(arguments: Arguments, _: str) -> Effect | None:
    words = iter(arguments)
    for word in words:
        if word in ("-C", "-c", "--git-dir", "--work-tree"):
            next(words, None)
        elif not word.startswith("-"):
            return _forced(arguments) if word == "push" else _GIT.get(word)
    return None


def _forced(arguments: Arguments) -> Effect:
    forced = any(word in ("-f", "--delete") or word.startswith(("--force", "+")) for word in arguments)
    return Effect("overwrites what another machine has", True) if forced else _GIT["push"]


def _shell(arguments: Arguments, operator: str) -> Effect | None:
    if operator in ("|", "|&"):
        return Effect("runs what the command before prints", True)
    return INSIDE if any(word.startswith("-") and "c" in word for word in arguments) else Effect("runs a script")


def _script(arguments: Arguments, operator: str) -> Effect | None:
    if {"-c", "-e"}.intersection(arguments):
        return Effect("runs the program text given here")
    return Effect("runs what the command before prints", True) if operator in ("|", "|&") and not arguments else None


def _sed(arguments: Arguments, _: str) -> Effect | None:
    in_place = any(word.startswith(("-i", "--in-place")) for word in arguments)
    return Effect("changes files in place") if in_place else None


def _find(arguments: Arguments, _: str) -> Effect | None:
    if "-delete" in arguments:
        return Effect("deletes files", True)
    return INSIDE if {"-exec", "-execdir", "-ok", "-okdir"}.intersection(arguments) else None


_SPECIAL: dict[str, Callable[[Arguments, str], Effect | None]] = {
    "git": _git,
    **dict.fromkeys(_SHELLS, _shell),
    **dict.fromkeys(("python", "python3", "node", "perl", "ruby"), _script),
    "sed": _sed,
    "find": _find,
}
