"""Reader of Claude Code's session logs, of all versions:
JSON lines, each with one content block of a message.

Records form a tree that branches when the person rewinds.  Sub-agents are records in the same file
(``isSidechain``), copies in progress records, or files of their own; if there is a file, it is read and the
copies are not.  Workflow journals have the agents' results.  Large results are in files beside the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.traces.json_access import mapping, string
from nbtools.traces.line_reading import LineReading
from nbtools.traces.lineage import Lineage, lineage_of
from nbtools.traces.model import Call, Detail, Origin, Row
from nbtools.traces.reader import Format, Head
from nbtools.traces.readers.claude_code.calls import ERROR_STATUSES
from nbtools.traces.readers.claude_code.detail import detail_of
from nbtools.traces.readers.claude_code.files import first_session, related_files
from nbtools.traces.readers.claude_code.records import decode_line
from nbtools.traces.readers.claude_code.row_builder import RowBuilder
from nbtools.traces.readers.qwen_recognition import is_qwen_code
from nbtools.traces.session_builder import LogBuilder
from nbtools.traces.source import Source

_FIRST_RECORDS = (
    {"file-history-snapshot", "messageId"},
    {"summary", "leafUuid"},
    {"queue-operation", "sessionId"},
    {"permission-mode", "permissionMode", "sessionId"},
    {"last-prompt", "sessionId"},
)
"""Types of a session's possible first records, each with a key that only Claude Code's records have."""


class ClaudeCode(Format):
    """Reads Claude Code's session logs."""

    name = "claude-code"
    error_statuses = ERROR_STATUSES

    def recognises(self, head: Head) -> bool:
        if not head.start.lstrip().startswith(b"{") or is_qwen_code(head):
            return False
        first = mapping(head.first)
        if head.has("parentUuid", "type") and (head.has("sessionId") or head.has("isSidechain")):
            return True
        return any(one <= {str(first.get("type")), *first} for one in _FIRST_RECORDS)

    def files(self, path: Path) -> Sequence[Path]:
        return related_files(path)

    def lineage(self, head: Head) -> Lineage | None:
        """A fork's records name the session that they were copied from, or still have its id."""
        if any(record.get("isSidechain") is True and "agentId" in record for record in head.records[:1]):
            return None  # a sub-agent's log
        mine = head.path.stem
        names = [string(record.get("sessionId")) for record in head.records if "sessionId" in record]
        copied = names[: names.index(mine)] if mine in names else []
        forked = [string(mapping(record.get("forkedFrom")).get("sessionId")) for record in head.records]
        return lineage_of([mine, *names[:1]], {*forked, *copied} - {mine}, head.records, "uuid")

    def begin(self, source: Source, origin: Origin) -> LineReading | None:
        return None if len(source.files) > 1 else self._builder(source, origin).reading()

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        return iter(self._builder(source, origin))

    def _builder(self, source: Source, origin: Origin) -> RowBuilder:
        return RowBuilder(
            source, LogBuilder(self.name, origin), decode_line, first_session(source.path) or source.path.stem
        )

    def detail(self, source: Source, call: Call) -> Detail:
        return detail_of(source, call)

    def texts(self, source: Source, call: Call) -> Detail:
        return detail_of(source, call, displays=False)
