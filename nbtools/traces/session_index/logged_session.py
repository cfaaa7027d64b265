"""A session in the list: the facts about its log."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict

from nbtools.core.deprecation import warn_deprecated
from nbtools.traces.session_index.index import number_of, session_id

_OLD_NAMES = {
    "failed": "failed_calls",
    "added": "added_lines",
    "removed": "removed_lines",
    "tokens_in": "input_tokens",
    "tokens_out": "output_tokens",
}
"""Names of numbers that go with the next release."""


class LoggedSession(Struct, frozen=True):
    """A session log on this machine. None and empty texts: not recorded, or, before ``read``, not known yet.

    ``project`` is the working directory. ``changed`` is the time of the log's last change and ``started``
    that of the first record, in seconds since the epoch; ``duration`` is in seconds. The numbers, which
    ``counts.DEFINITIONS`` defines, count the whole log, with sub-agents, and without the records that a fork
    repeats (``repeats``). ``doubtful``: the numbers of output tokens are placeholders.
    ``cost`` is by the price lists that ``prices`` names, on the days of the requests, without the
    ``unpriced`` requests to models that have no price; without ``prices`` it is what the log records.
    ``read``: the log was read as a whole in its current state. ``running``: see ``running``.
    """

    path: Path
    title: str
    agent: str
    format: str
    model: str
    project: str
    branch: str
    changed: float
    size: int
    started: float | None = None
    duration: float | None = None
    steps: int | None = None
    calls: int | None = None
    nested_calls: int | None = None
    failed_calls: int | None = None
    errors: int | None = None
    edits: int | None = None
    edited_files: int | None = None
    added_lines: int | None = None
    removed_lines: int | None = None
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    unpriced: int | None = None
    prices: str = ""
    doubtful: bool = False
    repeats: int | None = None
    read: bool = False
    running: bool = False
    problem: str = ""

    @property
    def id(self) -> str:
        """The log's id in the index; it stays the same while the log has its path."""
        return session_id(number_of(str(self.path)))

    @property
    def tokens(self) -> int | None:
        """The tokens that were sent and received, as far as they are known."""
        known = [count for count in (self.input_tokens, self.output_tokens) if count is not None]
        return sum(known) if known else None

    @property
    def name(self) -> str:
        """The name of the project's folder."""
        return re.split(r"[/\\]", self.project.rstrip("/\\"))[-1]

    def as_json(self) -> dict[str, Any]:
        """Returns the fields for JSON, for one more release with those of the old names, too."""
        fields = {**asdict(self), "path": str(self.path)}
        return {**fields, **{old: fields[new] for old, new in _OLD_NAMES.items()}}

    @property
    def failed(self) -> int | None:
        """``failed_calls``; it goes with the next release."""
        warn_deprecated("session.failed", "session.failed_calls")
        return self.failed_calls

    @property
    def added(self) -> int | None:
        """``added_lines``; it goes with the next release."""
        warn_deprecated("session.added", "session.added_lines")
        return self.added_lines

    @property
    def removed(self) -> int | None:
        """``removed_lines``; it goes with the next release."""
        warn_deprecated("session.removed", "session.removed_lines")
        return self.removed_lines

    @property
    def tokens_in(self) -> int | None:
        """``input_tokens``; it goes with the next release."""
        warn_deprecated("session.tokens_in", "session.input_tokens")
        return self.input_tokens

    @property
    def tokens_out(self) -> int | None:
        """``output_tokens``; it goes with the next release."""
        warn_deprecated("session.tokens_out", "session.output_tokens")
        return self.output_tokens
