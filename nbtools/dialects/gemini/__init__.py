"""The dialect of Gemini CLI 0.56 and earlier.  Source: google-gemini/gemini-cli, packages/core/src/tools."""

from __future__ import annotations

from nbtools.dialects.deviations import deviations
from nbtools.dialects.dialect_model import Dialect
from nbtools.dialects.gemini.commands import COMMANDS
from nbtools.dialects.gemini.files import FILES
from nbtools.dialects.gemini.other_tools import OTHERS, RESOURCES
from nbtools.dialects.gemini.replies import refuse, untrusted
from nbtools.dialects.gemini.search import SEARCH
from nbtools.dialects.mcp_names import gemini_names

GEMINI = Dialect(
    "gemini",
    (*FILES, *SEARCH, *COMMANDS, *OTHERS, *RESOURCES),
    deviations("gemini").unsupported,
    ignore_files=(".geminiignore",),
    reads_ignored=False,
    reads_recordings=True,
    refuse=refuse,
    server_names=gemini_names,
    differences=deviations("gemini").differences,
    untrusted=untrusted,
    refusal_ends_batch=True,
    wait_parameter="wait_for_previous",
)
