"""Replay: runs recorded calls again, with nbtools' tools, in a temporary copy of the project."""

from __future__ import annotations

from nbtools.replay.canonical_call import CanonicalCall, canonical_call
from nbtools.replay.copy import Copy, temporary_copy
from nbtools.replay.replay import replay, replay_sync
from nbtools.replay.replayed import Replayed, Skipped
from nbtools.replay.steps import Steps, stepping
from nbtools.replay.working_directory import WorkingDirectory, working_directory_of

__all__ = [
    "CanonicalCall",
    "Copy",
    "Replayed",
    "Skipped",
    "Steps",
    "WorkingDirectory",
    "canonical_call",
    "replay",
    "replay_sync",
    "stepping",
    "temporary_copy",
    "working_directory_of",
]
