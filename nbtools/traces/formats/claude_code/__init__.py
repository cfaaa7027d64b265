"""Claude Code's sessions, of every generation: JSON lines, each one content block of a message, in a tree that rewinds branch.

Sub-agents are records among the others (``isSidechain``), echoes in records of progress, or files of their own; where there is a file, it
is read and its echoes are not.  Journals of workflows say what each agent gave back.  Large results are in files beside the log.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from nbtools.traces.format import Head, is_qwen_code
from nbtools.traces.formats.claude_code.files import beside, first_session
from nbtools.traces.formats.claude_code.reading import Reading
from nbtools.traces.formats.claude_code.records import line
from nbtools.traces.formats.claude_code.showing import detail_of
from nbtools.traces.loose import mapping
from nbtools.traces.model import Call, Detail, Origin, Row
from nbtools.traces.source import Source

_FIRST = (
    {"file-history-snapshot", "messageId"},
    {"summary", "leafUuid"},
    {"queue-operation", "sessionId"},
    {"last-prompt", "sessionId"},
)
"""Types of record that a session may begin with, each with a key that only ours have."""


class ClaudeCode:
    name = "claude-code"
    tells_errors = True

    def recognises(self, head: Head) -> bool:
        if not head.start.lstrip().startswith(b"{") or is_qwen_code(head):
            return False
        first = mapping(head.first)
        if head.has("parentUuid", "type") and (head.has("sessionId") or head.has("isSidechain")):
            return True
        return any(one <= {str(first.get("type")), *first} for one in _FIRST)

    def files(self, path: Path) -> Sequence[Path]:
        return beside(path)

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        return iter(Reading(source, origin, line, first_session(source.path) or source.path.stem))

    def detail(self, source: Source, call: Call) -> Detail:
        return detail_of(source, call)
