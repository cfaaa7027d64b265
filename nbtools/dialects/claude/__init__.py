"""The dialect of Claude Code: every documented tool up to version 2.1.24x, with former names and parameters.

Results are worded as in its transcripts.  Paths may be absolute or relative to the workspace; results contain
absolute paths, except those listed by Grep.  Where the original loses data or misleads, nbtools behaves
safely; the class's docstring says so and names the report.
"""

from __future__ import annotations

from nbtools.dialects.claude.commands import Bash, BashOutput, KillShell, TaskOutput, TaskStop
from nbtools.dialects.claude.edits import Edit, MultiEdit
from nbtools.dialects.claude.files import LS, Read, Write
from nbtools.dialects.claude.notebooks import NotebookEdit, NotebookEditByNumber, NotebookReadParams
from nbtools.dialects.claude.other_tools import (
    RESOURCES,
    AskUserQuestion,
    FormerTodoWrite,
    TodoWrite,
    WebFetch,
)
from nbtools.dialects.claude.replies import refuse
from nbtools.dialects.claude.search import Glob, Grep
from nbtools.dialects.deviations import deviations
from nbtools.dialects.dialect_model import Dialect, ToolMapping

CLAUDE = Dialect(
    "claude",
    (
        ToolMapping(
            "Read",
            "read",
            Read,
            "Reads a file: text with its lines numbered from 1 (the first 2000, and at most about 25,000"
            " tokens; offset and limit select others), images, PDF documents, and notebooks as cells with"
            " their outputs. A file must be read before Edit or Write changes it.",
        ),
        ToolMapping(
            "Write",
            "write",
            Write,
            "Writes a file and replaces its content. An existing file must be read first; to change a part of"
            " it, use Edit.",
        ),
        ToolMapping(
            "Edit",
            "edit",
            Edit,
            "Replaces an exact text in a file. The file must be read first, and the text must occur once"
            " unless replace_all is set. Leave out the line numbers that Read shows.",
        ),
        ToolMapping(
            "NotebookEdit",
            "cells",
            NotebookEdit,
            "Replaces the source of a notebook cell, inserts a new cell after another one, or deletes a cell."
            " Read the notebook first: it shows the ids of the cells.",
        ),
        ToolMapping(
            "Glob",
            "glob",
            Glob,
            "Finds files whose path matches a glob pattern, most recently changed first, 100 at most.",
        ),
        ToolMapping(
            "Grep",
            "grep",
            Grep,
            "Searches file contents for a regular expression in ripgrep's syntax; returns matching files,"
            " lines or counts. Use it rather than grep or rg in Bash.",
        ),
        ToolMapping(
            "Bash",
            "shell",
            Bash,
            "Runs a command line with bash, in a new process. The working directory carries over to the next"
            " command if the command succeeds and ends inside the workspace; variables do not. It gets no"
            " input. Use the other tools to read, search and change files.",
        ),
        ToolMapping(
            "TaskOutput",
            "shell_output",
            TaskOutput,
            "Waits for the end of a background command, and returns its whole output and whether it is still"
            " running.",
        ),
        ToolMapping(
            "TaskStop", "shell_kill", TaskStop, "Ends a background command and all processes that it started."
        ),
        ToolMapping("WebFetch", "fetch", WebFetch, "Fetches a page of the public web and returns its text."),
        ToolMapping(
            "TodoWrite",
            "todo",
            TodoWrite,
            "Replaces the to-do list: always pass the whole list, with the status of each item.",
        ),
        ToolMapping(
            "AskUserQuestion",
            "ask",
            AskUserQuestion,
            "Asks the person one to four multiple-choice questions.",
        ),
        ToolMapping("MultiEdit", "edit", MultiEdit, former=True),
        ToolMapping("NotebookEdit", "cells", NotebookEditByNumber, former=True),
        ToolMapping("NotebookRead", "cells", NotebookReadParams, former=True),
        ToolMapping("LS", "ls", LS, former=True),
        ToolMapping("TodoWrite", "todo", FormerTodoWrite, former=True),
        ToolMapping("BashOutput", "shell_output", BashOutput, former=True),
        ToolMapping("KillShell", "shell_kill", KillShell, former=True),
        ToolMapping("KillBash", "shell_kill", KillShell, former=True),
        *RESOURCES,
    ),
    deviations("claude").unsupported,
    reads_first=True,
    read_tokens=25_000,
    carries_folder=True,
    refuse=refuse,
    differences=deviations("claude").differences,
)
