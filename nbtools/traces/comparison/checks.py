"""Checks of how a run ended, written as one line of text and parsed completely."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from nbtools.core.errors import TraceError

CheckKind: TypeAlias = Literal[
    "tests", "command", "answer", "label", "verdict", "file_contains", "file_changed", "file_same"
]

CHECK_FORMS: dict[str, str] = {
    "tests": "the last command that runs tests exited with 0",
    "command PROGRAM …": (
        "the last command line with this command exited with 0; * stands for any characters of a word"
    ),
    "answer": "the last message of the model",
    "answer contains TEXT": "the last message of the model contains the text",
    "verdict": "the verdict of the review on the session is pass",
    "label NAME": "the review has this label in the session",
    "file PATH contains TEXT": "the file contains the text after its last change that the log records",
    "file PATH changed": "a recorded change of the file took effect",
    "file PATH same": "the file has the same content at the end as in the baseline",
}
"""What a check may say, and what it states."""
DEFAULT_CHECKS = ("tests", "answer")
_MAX_LENGTH = 1_000
_FILE = re.compile(
    r'file\s+(?:"(?P<quoted>[^"]+)"|(?P<path>\S+))\s+(?:(?P<kind>changed|same)|contains\s+(?P<text>\S.*))'
)
_OTHERS: tuple[tuple[CheckKind, re.Pattern[str]], ...] = (
    ("tests", re.compile("tests")),
    ("verdict", re.compile("verdict")),
    ("answer", re.compile(r"answer(?:\s+contains\s+(?P<text>\S.*))?")),
    ("command", re.compile(r"command\s+(?P<text>\S.*)")),
    ("label", re.compile(r"label\s+(?P<text>\S.*)")),
)


@dataclass(frozen=True, slots=True)
class Check:
    """A check; ``source`` is how it was written.
    ``text`` is its command, label or text, ``path`` its file.
    """

    source: str
    kind: CheckKind
    text: str = ""
    path: str = ""

    @property
    def states(self) -> str:
        """The statement of the check, in words."""
        return CHECK_FORMS[_FORMS[self.kind, bool(self.text)]]


_FORMS: dict[tuple[CheckKind, bool], str] = {
    ("tests", False): "tests",
    ("command", True): "command PROGRAM …",
    ("answer", False): "answer",
    ("answer", True): "answer contains TEXT",
    ("verdict", False): "verdict",
    ("label", True): "label NAME",
    ("file_contains", True): "file PATH contains TEXT",
    ("file_changed", False): "file PATH changed",
    ("file_same", False): "file PATH same",
}


def parse_check(source: str) -> Check:
    """Parses a check. Raises ``TraceError`` that lists the forms for anything else."""
    line = source.strip()
    if len(line) <= _MAX_LENGTH and "\n" not in line:
        if found := _FILE.fullmatch(line):
            kinds: dict[str | None, CheckKind] = {
                "changed": "file_changed",
                "same": "file_same",
                None: "file_contains",
            }
            return Check(
                line, kinds[found["kind"]], _unquoted(found["text"] or ""), found["quoted"] or found["path"]
            )
        for kind, form in _OTHERS:
            if found := form.fullmatch(line):
                return Check(line, kind, _unquoted(found.groupdict().get("text") or ""))
    forms = "; ".join(CHECK_FORMS)
    raise TraceError(f"{line[:100]!r} is not a check. Write one of these: {forms}.")


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'" else text
