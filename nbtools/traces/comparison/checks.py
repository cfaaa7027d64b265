"""Checks of how a run ended, written as one line of text and parsed completely."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from nbtools.core.errors import TraceError

CheckKind: TypeAlias = Literal[
    "tests", "command", "answer", "label", "verdict", "file_contains", "file_changed", "file_same"
]


class _Form(NamedTuple):
    """A form of checks: how it is written, what it states, and the expression that matches it."""

    written: str
    kind: CheckKind
    expression: str
    states: str


# A quoted name is one path, also where words of a form are in it: "what it contains.txt".
_FILE = r'file\s+(?:"(?P<quoted>[^"]+)"|(?!"[^"]+"\s)(?P<path>\S+))\s+'
_TEXT = r"\s+(?P<text>\S.*)"
_FORMS = (
    _Form("tests", "tests", "tests", "the last command that runs tests exited with 0"),
    _Form(
        "command PROGRAM …",
        "command",
        f"command{_TEXT}",
        "the last command line with this command exited with 0; * stands for any characters of a word",
    ),
    _Form("answer", "answer", "answer", "the last message of the model"),
    _Form(
        "answer contains TEXT",
        "answer",
        rf"answer\s+contains{_TEXT}",
        "the last message of the model contains the text",
    ),
    _Form("verdict", "verdict", "verdict", "the verdict of the review on the session is pass"),
    _Form("label NAME", "label", f"label{_TEXT}", "the review has this label in the session"),
    _Form(
        "file PATH contains TEXT",
        "file_contains",
        f"{_FILE}contains{_TEXT}",
        "the file contains the text after its last change that the log records",
    ),
    _Form(
        "file PATH changed", "file_changed", f"{_FILE}changed", "a recorded change of the file took effect"
    ),
    _Form(
        "file PATH same",
        "file_same",
        f"{_FILE}same",
        "the file has the same content at the end as in the baseline",
    ),
)
CHECK_FORMS = {form.written: form.states for form in _FORMS}
"""What a check may say, and what it states."""
DEFAULT_CHECKS = ("tests", "answer")
_MAX_LENGTH = 1_000


@dataclass(frozen=True, slots=True)
class Check:
    """A check; ``source`` is how it was written, ``states`` its statement in words.
    ``text`` is its command, label or text, ``path`` its file.
    """

    source: str
    kind: CheckKind
    states: str
    text: str = ""
    path: str = ""


def parse_check(source: str) -> Check:
    """Parses a check. Raises ``TraceError`` that lists the forms for anything else."""
    line = source.strip()
    for form in _FORMS if len(line) <= _MAX_LENGTH and "\n" not in line else ():
        if found := re.fullmatch(form.expression, line):
            parts = found.groupdict()
            text = (parts.get("text") or "").strip()
            if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
                text = text[1:-1]
            path = parts.get("quoted") or parts.get("path") or ""
            return Check(line, form.kind, form.states, text, path)
    forms = "; ".join(CHECK_FORMS)
    raise TraceError(f"{line[:100]!r} is not a check. Write one of these: {forms}.")
