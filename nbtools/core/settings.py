"""The settings of a session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import ConfigDict

Sandbox: TypeAlias = Literal["off", "if_present", "required"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a session; ``dataclasses.replace`` makes changed copies.  Sizes are in bytes."""

    # %tools settings shows the docstring of each field.
    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)

    read_first: bool | None = None
    """Whether an existing file must be read before it can be changed; None: as in the dialect."""
    ignore_files: tuple[str, ...] | None = None
    """Ignore files at the root of the workspace, such as .geminiignore, in .gitignore's syntax, of which
    later ones decide first; None: as in the dialect.  What they ignore is not read, listed or searched.  Up
    to 200 kB and 2,000 patterns of each file are read.
    """
    read_ignored: bool | None = None
    """Whether a file that git ignores can be read when a call names it; None: as in the dialect."""
    correct_edits: bool = False
    """Whether the session's model is asked once for the intended text when an edit's old text is
    not found.
    """
    plugins: bool = False
    """Whether the tools of installed packages (entry points ``nbtools.tools``) are loaded,
    which runs their code.
    """
    servers: bool = False
    """Whether the MCP servers in the person's and the project's files are available;
    a project's servers start once it is trusted.
    """
    journal: bool = True
    """Whether changes are recorded in the journal, so that they can be undone."""
    journal_bytes: int = 500_000_000
    """The size limit of a workspace's journal; the oldest entries are dropped first."""
    snapshot_files: int = 10_000
    """Command undo is available for workspaces with at most this many files (git-ignored files excluded)."""
    snapshot_bytes: int = 100_000_000
    """Command undo is available for workspaces with at most this many bytes in those files."""
    sandbox: Sandbox = "off"
    """Whether commands run in bubblewrap: the workspace writable, the rest read-only.
    ``required``: no command runs without it.
    """
    network: bool = False
    """Whether commands in the sandbox have network access."""
    secrets: bool = False
    """Whether commands get environment variables that look like secrets."""
    redact: bool = True
    """Whether secrets are redacted in displays and in texts for models."""
    record: bool = False
    """Whether calls and their displays are logged in the state folder, without known secrets.
    On in notebooks.
    """
    record_bytes: int = 500_000_000
    """The size limit of a workspace's logs; the oldest are deleted first."""
