"""Command lines in TOML files beside the tests:
groups of lines with a name, the decisions on each line, and why.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nbtools import Policy


@dataclass(frozen=True)
class CommandLine:
    """A line, and the decision that a policy makes on it."""

    command: str
    policy: Policy
    expected: str
    """``allow``, ``ask``, ``deny``, or several of them, joined by `` or ``."""


@cache
def read_lines(path: Path) -> dict[str, Any]:
    """Returns the data of a file; raises ``ValueError`` for a group that is incomplete,
    or a name that is used twice.
    """
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    names = [group["name"] for group in data["groups"]]
    if len(names) != len(set(names)):
        raise ValueError(f"{path} uses the name of a group twice.")
    for group in data["groups"]:
        if not (
            group["why"]
            and group["decisions"]
            and group["lines"]
            and len(group["lines"]) == len(set(group["lines"]))
        ):
            raise ValueError(
                f"The group {group['name']!r} of {path} has no reason, no decision or no line, or a line twice."
            )
    return data


@cache
def policy(path: Path, name: str) -> Policy:
    """Returns one of the policies of a file, which thousands of lines share."""
    return Policy(**read_lines(path)["policies"][name])


def lines_of(path: Path, name: str) -> list[str]:
    """Returns the lines of one group of a file."""
    return next(group["lines"] for group in read_lines(path)["groups"] if group["name"] == name)


def command_lines(path: Path) -> list[Any]:
    """Returns a parameter of a test for each line of a file under each policy that its group names."""
    return [
        pytest.param(
            CommandLine(line, policy(path, name), expected), id=f"{group['name']}: {line!r} ({name})"
        )
        for group in read_lines(path)["groups"]
        for name, expected in group["decisions"].items()
        for line in group["lines"]
    ]
