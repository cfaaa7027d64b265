"""What a docstring says of a function and of its parameters: Google, NumPy and Sphinx style."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Docstring:
    """The text before any section, and what is said of each parameter."""

    text: str
    parameters: dict[str, str]


_GOOGLE = re.compile(r"^(args|arguments|parameters|params)\s*:\s*$", re.IGNORECASE)
_SECTION = re.compile(r"^(returns?|raises|yields?|examples?|notes?|see also|args|arguments|parameters|params)\s*:?\s*$", re.IGNORECASE)
_SPHINX = re.compile(r"^:param\s+(?:[^:]*\s)?(?P<name>\w+)\s*:\s*(?P<text>.*)$")
_ENTRY = re.compile(r"^\*{0,2}(?P<name>\w+)\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$")
_NUMPY_ENTRY = re.compile(r"^(?P<name>\w+)\s*(?::.*)?$")


def read_docstring(function: Callable[..., Any]) -> Docstring:
    lines = (inspect.getdoc(function) or "").splitlines()
    return Docstring(_text(lines), dict(_parameters(lines)))


def _text(lines: list[str]) -> str:
    taken: list[str] = []
    for number, line in enumerate(lines):
        underlined = number + 1 < len(lines) and set(lines[number + 1].strip()) == {"-"}
        if _SPHINX.match(line) or line.startswith(":return") or (_SECTION.match(line) and (line.rstrip().endswith(":") or underlined)):
            break
        taken.append(line)
    return "\n".join(taken).strip()


def _parameters(lines: list[str]) -> Iterator[tuple[str, str]]:
    for number, line in enumerate(lines):
        sphinx = _SPHINX.match(line)
        if sphinx:
            yield sphinx["name"], sphinx["text"]
        elif _GOOGLE.match(line):
            yield from _entries(lines[number + 1 :], _ENTRY)
        elif line.strip().lower() == "parameters" and number + 1 < len(lines) and set(lines[number + 1].strip()) == {"-"}:
            yield from _numpy_entries(lines[number + 2 :])


def _entries(lines: list[str], pattern: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Indented ``name: text`` with deeper lines going on, until the indentation ends."""
    depth, name, said = -1, "", [""]
    for line in lines:
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        if indent == 0:
            break
        depth = indent if depth < 0 else depth
        found = pattern.match(line.strip()) if indent == depth else None
        if found:
            if name:
                yield name, " ".join(said).strip()
            name, said = found["name"], [found["text"]]
        else:
            said.append(line.strip())
    if name:
        yield name, " ".join(said).strip()


def _numpy_entries(lines: list[str]) -> Iterator[tuple[str, str]]:
    name, said = "", [""]
    for number, line in enumerate(lines):
        if number + 1 < len(lines) and lines[number + 1].strip() and set(lines[number + 1].strip()) == {"-"}:
            break
        found = _NUMPY_ENTRY.match(line) if line[:1].strip() else None
        if found:
            if name:
                yield name, " ".join(said).strip()
            name, said = found["name"], []
        elif line.strip():
            said.append(line.strip())
    if name:
        yield name, " ".join(said).strip()
