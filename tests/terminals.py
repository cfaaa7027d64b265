"""Programs in a terminal, which tests start with pexpect."""

from __future__ import annotations

import signal
from contextlib import suppress

import pexpect


def end(child: pexpect.spawn) -> None:
    """Ends the program, and waits until it has ended: ``close`` alone waits for 0.1 seconds, and then raises."""
    with suppress(pexpect.ExceptionPexpect):  # it has ended already
        child.kill(signal.SIGKILL)
        child.wait()
    child.close()
