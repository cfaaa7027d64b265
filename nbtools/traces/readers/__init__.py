"""The built-in log readers; the first one that recognises a file reads it."""

from __future__ import annotations

from nbtools.traces.reader import Format
from nbtools.traces.readers.atif import Atif
from nbtools.traces.readers.claude_code import ClaudeCode
from nbtools.traces.readers.claude_stream import ClaudeStream
from nbtools.traces.readers.cline import Cline
from nbtools.traces.readers.codex import Codex, CodexExec
from nbtools.traces.readers.copilot_cli import CopilotCli
from nbtools.traces.readers.gemini_cli import GeminiCheckpoint, GeminiCli, GeminiTelemetry
from nbtools.traces.readers.inspect.log import InspectAI
from nbtools.traces.readers.messages import Messages
from nbtools.traces.readers.mini_swe_agent import MiniSweAgent
from nbtools.traces.readers.nbtools_log import NbtoolsLog
from nbtools.traces.readers.opencode import OpenCode
from nbtools.traces.readers.openhands import OpenHands
from nbtools.traces.readers.otlp import Otlp
from nbtools.traces.readers.pi import Pi
from nbtools.traces.readers.qwen_code import QwenCode
from nbtools.traces.readers.swe_agent import SweAgent
from nbtools.traces.readers.vscode_chat import VsCodeChat

FORMATS: tuple[Format, ...] = (
    NbtoolsLog(),
    ClaudeCode(),
    ClaudeStream(),
    QwenCode(),
    Atif(),
    MiniSweAgent(),
    SweAgent(),
    OpenHands(),
    OpenCode(),
    GeminiCheckpoint(),
    GeminiCli(),
    GeminiTelemetry(),
    CodexExec(),
    Codex(),
    CopilotCli(),
    VsCodeChat(),
    Cline(),
    Pi(),
    InspectAI(),
    Otlp(),
    Messages(),
)
"""``Messages`` must be last, because other logs contain messages, too."""
