"""Processes of this machine, any of which can end while it is looked at."""

from __future__ import annotations

import psutil


def words_of(process: psutil.Process) -> list[str]:
    """Returns the command line of a process; empty if it has ended, or is not ours to see."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def named(text: str) -> dict[int, list[str]]:
    """Returns the command lines that contain a text, by process."""
    found = {one.pid: words_of(one) for one in psutil.process_iter()}
    return {pid: words for pid, words in found.items() if text in " ".join(words)}
