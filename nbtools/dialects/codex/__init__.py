"""The dialect of OpenAI's Codex CLI, up to 0.126.
Source: openai/codex, codex-rs/tools/src and codex-rs/core/src/tools.
"""

from __future__ import annotations

from nbtools.dialects.codex.commands import COMMANDS
from nbtools.dialects.codex.other_tools import FILES, OTHERS, RESOURCES
from nbtools.dialects.codex.patches import PATCHES
from nbtools.dialects.codex.replies import refuse
from nbtools.dialects.codex.sessions import SESSIONS
from nbtools.dialects.deviations import deviations
from nbtools.dialects.dialect_model import Dialect

CODEX = Dialect(
    "codex",
    (*SESSIONS, *COMMANDS, *PATCHES, *OTHERS, *FILES, *RESOURCES),
    deviations("codex").unsupported,
    refuse=refuse,
    differences=deviations("codex").differences,
)
