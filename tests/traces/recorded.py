"""Sessions that were recorded in earnest; ``samples/SOURCES.md`` says whose they are."""

from __future__ import annotations

from pathlib import Path

SAMPLES = Path(__file__).parent / "samples"
_NO_LOG = "gemini-cli/synthetic--agent-resume-session.json"
"""Answers of a model's API for a test of somebody's."""
LOGS = sorted(
    name
    for path in SAMPLES.glob("*/*")
    if path.is_file() and (name := path.relative_to(SAMPLES).as_posix()) != _NO_LOG
)
"""Their paths as seen from ``SAMPLES``, without the files that belong to another."""
