"""Void's calls: what they mean, what they do, and what its model reads.
They follow its public description, defects included.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.core.confirmation import Answer, Confirmation, ToolConfirmationOutcome
from nbtools.core.errors import ToolFailure
from nbtools.core.schema.json_schema import Provider
from nbtools.dialects.void import VOID
from nbtools.workspace.text.patch_plan import plan_patch, read_patch
from nbtools.workspace.workspace import Workspace
from tests.dialects.table import Case, play, put, text_of
from tests.examples import examples

LINES = "".join(f"line {number}\n" for number in range(1, 11))
CODE = "def f():\n    x = 1\n    return x\n\n\nfoo bar\nlast\n"
NOT_RIGHT = "Invalid LLM output format: "


def blocks(*pairs: tuple[str, str]) -> str:
    return "".join(f"<<<<<<< ORIGINAL\n{old}=======\n{new}>>>>>>> UPDATED\n" for old, new in pairs)


def edit(
    title: str, text: str, before: str | bytes = CODE, after: str | bytes | None = None, **promised: Any
) -> Case:
    """One file ``a``, and blocks for it; without ``after`` it stays as it is."""
    arguments = {"uri": "a", "search_replace_blocks": text}
    return Case(
        f"edit: {title}",
        "edit_file",
        arguments,
        {"a": before},
        {"a": before if after is None else after},
        **promised,
    )


READ = [
    Case(
        "read: all of a file", "read_file", {"uri": "a"}, {"a": LINES}, reply=f"{{root}}/a\n```\n{LINES}```"
    ),
    Case(
        "read: by a whole path", "read_file", {"uri": "{root}/a"}, {"a": "x\n"}, reply="{root}/a\n```\nx\n```"
    ),
    Case(
        "read: by an address",
        "read_file",
        {"uri": "file://{root}/a%20b"},
        {"a b": "x\n"},
        reply="{root}/a b\n```\nx\n```",
    ),
    Case(
        "read: a path is not decoded",
        "read_file",
        {"uri": "a%20b"},
        {"a%20b": "x\n", "a b": "y\n"},
        reply="{root}/a%20b\n```\nx\n```",
    ),
    Case(
        "read: an address of another machine",
        "read_file",
        {"uri": "vscode-remote://ssh/a"},
        code="invalid_tool_params",
        parts=[f"{NOT_RIGHT}uri must be a path", 'Full value: "vscode-remote://ssh/a"'],
    ),
    Case("read: an empty file", "read_file", {"uri": "a"}, {"a": ""}, reply="{root}/a\n```\n\n```"),
    Case(
        "read: lines as text",
        "read_file",
        {"uri": "a", "start_line": "3", "end_line": "4"},
        {"a": LINES},
        reply="{root}/a\n```\nline 3\nline 4\n```",
    ),
    Case(
        "read: lines as numbers",
        "read_file",
        {"uri": "a", "start_line": 9},
        {"a": LINES},
        reply="{root}/a\n```\nline 9\nline 10\n```",
    ),
    Case(
        "read: a number is read off a text's beginning",
        "read_file",
        {"uri": "a", "end_line": "1st"},
        {"a": "one\ntwo\n"},
        reply="{root}/a\n```\none\n```",
    ),
    *(
        Case(
            f"read: {value!r} is no line",
            "read_file",
            {"uri": "a", "start_line": value, "end_line": value, "page_number": ""},
            {"a": "x\ny\n"},
            reply="{root}/a\n```\nx\ny\n```",
        )
        for value in ("", "null", "undefined", None, "0", -3, "x", True)
    ),
    Case(
        "read: more than 2,000 lines",
        "read_file",
        {"uri": "a"},
        {"a": "x\n" * 3_000 + "end\n"},
        parts=["end\n```"],
        absent=["(more"],
    ),
    Case(
        "read: a page has 500,000 characters",
        "read_file",
        {"uri": "a"},
        {"a": ("x" * 99 + "\n") * 6_000},
        parts=["x\n\n```\n(more on next page...)\nThe lines 1-6000 of 6000 have 599999 characters."],
    ),
    Case(
        "read: the next page is the rest",
        "read_file",
        {"uri": "a", "page_number": "2"},
        {"a": ("x" * 99 + "\n") * 5_000 + "end\n"},
        reply="{root}/a\n```\nend\n```",
    ),
    Case(
        "read: the counts are the file's, not those of the lines asked for",
        "read_file",
        {"uri": "a", "start_line": "2", "end_line": "5999"},
        {"a": ("x" * 99 + "\n") * 6_000},
        parts=["The lines 2-5999 of 6000 have"],
    ),
    Case(
        "read: a page past the end is no empty answer",
        "read_file",
        {"uri": "a", "page_number": "2"},
        {"a": LINES},
        code="invalid_tool_params",
        reply="There is no page 2: the last one is 1.",
    ),
    Case(
        "read: a file that is more than can be given says where to go on",
        "read_file",
        {"uri": "a", "page_number": "2"},
        {"a": ("x" * 99 + "\n") * 12_000},
        parts=["(more lines...)\nThese are the lines 1-10000 of 12000. Read on with start_line 10001."],
    ),
    Case(
        "read: a start past the end",
        "read_file",
        {"uri": "a", "start_line": "50"},
        {"a": LINES},
        code="invalid_tool_params",
        parts=["a has 10 lines", "start_line of at most 10"],
    ),
    Case(
        "read: a long line is whole",
        "read_file",
        {"uri": "a"},
        {"a": "x" * 9_999},
        reply="{root}/a\n```\n" + "x" * 9_999 + "\n```",
    ),
    Case(
        "read: a line longer than a page goes on, on the next page",
        "read_file",
        {"uri": "a", "page_number": "2"},
        {"a": "x" * 500_000 + "end\n"},
        reply="{root}/a\n```\nend\n```",
    ),
    Case(
        "read: no such file",
        "read_file",
        {"uri": "b.txt"},
        {"a.txt": ""},
        code="file_not_found",
        parts=["b.txt", "a.txt"],
    ),
    Case("read: a folder", "read_file", {"uri": "d"}, {"d/a": ""}, code="target_is_directory"),
    Case(
        "read: outside",
        "read_file",
        {"uri": "/etc/passwd"},
        code="path_not_in_workspace",
        parts=["/etc/passwd is outside"],
    ),
]

WRONG = [
    Case(
        "wrong: nothing given",
        "read_file",
        {},
        code="invalid_tool_params",
        reply=f"{NOT_RIGHT}uri is missing",
    ),
    Case(
        "wrong: null",
        "read_file",
        {"uri": None},
        code="invalid_tool_params",
        reply=f"{NOT_RIGHT}uri is null, and must be text",
    ),
    Case(
        "wrong: no path",
        "read_file",
        {"uri": ""},
        code="invalid_tool_params",
        reply=f"{NOT_RIGHT}uri is empty, and must be a path",
    ),
    Case(
        "wrong: a number for text",
        "read_file",
        {"uri": 7},
        code="invalid_tool_params",
        reply=f"{NOT_RIGHT}uri must be text, but it is a number. Full value: 7",
    ),
    Case(
        "wrong: a list for text",
        "search_for_files",
        {"query": ["a", True]},
        code="invalid_tool_params",
        reply=f'{NOT_RIGHT}query must be text, but it is a object. Full value: ["a", true]',
    ),
    Case(
        "wrong: a boolean for text",
        "run_command",
        {"command": True},
        code="invalid_tool_params",
        parts=["command must be text, but it is a boolean. Full value: true"],
    ),
    Case(
        "wrong: a parameter that is none",
        "read_file",
        {"uri": "a", "path": "b"},
        code="invalid_tool_params",
        reply=f"{NOT_RIGHT}there is no parameter path",
    ),
    *(
        Case(
            f"wrong: page {page!r}",
            "ls_dir",
            {"uri": "", "page_number": page},
            code="invalid_tool_params",
            parts=[f"{NOT_RIGHT}page_number must be {problem}. Full value:"],
        )
        for page, problem in (
            ("x", "a whole number"),
            ("1.5", "a whole number"),
            (2.5, "a whole number"),
            ("-1", "1 or greater"),
            (-1, "1 or greater"),
            ("0", "1 or greater"),
        )
    ),
    *(
        Case(
            f"right: page {page!r} is the first",
            "ls_dir",
            {"uri": "", "page_number": page},
            {"a": ""},
            reply="{root}\n└── a",
        )
        for page in (0, "", None, "null", "undefined", 1, "1", "1.0", 1.0)
    ),
]

LIST = [
    Case(
        "ls: folders, files", "ls_dir", {"uri": "{root}"}, {"a": "", "d/b": ""}, reply="{root}\n├── d/\n└── a"
    ),
    Case(
        "ls: no path is the workspace, not the root of the disk",
        "ls_dir",
        {"uri": ""},
        {"a": ""},
        reply="{root}\n└── a",
    ),
    Case("ls: nothing given", "ls_dir", {}, {"a": ""}, reply="{root}\n└── a"),
    Case(
        "ls: ignored and hidden files, too",
        "ls_dir",
        {},
        {".gitignore": "a\n", "a": ""},
        parts=[".gitignore", "a"],
    ),
    Case(
        "ls: 500 a page",
        "ls_dir",
        {"uri": "d"},
        {f"d/{number:03}": "" for number in range(501)},
        parts=["{root}/d\n├── 000", "├── 499\n└── (1 results remaining...)"],
    ),
    Case(
        "ls: the next page has no head",
        "ls_dir",
        {"uri": "d", "page_number": "2"},
        {f"d/{number:03}": "" for number in range(501)},
        reply="└── 500",
    ),
    Case(
        "ls: a page past the end",
        "ls_dir",
        {"page_number": "2"},
        {"a": ""},
        code="invalid_tool_params",
        parts=["There is no page 2"],
    ),
    Case(
        "ls: a file is an error, not a sentence",
        "ls_dir",
        {"uri": "a"},
        {"a": ""},
        code="path_is_not_a_directory",
        parts=["a is a file"],
    ),
    Case(
        "ls: the name that descriptions give", "list_directory", {"uri": ""}, {"a": ""}, reply="{root}\n└── a"
    ),
    Case(
        "tree: all levels, folders of dependencies closed",
        "get_dir_tree",
        {"uri": "{root}"},
        {"src/lib/a.py": "", "node_modules/x/y": "", "b": ""},
        parts=["Directory of {root}:\n", "node_modules/", "└── lib/\n", "└── a.py\n", "b"],
        absent=["── y", "── x"],
    ),
    Case(
        "tree: of a folder",
        "get_dir_tree",
        {"uri": "src"},
        {"src/a": "", "b": ""},
        parts=["Directory of {root}/src:", "a"],
        absent=["b"],
    ),
    Case(
        "tree: what is left out is told",
        "get_dir_tree",
        {"uri": ""},
        {f"{number:03}{'x' * 90}": "" for number in range(300)},
        parts=["000", "...Result was truncated: ", "lines are left out"],
    ),
    Case("tree: a file", "get_dir_tree", {"uri": "a"}, {"a": ""}, code="path_is_not_a_directory"),
]

TREE = {
    "src/Foo_bar.py": "needle\nx\n",
    "src/fob.ts": "Needle\n",
    "lib/foobar/x.js": "n.edle\n",
    ".foo": "needle\n",
    "out.log": "needle\n",
    ".gitignore": "*.log\n",
}
SEARCH = [
    Case(
        "names: letters in order, the best first",
        "search_pathnames_only",
        {"query": "foo"},
        TREE,
        reply="{root}/.foo\n{root}/src/Foo_bar.py",
    ),
    Case(
        "names: letters apart",
        "search_pathnames_only",
        {"query": "f b"},
        TREE,
        reply="{root}/src/fob.ts\n{root}/src/Foo_bar.py",
    ),
    Case(
        "names: a slash is one of the path",
        "search_pathnames_only",
        {"query": "foob/x"},
        TREE,
        reply="{root}/lib/foobar/x.js",
    ),
    Case(
        "names: what a glob means something by",
        "search_pathnames_only",
        {"query": "[a]*{"},
        {"[a]*{": "", "a": ""},
        reply="{root}/[a]*{",
    ),
    Case(
        "names: include_pattern works",
        "search_pathnames_only",
        {"query": "fo", "include_pattern": "*.{ts,js}"},
        TREE,
        reply="{root}/src/fob.ts",
    ),
    Case(
        "names: a folder to include",
        "search_pathnames_only",
        {"query": "f", "include_pattern": "src"},
        TREE,
        reply="{root}/src/fob.ts\n{root}/src/Foo_bar.py",
    ),
    Case(
        "names: null is no pattern",
        "search_pathnames_only",
        {"query": ".ts", "include_pattern": "null"},
        TREE,
        reply="{root}/src/fob.ts",
    ),
    Case("names: none", "search_pathnames_only", {"query": "zz"}, TREE, reply="No files found."),
    Case(
        "names: 500 a page",
        "search_pathnames_only",
        {"query": "a"},
        {f"a{number:03}": "" for number in range(501)},
        parts=["a499\n(more on next page...)"],
        absent=["a500"],
    ),
    Case(
        "names: the last page",
        "search_pathnames_only",
        {"query": "a", "page_number": "2"},
        {f"a{number:03}": "" for number in range(501)},
        reply="{root}/a500",
    ),
    Case(
        "names: a page past the end",
        "search_pathnames_only",
        {"query": "a", "page_number": 9},
        {"a": ""},
        code="invalid_tool_params",
    ),
    Case(
        "files: those with the text, ignored ones not",
        "search_for_files",
        {"query": "needle"},
        TREE,
        reply="{root}/.foo\n{root}/src/Foo_bar.py\n{root}/src/fob.ts",
    ),
    Case(
        "files: plain text unless said",
        "search_for_files",
        {"query": "n.edle"},
        TREE,
        reply="{root}/lib/foobar/x.js",
    ),
    Case(
        "files: a regular expression",
        "search_for_files",
        {"query": "n.?edle$", "is_regex": "true", "search_in_folder": "lib"},
        TREE,
        reply="{root}/lib/foobar/x.js",
    ),
    Case(
        "files: anything but true is no",
        "search_for_files",
        {"query": "n.edle", "is_regex": "yes"},
        TREE,
        reply="{root}/lib/foobar/x.js",
    ),
    Case(
        "files: none",
        "search_for_files",
        {"query": "zz", "search_in_folder": ""},
        TREE,
        reply="No files found.",
    ),
    Case(
        "files: a wrong expression",
        "search_for_files",
        {"query": "(", "is_regex": True},
        TREE,
        code="invalid_tool_params",
        parts=["call without is_regex"],
    ),
    Case(
        "files: 500 a page",
        "search_for_files",
        {"query": "x"},
        {f"{number:03}": "x" for number in range(501)},
        parts=["499\n(more on next page...)"],
    ),
    Case(
        "files: the last page",
        "search_for_files",
        {"query": "x", "page_number": "2"},
        {f"{number:03}": "x" for number in range(501)},
        reply="{root}/500",
    ),
    Case(
        "in a file: lines with their numbers",
        "search_in_file",
        {"uri": "a", "query": "e 2"},
        {"a": LINES},
        reply="Line 2:\n```\nline 2\n```",
    ),
    Case(
        "in a file: capitals differ",
        "search_in_file",
        {"uri": "a", "query": "X"},
        {"a": "x\nX\nx\nX"},
        reply="Line 2:\n```\nX\n```\nLine 4:\n```\nX\n```",
    ),
    Case(
        "in a file: an expression",
        "search_in_file",
        {"uri": "a", "query": "^b.$", "is_regex": "true"},
        {"a": "abc\nbc\n"},
        reply="Line 2:\n```\nbc\n```",
    ),
    Case(
        "in a file: no hit is said",
        "search_in_file",
        {"uri": "a", "query": "zz"},
        {"a": "x"},
        reply="No lines of {root}/a match.",
    ),
    Case(
        "in a file: a folder's files are told",
        "search_in_file",
        {"uri": "d", "query": "x"},
        {"d/a": "x", "d/b": "x"},
        parts=["Line 1 of {root}/d/a:", "Line 1 of {root}/d/b:"],
    ),
    Case(
        "in a file: what is left out is told",
        "search_in_file",
        {"uri": "a", "query": "x"},
        {"a": "x\n" * 10_001},
        parts=["Line 10000:", "(1 more lines match"],
    ),
]

FILES = [
    Case(
        "create: a file and its folders",
        "create_file_or_folder",
        {"uri": "d/e/a"},
        after={"d/e/a": ""},
        reply="URI {root}/d/e/a successfully created.",
    ),
    Case(
        "create: a folder",
        "create_file_or_folder",
        {"uri": "{root}/d/"},
        reply="URI {root}/d successfully created.",
    ),
    Case(
        "create: a folder that is there",
        "create_file_or_folder",
        {"uri": "d/"},
        {"d/a": ""},
        {"d/a": ""},
        parts=["is there already"],
    ),
    Case(
        "create: nothing is overwritten",
        "create_file_or_folder",
        {"uri": "a"},
        {"a": "x"},
        {"a": "x"},
        code="attempt_to_create_existing_file",
    ),
    Case(
        "create: a folder where a file is",
        "create_file_or_folder",
        {"uri": "a/"},
        {"a": "x"},
        {"a": "x"},
        code="attempt_to_create_existing_file",
    ),
    Case(
        "delete: a file",
        "delete_file_or_folder",
        {"uri": "a"},
        {"a": "x"},
        {"a": None},
        reply="URI {root}/a successfully deleted.",
    ),
    Case(
        "delete: a full folder has to be meant",
        "delete_file_or_folder",
        {"uri": "d", "is_recursive": "false"},
        {"d/a": "x"},
        {"d/a": "x"},
        code="target_is_directory",
        parts=['with is_recursive="true"'],
    ),
    Case(
        "delete: a full folder",
        "delete_file_or_folder",
        {"uri": "d/", "is_recursive": "true"},
        {"d/a": "x"},
        {"d": None},
        reply="URI {root}/d successfully deleted.",
    ),
    Case("delete: nothing there", "delete_file_or_folder", {"uri": "a"}, code="file_not_found"),
    Case(
        "delete: the workspace",
        "delete_file_or_folder",
        {"uri": ".", "is_recursive": True},
        {"a": "x"},
        {"a": "x"},
        code="confirmation_required",
    ),
    Case(
        "rewrite: all of it",
        "rewrite_file",
        {"uri": "a", "new_content": "y\n"},
        {"a": "x\nx\n"},
        {"a": "y\n"},
        reply="Change successfully made to {root}/a.",
    ),
    Case(
        "rewrite: a file that is not there is made, not only said to be",
        "rewrite_file",
        {"uri": "d/a", "new_content": "y\n"},
        after={"d/a": "y\n"},
        reply="Change successfully made to {root}/d/a.",
    ),
    Case(
        "rewrite: a folder",
        "rewrite_file",
        {"uri": "d/", "new_content": ""},
        after={"d": None},
        code="target_is_directory",
    ),
    Case(
        "rewrite: CRLF stays",
        "rewrite_file",
        {"uri": "a", "new_content": "x\nz\n"},
        {"a": "x\r\ny\r\n"},
        {"a": b"x\r\nz\r\n"},
    ),
    Case(
        "write_file, a name that descriptions give",
        "write_file",
        {"uri": "a", "content": "y"},
        {"a": "x"},
        {"a": "y"},
    ),
]

LAST = blocks(("last\n", "end\n"))
FAIL = {"code": "edit_no_occurrence_found"}
EDIT = [
    edit(
        "a line",
        blocks(("    x = 1\n", "    x = 2\n")),
        after=CODE.replace("= 1", "= 2"),
        reply="Change successfully made to {root}/a.",
    ),
    edit(
        "several blocks in any order",
        blocks(("last\n", "end\n"), ("def f():\n", "def g():\n")),
        after=CODE.replace("last", "end").replace("f()", "g()"),
    ),
    edit(
        "prose and fences around blocks",
        f"Here it is:\n```\n{LAST}```\nDone.",
        after=CODE.replace("last", "end"),
    ),
    edit("a file's name around blocks is prose", f"b\n{LAST}", after=CODE.replace("last", "end")),
    edit("LF finds CRLF, which stays", blocks(("x\ny\n", "x\nz\n")), b"x\r\ny\r\n", b"x\r\nz\r\n"),
    edit(
        "blocks with CRLF",
        blocks(("last\n", "end\n")).replace("\n", "\r\n"),
        after=CODE.replace("last", "end"),
    ),
    edit(
        "blanks behind a marker",
        blocks(("last\n", "end\n")).replace("=======", "======= "),
        after=CODE.replace("last", "end"),
    ),
    edit(
        "the first of several is not taken in silence",
        blocks(("x\n", "y\n")),
        "x\na\nx\n",
        code="edit_expected_occurrence_mismatch",
        parts=["2 times (lines 1, 3)"],
    ),
    edit("all or nothing", blocks(("last\n", "end\n"), ("nowhere at all\n", "y\n")), **FAIL),
    edit(
        "overlap",
        blocks(("x\ny\n", "1\n"), ("y\nz\n", "2\n")),
        "x\ny\nz\n",
        code="edit_preparation_failure",
        parts=["overlap"],
    ),
    edit(
        "a part of a line keeps the rest",
        blocks(("x = 1\n", "x = 2\n")),
        "    x = 1  # one\n",
        "    x = 2  # one\n",
        parts=["inside line 1"],
    ),
    edit("an empty first line eats no line", blocks(("\nx\n", "\ny\n")), "a\n\nx\nb\n", "a\n\ny\nb\n"),
    edit("an empty last line eats no line", blocks(("x\n\n", "y\n\n")), "a\nx\n\nb\n", "a\ny\n\nb\n"),
    edit("empty lines at both ends may go", blocks(("\nx\n\n", "y\n")), "a\n\nx\n\nb\n", "a\ny\nb\n"),
    edit(
        "an unfinished last block changes nothing",
        blocks(("last\n", "end\n")) + "<<<<<<< ORIGINAL\nfoo bar\n=======\nfoo",
        code="invalid_tool_params",
        parts=["not finished"],
    ),
    edit(
        "a block that breaks off in ORIGINAL",
        "<<<<<<< ORIGINAL\nfoo bar\n",
        code="invalid_tool_params",
        parts=["not finished"],
    ),
    edit(
        "no divider",
        "<<<<<<< ORIGINAL\nlast\n>>>>>>> UPDATED\n",
        code="invalid_tool_params",
        parts=["no ======= line"],
    ),
    edit(
        "an empty ORIGINAL does not take the first line",
        blocks(("", "x\n")),
        code="invalid_tool_params",
        parts=["old text is empty"],
    ),
    edit("an empty ORIGINAL fills an empty file", blocks(("", "x\n")), "", "x\n"),
    edit("a blank ORIGINAL fills an empty file", blocks(("\n", "x\n")), "", "x\n"),
    edit("a blank ORIGINAL fills a blank file", blocks(("  \n\n", "x\n")), "\n \n", "x\n"),
    edit("a blank ORIGINAL does not take the first line", blocks(("\n", "x\n")), "a\n", **FAIL),
    edit(
        "a blank ORIGINAL is no part of a line",
        blocks(("   \n", "x\n")),
        "a\n    b\n",
        parts=["is blank"],
        **FAIL,
    ),
    edit("a blank line that is there is a line", blocks(("\n", "x\n")), "a\n\nb\n", "a\nx\nb\n"),
    edit(
        "seven equals signs in ORIGINAL",
        blocks(("Title\n=======\ntext\n", "Title\n=====\ntext\n")),
        "Title\n=======\ntext\nmore\n",
        "Title\n=====\ntext\nmore\n",
    ),
    edit(
        "an end marker in UPDATED is told",
        blocks(("last\n", ">>>>>>> UPDATED\n")),
        code="invalid_tool_params",
        parts=["ends no block", "rewrite_file"],
    ),
    edit(
        "no newline between two blocks",
        (blocks(("x = 1\n", "x = 2\n")).rstrip("\n") + blocks(("last\n", "end\n"))),
        after=CODE.replace("x = 1", "x = 2").replace("last", "end"),
    ),
    edit(
        "no newline before an end marker",
        blocks(("x = 1\n", "x = 2")) + blocks(("last\n", "end\n")),
        after=CODE.replace("x = 1", "x = 2").replace("last", "end"),
    ),
    edit(
        "no newline around a marker between two blocks",
        (blocks(("x = 1\n", "x = 2")).rstrip("\n") + blocks(("last\n", "end\n"))),
        after=CODE.replace("x = 1", "x = 2").replace("last", "end"),
    ),
    edit(
        "text in the lines of markers, outside of the block",
        "".join(
            f"{before}{blocks(pair)[:-1]}``` "
            for before, pair in [("1. ", ("x = 1\n", "x = 2\n")), ("2. ", ("last\n", "end\n"))]
        ),
        after=CODE.replace("x = 1", "x = 2").replace("last", "end"),
    ),
    edit(
        "an end marker inside a line of UPDATED is told",
        blocks(("last\n", "a >>>>>>> UPDATED b\nend\n")),
        code="invalid_tool_params",
        parts=["ends no block", "rewrite_file"],
    ),
    edit(
        "a description may name the markers",
        f"<<<<<<< ORIGINAL to >>>>>>> UPDATED:\n{LAST}",
        after=CODE.replace("last", "end"),
    ),
    edit(
        "an indented block is not passed over",
        blocks(("last\n", "end\n"))
        + "".join(f"  {line}\n" for line in blocks(("x = 1\n", "x = 2\n")).splitlines()),
        code="invalid_tool_params",
        parts=["line 6"],
    ),
    edit("blanks in the middle count", blocks(("foobar\n", "x\n")), **FAIL),
    edit("and the other way round", blocks(("fo o bar\n", "x\n")), **FAIL),
    edit(
        "blanks behind lines do not",
        blocks(("foo bar  \nlast\n", "foo\n")),
        after=CODE.replace("foo bar\nlast", "foo"),
        parts=["at line 6, text that differs in whitespace was replaced."],
    ),
    edit(
        "indentation may differ where it is the only place, and is put right",
        blocks(("x = 1\nreturn x\n", "return 1\n")),
        after="def f():\n    return 1\n\n\nfoo bar\nlast\n",
        parts=["at line 2, text that differs in indentation was replaced"],
    ),
    edit("deleting leaves no empty line", blocks(("foo bar\n", "")), after=CODE.replace("foo bar\n", "")),
    edit("deleting all of it", blocks((CODE, "")), after=""),
    edit("a file without a newline at its end", blocks(("b\n", "c\n")), "a\nb", "a\nc"),
    edit(
        "text that reads like a note of ours",
        blocks(("blank\n", "indentation\n")),
        "blank\n",
        "indentation\n",
        reply="Change successfully made to {root}/a.",
    ),
    edit(
        "nowhere",
        blocks(("nowhere at all\n", "x\n")),
        parts=["a, block 1: the old text is not in it", "Read the file"],
        **FAIL,
    ),
    edit(
        "no blocks",
        "x = 2",
        code="invalid_tool_params",
        parts=["No Search/Replace blocks were received!", "<<<<<<< ORIGINAL"],
    ),
    edit("nothing", "", code="invalid_tool_params", parts=["No Search/Replace blocks were received!"]),
    Case(
        "edit: a patch of another kind and file",
        "edit_file",
        {"uri": "a", "search_replace_blocks": "*** Begin Patch\n*** Delete File: b\n*** End Patch\n"},
        {"a": "x", "b": "y"},
        {"b": "y"},
        code="invalid_tool_params",
    ),
    Case(
        "edit: the uri is the file, whatever stands above a block",
        "edit_file",
        {"uri": "a", "search_replace_blocks": f"src/b.py\n{LAST}*** Delete File: b\n"},
        {"a": "last\n", "src/b.py": "last\n"},
        {"a": "end\n", "src/b.py": "last\n"},
    ),
    Case(
        "edit: a missing file is no success",
        "edit_file",
        {"uri": "b", "search_replace_blocks": blocks(("x\n", "y\n"))},
        {"a": "x"},
        {"b": None},
        code="file_not_found",
    ),
    Case(
        "edit: a missing file and an empty ORIGINAL make it, and say so",
        "edit_file",
        {"uri": "b", "search_replace_blocks": blocks(("", "y\n"))},
        after={"b": "y\n"},
        reply="Change successfully made to {root}/b. The file is new.",
    ),
]

COMMANDS = [
    Case(
        "run: output and exit code",
        "run_command",
        {"command": "echo hi"},
        reply="$ echo hi\nhi\n(exit code 0)",
    ),
    Case(
        "run: an exit code is no error",
        "run_command",
        {"command": "echo no >&2; exit 3"},
        reply="$ echo no >&2; exit 3\nno\n(exit code 3)",
    ),
    Case("run: no output", "run_command", {"command": "true"}, parts=["$ true\n", "(exit code 0)"]),
    Case(
        "run: in a folder", "run_command", {"command": "pwd", "cwd": "d"}, {"d/a": ""}, parts=["{root}/d\n"]
    ),
    Case(
        "run: null is no folder", "run_command", {"command": "pwd", "cwd": "null"}, parts=["$ pwd\n{root}\n"]
    ),
    Case(
        "run: a folder that is not there",
        "run_command",
        {"command": "pwd", "cwd": "d"},
        code="file_not_found",
    ),
    Case("run: a signal", "run_command", {"command": "kill -9 $$"}, parts=["SIGKILL"]),
    Case(
        "run: colours are not for the model",
        "run_command",
        {"command": r"printf '\033[31mred\033[0m\n'"},
        parts=["\nred\n"],
    ),
    Case(
        "run: each has its own shell",
        "run_command",
        {"command": "echo [$X]"},
        first=[("run_command", {"command": "X=1"})],
        parts=["\n[]\n"],
    ),
    Case(
        "run: an id that is of no effect",
        "run_command",
        {"command": "echo hi", "terminal_id": "7"},
        parts=["hi"],
    ),
    Case(
        "run: long output has both ends",
        "run_command",
        {"command": "seq 100000"},
        parts=["\n1\n2\n", "omitted", "\n100000\n(exit code 0)"],
    ),
    Case(
        "run: nothing", "run_command", {"command": ""}, code="invalid_tool_params", parts=["command is empty"]
    ),
    Case(
        "terminal: opened",
        "open_persistent_terminal",
        {},
        reply='Successfully created persistent terminal. persistentTerminalId="1"',
    ),
    Case(
        "terminal: the smallest free number",
        "open_persistent_terminal",
        {"cwd": ""},
        first=[
            ("open_persistent_terminal", {}),
            ("open_persistent_terminal", {}),
            ("kill_persistent_terminal", {"persistent_terminal_id": "1"}),
        ],
        parts=['persistentTerminalId="1"'],
    ),
    Case(
        "terminal: none of that id",
        "run_persistent_command",
        {"command": "ls", "persistent_terminal_id": "4"},
        code="invalid_tool_params",
        parts=["Terminal '4' does not exist", "open_persistent_terminal"],
    ),
    Case(
        "terminal: none to close",
        "kill_persistent_terminal",
        {"persistent_terminal_id": "4"},
        code="invalid_tool_params",
    ),
    Case(
        "terminal: a folder that is not there",
        "open_persistent_terminal",
        {"cwd": "d"},
        code="file_not_found",
    ),
]

OTHERS = [
    Case(
        "lint: an error",
        "read_lint_errors",
        {"uri": "a.py"},
        before={"a.py": "x = 1\nif x\n    y\n"},
        reply="Error 1:\nLines Affected: 2-2\nError message:(error) SyntaxError: expected ':'",
    ),
    Case(
        "lint: none in JSON",
        "read_lint_errors",
        {"uri": "a.json"},
        before={"a.json": "{}"},
        reply="No lint errors found.",
    ),
    Case(
        "lint: what to run for more",
        "read_lint_errors",
        {"uri": "{root}/a.py"},
        before={"a.py": "x = 1\n"},
        reply="No lint errors found. Only the syntax was checked; use run_command with `ruff check` or `mypy` for more.",
    ),
    Case(
        "lint: what to run instead",
        "read_lint_errors",
        {"uri": "a.ts"},
        before={"a.ts": "let"},
        reply="This type of file cannot be checked here. Use run_command with `npx tsc --noEmit` or `npx eslint`.",
    ),
    Case("lint: a file that is not there", "read_lint_errors", {"uri": "b.py"}, code="file_not_found"),
    Case(
        "a tool that is none",
        "read_lint",
        {"uri": "a"},
        code="tool_not_registered",
        parts=["Tool read_lint is not available. ", "read_lint_errors"],
    ),
    Case(
        "blocks of another model, where there is none",
        "create_search_replace_blocks",
        {"uri": "a", "description": "Say b."},
        before={"a": "a\n"},
        after={"a": "a\n"},
        code="execution_failed",
        parts=[
            "create_search_replace_blocks needs a model to write it, and none is set. Set one: agent.model ="
        ],
    ),
    Case(
        "unknown: the nearest names",
        "read_fil",
        {},
        code="tool_not_registered",
        parts=["Tool read_fil is not available.", "read_file"],
    ),
    Case("a canonical name is understood, too", "write", {"path": "a", "content": "x"}, after={"a": "x"}),
]


@pytest.mark.parametrize("case", [*READ, *WRONG, *LIST, *SEARCH, *FILES, *EDIT, *COMMANDS, *OTHERS], ids=str)
async def test_a_call(case: Case, tmp_path: Path) -> None:
    await play(case, "void", tmp_path)


async def test_links_are_marked(tmp_path: Path) -> None:
    put(tmp_path, {"a": "", "d/b": ""})
    (tmp_path / "to_a").symlink_to("a")
    (tmp_path / "to_d").symlink_to("d")
    async with Session(tmp_path, dialect="void") as session:
        listed = text_of(await session.call("ls_dir", {}))
        tree = text_of(await session.call("get_dir_tree", {}))
    assert "── to_a (symbolic link)" in listed
    assert "── to_d/ (symbolic link)" in listed
    assert tree.count("(symbolic link)") == 2


@pytest.mark.parametrize(
    ("letter", "length"), [("x", 99_000), ("x", 400_000), ("語", 99_000), ("語", 200_000), ("x", 3_000_000)]
)
async def test_the_first_and_the_last_half_of_100_000_characters(
    tmp_path: Path, letter: str, length: int
) -> None:
    put(tmp_path, {"f": "".join(f"{number:06d}{letter * 93}\n" for number in range(length // 100))})
    async with Session(tmp_path, dialect="void", policy=Policy(mode="yolo")) as session:
        text = text_of(await session.call("run_command", {"command": "cat f"}))
    shown = [int(line[:6]) for line in text.split("\n") if line.endswith(letter)]
    last = length // 100 - 1
    if length <= 100_000:
        assert shown == list(range(last + 1))
        return
    head = next(place for place, number in enumerate(shown) if number != place)
    assert shown == [*range(head), *range(shown[head], last + 1)]
    assert abs(head - 500) + abs(len(shown) - head - 500) <= 2
    assert f"{last + 1 - len(shown):,} of {last + 1:,} lines omitted" in text


async def test_a_command_that_is_silent_is_ended_after_8_seconds(tmp_path: Path) -> None:
    async with Session(tmp_path, dialect="void", policy=Policy(mode="yolo")) as session:
        result = await session.call("run_command", {"command": "echo begun; sleep 60; touch late"})
    assert result.error is not None
    assert result.error.code == "timeout"
    text = text_of(result)
    assert text.startswith("$ echo begun; sleep 60; touch late\nbegun\n")
    assert "killed after 8s without output" in text
    assert "persistent terminal" in text
    assert not (tmp_path / "late").exists()


@pytest.mark.parametrize("number", [1, 1.0, "1"])
async def test_a_terminal_id_may_be_a_number(tmp_path: Path, number: object) -> None:
    async with Session(tmp_path, dialect="void", policy=Policy(mode="yolo")) as session:
        await session.call("open_persistent_terminal", {})
        ran = await session.call(
            "run_persistent_command", {"command": "echo hi", "persistent_terminal_id": number}
        )
        looked = await session.call(
            "run_persistent_command", {"command": "", "persistent_terminal_id": number}
        )
        closed = await session.call("kill_persistent_terminal", {"persistent_terminal_id": number})
    assert ran.data.finished
    assert "(terminal 1 is open)" in text_of(looked), text_of(looked)
    assert text_of(closed) == "Successfully closed terminal 1."


@pytest.mark.parametrize("value", [True, 1.5, float("inf"), None, [1], {}])
def test_other_values_are_no_terminal_id(value: object) -> None:
    with pytest.raises(ToolFailure, match="persistent_terminal_id"):
        VOID.read("kill_persistent_terminal", {"persistent_terminal_id": value})


async def test_a_terminal_keeps_its_state_and_goes_on(tmp_path: Path) -> None:
    put(tmp_path, {"d/a": ""})

    async def run(session: Session, command: str) -> str:
        result = await session.call(
            "run_persistent_command", {"command": command, "persistent_terminal_id": "1"}
        )
        assert result.ok, result
        return text_of(result)

    async with Session(tmp_path, dialect="void", policy=Policy(mode="yolo")) as session:
        await session.call("open_persistent_terminal", {"cwd": "d"})
        assert "(exit code 0)" in await run(session, "export X=kept; cd ..")
        said = await run(session, 'echo "$X in $PWD"; false')
        assert f"kept in {tmp_path}\n" in said
        assert said.endswith("(exit code 1)")
        began = await run(session, "(sleep 6; echo later) ; echo done")
        assert "is running in terminal 1. What it prints later comes with the next call." in began
        assert "later\n" not in began
        await session.workspace.terminals.get("1").wait_for_output(30)
        later = await run(session, "")
        assert "later\n" in later
        assert "(terminal 1 is open)" in later
        closed = await session.call("kill_persistent_terminal", {"persistent_terminal_id": "1"})
        assert text_of(closed) == "Successfully closed terminal 1."
        gone = await session.call(
            "run_persistent_command", {"command": "echo", "persistent_terminal_id": "1"}
        )
        assert gone.error is not None


class Person:
    """Says no, with a reason or without."""

    def __init__(self, reason: str = "") -> None:
        self.reason = reason

    async def ask(self, confirmation: Confirmation) -> Answer:
        return Answer(ToolConfirmationOutcome.CANCEL, reason=self.reason)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("", "Tool call was rejected by the user."),
        ("Use tabs.", "Tool call was rejected by the user. The reason given: Use tabs."),
    ],
)
async def test_a_denial_has_the_words_of_the_agent(tmp_path: Path, reason: str, text: str) -> None:
    async with Session(tmp_path, dialect="void", confirmer=Person(reason)) as session:
        result = await session.call("rewrite_file", {"uri": "a", "new_content": "x"})
    assert text_of(result) == text
    assert not (tmp_path / "a").exists()


async def test_an_interrupted_call_says_so(tmp_path: Path) -> None:
    class Canceller:
        session: Session

        async def ask(self, confirmation: Confirmation) -> Answer:
            self.session.cancel("one")
            await asyncio.Event().wait()
            raise AssertionError

    canceller = Canceller()
    async with Session(tmp_path, dialect="void", confirmer=canceller) as session:
        canceller.session = session
        result = await session.call("run_command", {"command": "touch a"}, id="one")
    assert text_of(result) == "Tool call was interrupted by the user."
    assert not (tmp_path / "a").exists()


NAMES = [
    *(
        "read_file",
        "read_lint_errors",
        "create_file_or_folder",
        "delete_file_or_folder",
        "edit_file",
        "create_search_replace_blocks",
        "rewrite_file",
    ),
    *("ls_dir", "get_dir_tree", "search_pathnames_only", "search_for_files", "search_in_file"),
    *("run_command", "run_persistent_command", "open_persistent_terminal", "kill_persistent_terminal"),
]
PARAMETERS = {
    "read_file": (["uri"], ["start_line", "end_line", "page_number"]),
    "edit_file": (["uri", "search_replace_blocks"], []),
    "search_pathnames_only": (["query"], ["include_pattern", "page_number"]),
    "search_for_files": (["query"], ["search_in_folder", "is_regex", "page_number"]),
    "delete_file_or_folder": (["uri"], ["is_recursive"]),
    "run_command": (["command"], ["cwd"]),
    "run_persistent_command": (["persistent_terminal_id", "command"], []),
}


def _schema(declared: Mapping[str, Any], provider: Provider) -> Mapping[str, Any]:
    inner = declared.get("function", declared) if provider == "openai" else declared
    keys = ("parametersJsonSchema", "input_schema", "parameters", "inputSchema")
    found: Mapping[str, Any] = next(inner[key] for key in keys if key in inner)
    return found


@pytest.mark.parametrize("provider", ["gemini", "anthropic", "openai", "mcp"])
def test_its_model_gets_text_only(tmp_path: Path, provider: Provider) -> None:
    declared = Session(tmp_path, dialect="void").declarations(provider)
    named = {str(one.get("function", one)["name"]): one for one in declared}
    assert list(named) == NAMES
    for name, one in named.items():
        schema = _schema(one, provider)
        kinds = {field["type"] for field in schema.get("properties", {}).values()}
        assert kinds <= {"string"}, name
        needed, more = PARAMETERS.get(name, (None, None))
        if needed is not None and more is not None:
            assert sorted(schema["properties"]) == sorted([*needed, *more])
            assert sorted(schema["required"]) == sorted(needed)


_SIGNS = ("<<<<<<<", ">>>>>>>")
_BLOCK_LINES = (
    "a",
    "b",
    "  c",
    "",
    "=======",
    "```",
    "x <<<<<<< ORIGINAL",
    "<<<<<<< ORIGINAL",
    ">>>>>>> UPDATED",
    ">>>>>>> UPDATED y",
    "<<<",
)
_DAMAGE = (" ", "\t", "\r", "\n", "x", "<", ">", "```")


@settings(max_examples=examples(600), deadline=None, database=None)
@given(data=st.data())
def test_a_marker_is_never_written_by_blocks(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever the texts of two blocks are, and wherever characters are lost or added."""
    root = tmp_path_factory.getbasetemp()
    (root / "f").write_text("a\nb\n  c\n\nd\n")
    lines = st.lists(
        st.sampled_from(_BLOCK_LINES[:6]) if data.draw(st.booleans()) else st.sampled_from(_BLOCK_LINES),
        max_size=3,
    )
    text = blocks(
        *(
            ("".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in data.draw(lines)))
            for old in (["a"], ["  c"])
        )
    )
    for _ in range(data.draw(st.integers(0, 2))):
        place = data.draw(st.integers(0, len(text) - 1))
        removed = data.draw(st.integers(0, 1))
        text = (
            text[:place] + ("" if removed else data.draw(st.sampled_from(_DAMAGE))) + text[place + removed :]
        )
    try:
        call = VOID.read("edit_file", {"uri": "f", "search_replace_blocks": text})
        planned = plan_patch(Workspace(root), read_patch(call.arguments["patch"], "f"), "blanks")
    except ToolFailure:
        return
    after = b"".join(file.after or b"" for file in planned.files).decode()
    assert not [line for line in after.split("\n") if any(sign in line for sign in _SIGNS)], text


@settings(max_examples=examples(300), deadline=None, database=None)
@given(
    news=st.lists(st.text(st.sampled_from("xyz =\t"), max_size=8), min_size=1, max_size=4),
    glue=st.lists(st.sampled_from(["\n", "", " ", "```\n", "\n\nThen:\n", ", and "]), min_size=4, max_size=4),
    newline=st.booleans(),
)
def test_blocks_are_all_applied_whatever_is_between_them(
    news: list[str], glue: list[str], newline: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.getbasetemp()
    olds = [f"line {number}\n" for number in range(len(news))]
    (root / "f").write_text("".join(olds))
    end = "\n" if newline else ""
    text = "".join(
        f"{blocks((old, f'new {new}{end}'))[:-1]}{between}"
        for old, new, between in zip(olds, news, glue, strict=False)
    )
    call = VOID.read("edit_file", {"uri": "f", "search_replace_blocks": text})
    planned = plan_patch(Workspace(root), read_patch(call.arguments["patch"], "f"), "blanks")
    assert planned.files[0].after == "".join(f"new {new}\n" for new in news).encode()
