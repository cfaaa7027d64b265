"""Converts Codex's argument lists to command lines, and finds patches in both.

An argument list is what ``execvp`` gets.
The line made from it consists of the same words for bash, so that the policy judges what runs.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

_BASH = re.compile(r"(?:/(?:usr/)?bin/)?bash")
_KEYWORDS = frozenset(
    (
        *("if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac"),
        *("in", "select", "function", "time", "coproc"),
    )
)
_PATCH_COMMANDS = ("apply_patch", "applypatch")
_PATCH = re.compile(
    r"\s*(?:cd\s+(?P<folder>'[^'\n]*'|\"[^\"$`\\\n]*\"|[\w./@%+=:,-]+)\s*&&\s*)?(?:apply_patch|applypatch)\s*"
    r"<<\s*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*\n(?P<patch>.*?)\n(?P=end)\s*",
    re.DOTALL,
)
_BEGIN = "*** Begin Patch"


class PatchCall(NamedTuple):
    """A patch that a command applies, and the folder of its relative paths, relative to the command's."""

    patch: str
    folder: str = "."


def command_line(words: Sequence[str]) -> str:
    """Returns the line that runs ``words``; of ``bash -lc SCRIPT`` the script,
    because commands run in bash.
    """
    if len(words) == 3 and _BASH.fullmatch(words[0]) and words[1] in {"-c", "-lc"}:
        return words[2]
    if not words:
        return ""
    # Unquoted, bash would read a keyword or an assignment instead of a program's name.
    program = (
        f"'{words[0]}'" if words[0] in _KEYWORDS or re.match(r"\w+\+?=", words[0]) else shlex.quote(words[0])
    )
    return " ".join([program, *map(shlex.quote, words[1:])])


def patch_in_words(words: Sequence[str]) -> PatchCall | None:
    """Returns the patch of ``["apply_patch", PATCH]``, or of a shell whose whole script applies a patch;
    None for other commands.
    """
    if len(words) == 2 and words[0] in _PATCH_COMMANDS:
        return PatchCall(words[1])
    shell = words[0].rpartition("/")[2] if words else ""
    if len(words) == 3 and shell in {"bash", "sh", "zsh"} and words[1] in {"-c", "-lc"}:
        return patch_in_line(words[2])
    return None


def patch_in_line(line: str) -> PatchCall | None:
    """Returns the patch of a line that is only ``apply_patch`` with a here-document,
    or that after ``cd FOLDER &&``.
    """
    found = _PATCH.fullmatch(line)
    if found is None or found["end"] in found["patch"].split("\n"):
        return None
    return PatchCall(found["patch"], (found["folder"] or ".").strip("'\""))


def is_bare_patch(line: str) -> bool:
    """Whether a command is a patch without the command that applies it."""
    return line.lstrip().startswith(_BEGIN)
