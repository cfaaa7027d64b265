"""Readers of Codex logs: rollouts of all versions, and the output of ``codex exec --json``."""

from __future__ import annotations

from nbtools.traces.readers.codex.exec_json import CodexExec
from nbtools.traces.readers.codex.rollout import Codex

__all__ = ["Codex", "CodexExec"]
