"""Line endings: detects them, and replaces text so that unchanged lines keep their bytes."""

from __future__ import annotations

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.diff.line_diff import Op, opcodes
from nbtools.diff.text_lines import displayable, is_exact, split_lines, with_lf


def main_ending(text: str) -> str:
    """Returns the ending of most lines; LF if there is none or a tie."""
    crlf = text.count("\r\n")
    return "\r\n" if crlf > text.count("\n") - crlf else "\n"


def ending_at(text: str, position: int) -> str:
    """Returns the ending of the line at ``position``, or of the line before it if the text ends first."""
    newline = text.find("\n", position)
    if newline < 0:
        newline = text.rfind("\n", 0, position)
    return "\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n"


def with_original_endings(original: str, proposed: str, ending: str) -> str:
    """Returns ``proposed`` (with LF) for ``original``; equal lines keep every byte, also undecodable ones.

    Changed lines get the ending of the line that they replace, else of a neighbour, else ``ending``.  Raises
    ``ToolFailure`` (``edit_preparation_failure``) if a changed line would turn undecodable bytes into U+FFFD.
    """
    exact = is_exact(original)
    mixed = 0 < original.count("\r\n") < original.count("\n")
    if exact and not mixed:
        return proposed.replace(
            "\n", "\r\n" if "\r\n" in original or ("\n" not in original and ending == "\r\n") else "\n"
        )
    old, new = split_lines(original), split_lines(proposed)
    parts: list[str] = []
    for op in opcodes([displayable(with_lf(line)) for line in old], new):
        parts += old[op.i1 : op.i2] if op.tag == "equal" else _replaced(old, new, op, ending)
    return "".join(parts)


def _replaced(old: list[str], new: list[str], op: Op, ending: str) -> list[str]:
    neighbours = [*old[max(op.i1 - 1, 0) : op.i1], *old[op.i2 : op.i2 + 1]]
    default = next((_end(line) for line in neighbours if line.endswith("\n")), ending)
    ends = [_end(line) for line in old[op.i1 : op.i2] if line.endswith("\n")] or [default]
    lines = [
        f"{line[:-1]}{ends[min(k, len(ends) - 1)]}" if line.endswith("\n") else line
        for k, line in enumerate(new[op.j1 : op.j2])
    ]
    before = "".join(old[op.i1 : op.i2])
    return lines if is_exact(before) else [_inserted(before, "".join(lines))]


def _inserted(before: str, after: str) -> str:
    """Returns ``after``; the common head and tail keep the undecodable bytes of ``before``."""
    visible = displayable(before)
    most = min(len(visible), len(after))
    head = next((k for k in range(most) if visible[k] != after[k]), most)
    tail = next((k for k in range(most - head) if visible[-1 - k] != after[-1 - k]), most - head)
    middle = after[head : len(after) - tail]
    if "\ufffd" in middle and not is_exact(before[head : len(before) - tail]):
        raise ToolFailure(
            ErrorCode.EDIT_PREPARATION_FAILURE,
            "The text to replace contains bytes that are not valid UTF-8 (shown as U+FFFD); the new text"
            " would replace them by U+FFFD. Nothing was changed. Edit the parts before and after these bytes"
            " separately.",
        )
    return before[:head] + middle + before[len(before) - tail :]


def _end(line: str) -> str:
    return "\r\n" if line.endswith("\r\n") else "\n"
