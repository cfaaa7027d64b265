"""A home folder with the published sample logs where each agent keeps its own."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

from tests.traces.recorded import SAMPLES

OVERRIDES = (
    *(
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "COPILOT_HOME",
        "QWEN_RUNTIME_DIR",
        "QWEN_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
    ),
    *(
        "OPENHANDS_CONVERSATIONS_DIR",
        "OPENHANDS_PERSISTENCE_DIR",
        "FILE_STORE_PATH",
        "PI_CODING_AGENT_DIR",
        "PI_CODING_AGENT_SESSION_DIR",
    ),
    *("CLINE_DIR", "INSPECT_LOG_DIR", "NBTOOLS_LOG_FOLDERS"),
)
CLAUDE = ".claude/projects/-Users-alisha/"
EVENTS = [
    {
        "id": 0,
        "timestamp": "2026-01-05T10:00:00",
        "source": "user",
        "action": "message",
        "args": {"content": "Fix the price."},
    },
    {
        "id": 1,
        "timestamp": "2026-01-05T10:00:02",
        "source": "agent",
        "action": "run",
        "args": {"command": "pytest -q"},
        "tool_call_metadata": {
            "function_name": "execute_bash",
            "tool_call_id": "a",
            "total_calls_in_response": 1,
        },
    },
    {
        "id": 2,
        "timestamp": "2026-01-05T10:00:04",
        "source": "agent",
        "observation": "run",
        "content": "1 failed",
        "extras": {"command": "pytest -q", "metadata": {"exit_code": 1}},
        "cause": 1,
    },
]
"""A session of OpenHands as a folder with a file for each event."""
LOGS = {
    f"{CLAUDE}9d5beed4.jsonl": "claude-code/external-agents--9d5beed4-5d67-47fd-93b7-154b73dbffaf.jsonl",
    f"{CLAUDE}012dbfb0.jsonl": "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl",
    ".codex/sessions/2026/04/10/rollout-a.jsonl": "codex/skills--019d78fc-c449-7300-92a1-1e92604a4f6a.jsonl",
    ".codex/archived_sessions/rollout-b.jsonl": "codex/skills--019dd4b9-496d-7581-a780-16f20aecff69.jsonl",
    ".gemini/tmp/1a2b/chats/session-2025-12-24.json": "gemini-cli/session-2025-12-24T21-37-2ccb51c5.json",
    ".gemini/tmp/1a2b/chats/session-2026-04-29.jsonl": "gemini-cli/synthetic--jsonl_v040.jsonl",
    ".copilot/session-state/5e/events.jsonl": "copilot-cli/made--events.jsonl",
    ".qwen/projects/-work-shop/chats/1.jsonl": "qwen-code/made--price.jsonl",
    ".pi/agent/sessions/--work-shop--/2.jsonl": "pi/made--tree.jsonl",
    ".config/Code/User/globalStorage/saoudrizwan.claude-dev/tasks/3/api_conversation_history.json": "cline/made--task.json",
    ".config/Code/User/workspaceStorage/4/chatSessions/5.json": "vscode-chat/made--session.json",
    ".config/Code/User/workspaceStorage/4/chatSessions/6.jsonl": "vscode-chat/made--changes.jsonl",
    "logs/2025/popularity.eval": "inspect/log_read_sample.eval",
}
BY_AGENT = {
    "claude-code": 2,
    "codex": 2,
    "gemini-cli": 2,
    "copilot-cli": 1,
    "qwen-code": 1,
    "pi": 1,
    "cline": 1,
    "vscode-copilot": 2,
    "inspect": 1,
    "openhands": 1,
    "opencode": 1,
}


def make_home(home: Path) -> None:
    """Copies the samples to where the agents keep their logs, an hour old,
    each a second older than the one before.
    """
    for number, (place, sample) in enumerate(LOGS.items()):
        path = home / place
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SAMPLES / sample, path)
        make_older(path, 3600 + number)
    write_opencode(home)
    for event in EVENTS:
        write_json(home / ".openhands/conversations/7f/events" / f"{event['id']}.json", event)
    make_older(home / ".openhands/conversations/7f/events", 7200)


def write_opencode(home: Path) -> None:
    """Stores a session as versions of opencode without a database do."""
    storage = home / ".local/share/opencode/storage"
    times = {"created": 1_754_042_400_000, "updated": 1_754_042_500_000}
    session = {
        "id": "ses_1",
        "version": "0.5",
        "projectID": "p",
        "directory": "/work/shop",
        "title": "Fix the price",
        "time": times,
    }
    write_json(storage / "session/p/ses_1.json", session)
    write_json(
        storage / "message/ses_1/msg_1.json",
        {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": times},
    )
    part = {
        "id": "prt_1",
        "sessionID": "ses_1",
        "messageID": "msg_1",
        "type": "text",
        "text": "The price is wrong in the cart.",
    }
    write_json(storage / "part/msg_1/prt_1.json", part)
    make_older(storage / "session/p/ses_1.json", 7200)


def write_json(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


def make_older(path: Path, seconds: float) -> None:
    at = path.stat().st_mtime - seconds
    os.utime(path, (at, at))
