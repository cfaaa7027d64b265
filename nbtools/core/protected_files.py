"""Loads names of files and folders that make programs run or loosen rules, from ``protected_files.toml``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True, slots=True)
class ProtectedFiles:
    """The names, in lower case.  ``names`` are of files and of folders with all contents;
    ``paths`` have several components.
    """

    names: frozenset[str]
    paths: tuple[str, ...]
    endings: tuple[str, ...]
    in_git: frozenset[str]


@cache
def protected_files() -> ProtectedFiles:
    tables = tomllib.loads(_FILE.read_text(encoding="utf-8"))
    folders, files, paths, endings, in_git = (
        [name for text in tables[key].values() for name in text.split()]
        for key in ("folders", "files", "paths", "endings", "in_git")
    )
    return ProtectedFiles(frozenset(folders + files), tuple(paths), tuple(endings), frozenset(in_git))
