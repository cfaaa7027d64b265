"""How Claude Code speaks: every tool of its documentation up to version 2.1.24x, with the names and parameters that it had before.

Replies are worded as its transcripts have them.  Paths may be absolute or relative to the workspace; replies say them whole, except those
that Grep lists.  Where the original loses data or misleads, ours is the safe way, and the class says so and names the report.
"""

from __future__ import annotations

from nbtools.dialects.claude.commands import Bash, BashOutput, KillShell, TaskOutput, TaskStop
from nbtools.dialects.claude.edits import Edit, MultiEdit
from nbtools.dialects.claude.files import LS, Read, Write
from nbtools.dialects.claude.notebooks import NotebookEdit, NotebookEditByNumber, NotebookReading
from nbtools.dialects.claude.others import AskUserQuestion, FormerTodoWrite, TodoWrite, WebFetch
from nbtools.dialects.claude.replies import refuse
from nbtools.dialects.claude.resources import RESOURCES
from nbtools.dialects.claude.search import Glob, Grep
from nbtools.dialects.claude.unspoken import UNSPOKEN
from nbtools.dialects.dialect import Dialect, Spelling

CLAUDE = Dialect(
    "claude",
    (
        Spelling(
            "Read",
            "read",
            Read,
            "Reads a file: text with its lines numbered from 1 (the first 2000 unless offset or limit is given), pictures, PDF documents, "
            "and notebooks as cells with their outputs. A file has to be read before Edit or Write changes it.",
        ),
        Spelling(
            "Write",
            "write",
            Write,
            "Writes a file, replacing what it holds. One that exists has to be read first; to change a part of it use Edit.",
        ),
        Spelling(
            "Edit",
            "edit",
            Edit,
            "Replaces a text in a file, exactly as it stands there. The file has to be read first, and the text must be in it once unless "
            "replace_all is set. Leave out the line numbers that Read shows.",
        ),
        Spelling(
            "NotebookEdit",
            "cells",
            NotebookEdit,
            "Replaces the source of a notebook's cell, inserts a new cell behind another one, or deletes one. Read the notebook first: it "
            "shows the ids of the cells.",
        ),
        Spelling("Glob", "glob", Glob, "Finds files whose path fits a glob pattern, the one changed last first, 100 at most."),
        Spelling(
            "Grep",
            "grep",
            Grep,
            "Searches the contents of files for a regular expression in ripgrep's syntax: which files match, the lines, or how many. "
            "Use it rather than grep or rg in Bash.",
        ),
        Spelling(
            "Bash",
            "shell",
            Bash,
            "Runs a command line with bash, each in a new process in the workspace: neither the folder nor variables carry over to the "
            "next one. It gets no input. Use the other tools to read, search and change files.",
        ),
        Spelling(
            "TaskOutput",
            "shell_output",
            TaskOutput,
            "Gives what a command in the background has printed since the last look, and whether it still runs.",
        ),
        Spelling("TaskStop", "shell_kill", TaskStop, "Ends a command in the background with everything it started."),
        Spelling("WebFetch", "fetch", WebFetch, "Fetches a page of the public web and gives its text."),
        Spelling("TodoWrite", "todo", TodoWrite, "Keeps the list of what is to be done: all of it each time, with how far each item is."),
        Spelling("AskUserQuestion", "ask", AskUserQuestion, "Asks the person one to four questions, each with answers to choose from."),
        Spelling("MultiEdit", "edit", MultiEdit, former=True),
        Spelling("NotebookEdit", "cells", NotebookEditByNumber, former=True),
        Spelling("NotebookRead", "cells", NotebookReading, former=True),
        Spelling("LS", "ls", LS, former=True),
        Spelling("TodoWrite", "todo", FormerTodoWrite, former=True),
        Spelling("BashOutput", "shell_output", BashOutput, former=True),
        Spelling("KillShell", "shell_kill", KillShell, former=True),
        Spelling("KillBash", "shell_kill", KillShell, former=True),
        *RESOURCES,
    ),
    UNSPOKEN,
    reads_first=True,
    refuse=refuse,
)
