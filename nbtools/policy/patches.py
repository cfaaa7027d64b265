"""Finds the files that a patch for ``git apply`` or ``git am`` names."""

from __future__ import annotations

import re

_NAMES = re.compile(r"(?:diff --git|---|\+\+\+|rename (?:from|to)|copy (?:from|to)) +(.*)")
"""Lines by which git finds a patch's files. In a hunk they are text; then one file too many is found."""
_ENCODED = re.compile(
    r"(?im)^content-transfer-encoding:\s*(?!7bit|8bit|binary)|^content-type:.*format=flowed"
)
_ESCAPED = re.compile(r'".*\\')


def patched_names(text: str) -> tuple[str, ...] | None:
    """Returns the names in patch headers, with and without ``a/``; None where encoded or escaped."""
    if _ENCODED.search(text):
        return None
    names: dict[str, None] = {}
    for line in text.split("\n"):
        found = _NAMES.match(line)
        if found is None:
            continue
        if _ESCAPED.search(line):
            return None
        rest = found[1].rstrip("\r").partition("\t")[0]
        names.update(dict.fromkeys((*rest.replace('"', "").split(), rest)))
    return tuple(name for name in names if name)
