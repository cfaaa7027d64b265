"""The table of all programs that are known, by name."""

from __future__ import annotations

import re

from nbtools.core.shell_acts.builders import BUILDERS
from nbtools.core.shell_acts.files import FILES
from nbtools.core.shell_acts.formatters import FORMATTERS
from nbtools.core.shell_acts.git import GIT
from nbtools.core.shell_acts.harmless import HARMLESS, IDLE
from nbtools.core.shell_acts.interpreters import INTERPRETERS
from nbtools.core.shell_acts.launchers import LAUNCHERS
from nbtools.core.shell_acts.runners import RUNNERS
from nbtools.core.shell_acts.scripts import SCRIPTS
from nbtools.core.shell_acts.search import SEARCH
from nbtools.core.shell_acts.shells import SHELLS
from nbtools.core.shell_acts.started import NOTHING, Effects, Handler, Started
from nbtools.core.shell_acts.transfers import TRANSFERS
from nbtools.core.shell_acts.wrappers import WRAPPERS

PROGRAMS: dict[str, Handler] = {
    **RUNNERS,
    **FORMATTERS,
    **FILES,
    **TRANSFERS,
    **INTERPRETERS,
    **SCRIPTS,
    **SEARCH,
    **BUILDERS,
    **GIT,
    **WRAPPERS,
    **LAUNCHERS,
    **SHELLS,
}


def effects_of(started: Started) -> Effects:
    """What the program does with its words; nothing is known of a program that stands in no table."""
    if 0 in started.dynamic:
        return NOTHING
    handler = PROGRAMS.get(started.name)
    if handler is not None:
        return handler(started)
    if re.match(r"ld-linux|ld\.so|ld-musl", started.name):
        return Effects(risk="it is the loader and starts any program")
    if started.name in IDLE:
        return Effects(harmless=True, transparent=True)
    return Effects(harmless=True) if started.name in HARMLESS else NOTHING
