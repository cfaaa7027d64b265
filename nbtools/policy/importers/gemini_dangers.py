"""The commands that Gemini CLI asks about although a rule without conditions on the command allows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nbtools.policy.modes import Mode
from nbtools.policy.rules import Rule

_FINDS = ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fls", "-fprint", "-fprint0", "-fprintf")
_SHOWS = ("--output", "--output=*", "--ext-diff", "--textconv", "--exec", "--exec=*", "--paginate")
_COMMANDS = (
    *(f"rm {option}:*" for option in ("-f", "-rf", "-fr")),
    *(f"find * {option}:*" for option in _FINDS),
    *(
        f"rg * {option}:*"
        for option in ("--pre", "--pre=*", "--hostname-bin", "--hostname-bin=*", "--search-zip", "-z")
    ),
    *(f"git * {option}:*" for option in ("-c", "-c*", "--config-env", "--config-env=*")),
    *(f"git {command} * {option}:*" for command in ("status", "log", "diff", "show") for option in _SHOWS),
    *(f"base64 * {option}:*" for option in ("-o*", "--output", "--output=*")),
)
_BRANCH = r"git branch (?!(?:--list|-l|--show-current|-a|--all|-r|--remotes|-v|-vv|--verbose|--format=\S*)$)"
"""``git branch`` with more than one option that only lists."""


def dangerous_commands(modes: Sequence[str]) -> Iterator[Rule]:
    """Yields the ask rules that go with an allow of every command in these modes, empty for all;
    mode ``yolo`` does not ask.
    """
    asked = tuple(mode for mode in modes or Mode if mode != Mode.YOLO)
    if asked:
        yield from (Rule("shell", command, modes=asked) for command in _COMMANDS)
        yield Rule("shell", command=_BRANCH, modes=asked)
