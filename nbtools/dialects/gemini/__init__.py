"""How Gemini CLI speaks.  Facts: google-gemini/gemini-cli, packages/core/src/tools, version 0.56, and its former names and parameters."""

from __future__ import annotations

from nbtools.dialects.dialect import Dialect
from nbtools.dialects.gemini.commands import COMMANDS
from nbtools.dialects.gemini.files import FILES
from nbtools.dialects.gemini.others import OTHERS
from nbtools.dialects.gemini.replies import refuse
from nbtools.dialects.gemini.resources import RESOURCES
from nbtools.dialects.gemini.search import SEARCH
from nbtools.dialects.gemini.unspoken import UNSPOKEN
from nbtools.dialects.servers import gemini_names

GEMINI = Dialect("gemini", (*FILES, *SEARCH, *COMMANDS, *OTHERS, *RESOURCES), UNSPOKEN, refuse=refuse, server_names=gemini_names)
