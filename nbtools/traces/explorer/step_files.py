"""The files that steps read or changed, under one key for a file, however its path is written."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property

from nbtools.traces.explorer.line_style import CHANGE_OPS
from nbtools.traces.explorer.timeline import UNCHANGED, Timeline
from nbtools.traces.model import Call
from nbtools.traces.working_directory import file_key

_FILES = CHANGE_OPS | {"read"}
"""Operations whose paths are those of files: others are folders to search, for example."""


class StepFiles:
    """The files of the steps in ``lines``."""

    def __init__(self, lines: Timeline) -> None:
        self._lines = lines

    def keys_at(self, line: int) -> Sequence[str]:
        """Returns the keys of the files that the step read or changed, each once."""
        row = self._lines.rows[line]
        if type(row) is not Call:
            return ()
        named = row.paths if row.op in _FILES else ()
        changed = self._changed_paths(row)
        if not named and not changed:
            return ()
        folder = self._lines.folder(row)
        if len(named) == 1 and changed in ((), named):
            return (file_key(named[0], folder),)
        return list(dict.fromkeys(file_key(path, folder) for path in (*named, *changed)))

    def lines_of(self, key: str) -> Sequence[int]:
        """Returns the lines of all steps that read or changed the file, in order."""
        return self._by_key.get(key, ())

    def is_change(self, line: int, key: str) -> bool:
        """Returns whether the step was meant to change the file, not only to read it."""
        row = self._lines.rows[line]
        if not isinstance(row, Call):
            return False
        folder = self._lines.folder(row)
        return row.op in CHANGE_OPS or key in [file_key(path, folder) for path in self._changed_paths(row)]

    def _changed_paths(self, call: Call) -> tuple[str, ...]:
        changes = self._lines.changes
        return changes.get((call.session, call.id), UNCHANGED).paths if changes else ()

    @cached_property
    def _by_key(self) -> Mapping[str, list[int]]:
        found: dict[str, list[int]] = defaultdict(list)
        for line in range(len(self._lines)):
            for key in self.keys_at(line):
                found[key].append(line)
        return found
