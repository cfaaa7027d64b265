"""What confined a command that was run, for the record on its card."""

from __future__ import annotations

from nbtools.core.call import FinishedCall
from nbtools.core.result import CommandOutput
from nbtools.notebook.visible import one_line
from nbtools.tools.shell import ShellData, ShellStarted
from nbtools.tools.terminal_open import TerminalState
from nbtools.tools.terminal_run import TerminalRan


def confined_by(call: FinishedCall) -> str:
    """``in a sandbox: …``, or why there was none; empty where none was wanted, where the output says it, and for what is no command."""
    data, display = call.result.data, call.result.return_display
    words = data.sandbox if isinstance(data, ShellData | ShellStarted | TerminalState | TerminalRan) else ""
    if isinstance(display, CommandOutput) and words in display.note:
        return ""
    return one_line(f"{words[:1].lower()}{words[1:]}")
