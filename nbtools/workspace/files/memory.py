"""Memory files: Markdown with one bullet for each fact below our heading; the rest is the person's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.line_diff import opcodes
from nbtools.diff.text_lines import split_lines, with_lf
from nbtools.workspace.files.line_endings import main_ending

HEADING = "## Remembered"
PROJECT_FILE = ".nbtools/memory.md"
_BULLET = re.compile(r"\s*[-*](?:\s+|$)")


def user_file() -> Path:
    """Returns the path of the user's own memory file, in the configuration folder of their system."""
    from platformdirs import user_config_path  # noqa: PLC0415 - takes 50 ms; few calls need it

    return user_config_path("nbtools", appauthor=False) / "memory.md"


def nearest_folder(file: Path) -> Path:
    """Returns the innermost existing folder above ``file``; links are followed."""
    return next(folder for folder in file.parents if folder.is_dir())


def resolve_links(file: Path) -> Path:
    """Returns the file's path with links resolved: people keep configuration files elsewhere."""
    return Path(os.path.realpath(file))


def display_path(file: Path) -> str:
    """Returns the path as a person writes it, with ``~`` for the home folder."""
    home = Path.home()
    return f"~/{file.relative_to(home).as_posix()}" if file.is_relative_to(home) else str(file)


def one_line(fact: str) -> str:
    """Returns a fact as one bullet holds it: lines joined, bullet marks removed."""
    return " ".join(" ".join(_BULLET.sub("", line) for line in fact.splitlines()).split())


def with_fact(text: str, fact: str) -> str:
    """Returns ``text`` with the bullet ``fact`` last below the heading, which is added if it is missing.

    Returns ``text`` unchanged if the bullet is there already.  Lines end as they do in ``text``.
    """
    ending = main_ending(text)
    lines = split_lines(text)
    stripped = [line.rstrip() for line in lines]
    bullet = f"- {fact}"
    start = next((k for k, line in enumerate(stripped) if line == HEADING), None)
    if start is None:
        gap = ending if text.endswith("\n") else ending * 2
        if not text.strip():
            gap = ""
        return f"{text}{gap}{HEADING}{ending}{ending}{bullet}{ending}"
    end = next(
        (k for k in range(start + 1, len(stripped)) if stripped[k].startswith(("# ", "## "))), len(stripped)
    )
    if bullet in stripped[start:end]:
        return text
    last = max((k for k in range(start, end) if stripped[k]), default=start)
    if not lines[last].endswith("\n"):
        lines[last] += ending
    blank = [ending] if last == start else []
    return "".join([*lines[: last + 1], *blank, f"{bullet}{ending}", *lines[last + 1 :]])


def added_fact(original: str, changed: str) -> str:
    """Returns the fact that ``changed`` has and ``original`` has not: a proposal as a person has edited it.

    Raises ``ToolFailure`` (``invalid_tool_params``) if other lines were changed too, or none was added.
    """
    before, after = (
        split_lines(_with_newline(with_lf(original))),
        split_lines(_with_newline(with_lf(changed))),
    )
    added: list[str] = []
    for op in opcodes(before, after):
        if op.tag not in ("equal", "insert"):
            raise ToolFailure(
                ErrorCode.INVALID_TOOL_PARAMS,
                "Only the new line can be changed here. Edit the file for the others.",
            )
        added += after[op.j1 : op.j2] if op.tag == "insert" else []
    fact = one_line("\n".join(line for line in added if line.rstrip() != HEADING))
    if not fact:
        raise ToolFailure(
            ErrorCode.INVALID_TOOL_PARAMS, "There is no new line left to remember. Cancel the call instead."
        )
    return fact


def _with_newline(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
