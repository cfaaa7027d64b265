"""Codex's texts for the output of commands.

Codex counts a token for every four bytes, and cuts a text in the middle.
"""

from __future__ import annotations

import signal

from nbtools.core.result_data import ShellData

MAX_TOKENS = 10_000
"""The default, and what the tools keep of an output: 40,000 characters."""
_BYTES = 4
"""Bytes for each token."""


def tokens_in(size: int) -> int:
    """Returns the approximate number of tokens of ``size`` bytes."""
    return -(-size // _BYTES)


def cut(text: str, tokens: int, lines: int, size: int, *, complete: bool) -> str:
    """Returns ``text`` cut in the middle to ``tokens``, after a head with the size of the whole output,
    in ``lines`` and bytes.

    ``complete``: ``text`` is the whole output; otherwise it has been cut before, and says so.
    """
    data = text.encode()
    budget = tokens * _BYTES
    if complete and len(data) <= budget:
        return text
    head = (
        f"Warning: truncated output (original token count: {tokens_in(size)})\nTotal output lines:"
        f" {lines}\n\n"
    )
    if not complete and tokens >= MAX_TOKENS:
        return head + text
    first, last = (
        data[: budget // 2].decode(errors="ignore"),
        data[len(data) - (budget - budget // 2) :].decode(errors="ignore"),
    )
    return f"{head}{first}…{max(1, tokens_in(size - budget))} tokens truncated…{last}"


def shell_output(data: ShellData, tokens: int = MAX_TOKENS) -> str:
    return cut(data.text, min(tokens, MAX_TOKENS), data.lines, data.bytes, complete=not data.full_output)


def shell_exit_code(data: ShellData) -> int:
    """Returns the exit code as a shell reports it: 128 plus the number for a signal."""
    return data.exit_code if data.exit_code is not None else 128 + signal.Signals[data.signal]


def exit_text(code: int, seconds: float, output: str) -> str:
    """Returns the reply of the tools that run a command to its end."""
    return f"Exit code: {code}\nWall time: {round(seconds, 1):g} seconds\nOutput:\n{output}"
