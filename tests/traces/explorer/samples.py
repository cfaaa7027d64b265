"""Real logs."""

from __future__ import annotations

from pathlib import Path

from tests.traces.recorded import SAMPLES

CLAUDE = "claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl"
LOGS = (
    CLAUDE,
    "claude-code/cctrace--main.jsonl",
    "claude-code/subagent-layout/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl",
    "codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl",
    "gemini-cli/session-2025-12-24T21-37-2ccb51c5.json",
    "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval",
    "swe-agent/pydicom__pydicom-1458.traj",
)


def sample(name: str) -> Path:
    return SAMPLES / name
