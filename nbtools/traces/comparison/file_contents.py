"""The content of a file at the end of a run, as far as the changes that its log records tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nbtools.core.result import FileDiff
from nbtools.traces.model import Call
from nbtools.traces.trace import Trace
from nbtools.traces.working_directory import file_key

_HUNK = re.compile(r"^@@ [^\n]*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file at the end of a run: the calls that changed it, and the text that the last change left.

    ``whole``: the text is the whole file, else a part of it. ``text`` is None where the log does not have it.
    """

    changes: tuple[Call, ...]
    text: str | None = None
    whole: bool = False


def file_content(trace: Trace, path: str) -> FileContent:
    """Returns the changes and the last text of the file at ``path``,
    relative to the session's folder or the end of its path.

    Raises ``TraceError`` where the log has changed since it was read.
    """
    folders = {one.id: one.cwd for one in trace.sessions}
    calls = {(call.session, call.id): call for call in trace.calls if call.live}
    keys = (
        (one, file_key(one.path, folders.get(one.session, "")))
        for one in trace.file_changes
        if one.applied and one.path
    )
    found = {
        (one.session, one.call): key
        for one, key in keys
        if (one.session, one.call) in calls and is_path(key, path)
    }
    changes = sorted((calls[key] for key in found), key=lambda call: (call.at or 0.0, call.seq))
    if len(set(found.values())) > 1:
        return FileContent(tuple(changes))  # several files end like this
    content = FileContent(tuple(changes))
    for call in changes:
        diffs = [
            part
            for one in call.detail.changes
            if is_path(file_key(one.file_name, folders.get(call.session, "")), path)
            for part in recorded_parts(one)
        ]
        content = _followed(content, diffs)
    return content


def is_path(key: str, path: str) -> bool:
    """Whether a file is the one that a person means by ``path``."""
    return key == path or key.endswith(f"/{path.removeprefix('./').lstrip('/')}")


def _followed(content: FileContent, diffs: Sequence[FileDiff]) -> FileContent:
    if not diffs:
        return replace(content, text=None, whole=False)
    for diff in diffs:
        old, new = diff.original_content, diff.new_content
        if old is None or (content.whole and old == content.text):
            content = replace(content, text=new, whole=True)
        elif content.whole and content.text is not None and old and content.text.count(old) == 1:
            content = replace(content, text=content.text.replace(old, new))
        else:
            content = replace(content, text=new, whole=False)
    return content


def recorded_parts(diff: FileDiff) -> Iterator[FileDiff]:
    """Yields the diff, or its hunks as parts of the file where the log has a patch without the texts."""
    if diff.original_content != diff.new_content or not diff.file_diff:
        yield diff
        return
    for hunk in _HUNK.split(diff.file_diff)[1:]:
        lines = hunk.splitlines(keepends=True)
        old, new = (
            "".join(line[1:] for line in lines if line[:1] in signs) for signs in ((" ", "-"), (" ", "+"))
        )
        yield replace(diff, original_content=old, new_content=new)
