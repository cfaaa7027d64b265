"""What a session does beyond its rules, each a setting with a safe or plain default."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import ConfigDict

Sandbox: TypeAlias = Literal["off", "if_present", "required"]


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a session; ``dataclasses.replace`` makes others.  Sizes are in bytes."""

    __pydantic_config__ = ConfigDict(use_attribute_docstrings=True)  # what is written under each is shown by %tools settings

    read_first: bool | None = None
    """Whether an existing file must have been read before it is changed; None: as the dialect has it."""
    correct_edits: bool = False
    """Whether the session's model is asked once for the text that is meant where an edit's old text is not in the file."""
    plugins: bool = False
    """Whether the tools of installed packages (entry points ``nbtools.tools``) are there, too: that runs their code."""
    servers: bool = False
    """Whether the MCP servers that files of the person and the project name are known; a project's starts once it is trusted."""
    journal: bool = True
    """Whether what calls change is kept, so that it can be undone."""
    journal_bytes: int = 500_000_000
    """The most that the journal of a workspace keeps; the oldest goes first."""
    snapshot_files: int = 10_000
    """A command's changes can be undone in a workspace of at most so many files; what git ignores is not counted and not kept."""
    snapshot_bytes: int = 100_000_000
    """… and where those files have at most so many bytes together."""
    sandbox: Sandbox = "off"
    """Whether commands run in bubblewrap: the workspace writable, the rest read-only.  ``required``: without it none runs."""
    network: bool = False
    """Whether commands in the sandbox reach the network."""
    secrets: bool = False
    """Whether commands get the variables that look like secrets."""
    redact: bool = True
    """Whether secrets are taken out of what is shown and of what a model reads."""
    record: bool = False
    """Whether calls, with what they showed, are written to a log in the state folder; secrets that are known are not.  Notebooks do it."""
    record_bytes: int = 500_000_000
    """The most that the logs of a workspace keep; the oldest go first."""
