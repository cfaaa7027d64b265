"""The names that every tool has here, whatever an agent calls it."""

from __future__ import annotations

VOCABULARY = (
    *("read", "read_many", "ls", "tree", "glob", "grep"),
    *("edit", "write", "patch", "replace_in_files", "revise", "move", "delete"),
    *("shell", "shell_output", "shell_kill", "terminal_open", "terminal_run", "terminal_output", "terminal_kill"),
    *("fetch", "todo", "memory", "ask", "cells"),
)
"""The canonical names; everything else in a registry is somebody's own."""
