"""Has the kernel handle the messages of a page on the subshell that the page names,
and so while a cell is running.
"""

from __future__ import annotations

from typing import Any


def answer_on_subshell(comm: Any) -> None:
    """Has the page's next messages on ``comm`` handled on the subshell that they name;
    call it after each message sent on ``comm``.

    ipykernel 7.4 otherwise handles them where the comm sent its last message.  That may be a subshell that
    has ended; mostly it is the main shell, where they wait for the cell.  Handled there between two cells,
    they can take the second cell's request away, whose outputs and end then go to the first one
    (``Kernel.shell_main`` restores the request that it found).  Without subshells, and in other versions of
    ipykernel, this does nothing.
    """
    vars(comm).pop("_reply_subshell_id", None)
