"""The description of a rule for commands is true: its examples of uncovered commands need approval."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from nbtools.core.decision import Action
from nbtools.policy.coverage import Coverage, coverage, unknown_program
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.rules import Rule
from nbtools.shell.program_table import ProgramTable, included_table, included_tables
from tests.policy.some_tools import SHELL


def decided(rule: str, command: str) -> Action:
    return PolicyEngine(Policy(allow=(rule,))).decide(SHELL, SHELL.build({"command": command})).action


@pytest.mark.parametrize(
    ("rule", "covers", "example"),
    [
        ("shell(git log:*)", "git log with options that are known to be harmless", "git log --output=FILE"),
        ("shell(git log *)", "git log with options that are known to be harmless", "git log --output=FILE"),
        ("shell(git --no-pager log:*)", "known to be harmless", "git --no-pager log --output=FILE"),
        (
            "shell(git:*)",
            "git with the sub-commands and the options that the table of programs lists",
            "git -c alias.x=!PROGRAM x",
        ),
        ("shell(sort:*)", "sort with options that are known to be harmless", "sort --output=FILE"),
        ("shell(sed:*)", "sed with options that are known to be harmless", "sed -i s/a/b/ FILE"),
        ("shell(find:*)", "find with options", "find FOLDER -exec PROGRAM {} ;"),
        ("shell(ls:*)", "ls with options", "ls with an option that the table of programs does not list"),
        ("shell(mkdir:*)", "what it writes inside the workspace", "mkdir on files outside the workspace"),
        ("shell(timeout:*)", "the programs that it starts need their own rules", "timeout 5 PROGRAM"),
        ("shell(xargs:*)", "the programs that it starts need their own rules", "xargs PROGRAM"),
        ("shell(timeout 5 pytest:*)", "needs its own rule, shell(pytest:*)", ""),
        ("shell(xargs rm:*)", "needs its own rule, shell(rm:*)", ""),
        ("shell(bash -c:*)", "the programs that bash starts need their own rules", ""),
        ("shell(npx:*)", "must also name the package", "npx -c PROGRAM"),
        ("shell(uv run pytest:*)", "it runs code of the project", "uv run pytest -p PLUGIN"),
        ("shell(pytest:*)", "it runs code of the project", "pytest -p PLUGIN"),
        ("shell(python:*)", "it runs the scripts named in its arguments, whatever they do", "python -c CODE"),
        ("shell(echo:*)", "echo with any arguments", ""),
        (
            "shell(frobnicate:*)",
            "whatever frobnicate does, with any arguments: frobnicate is not in the table of programs",
            "",
        ),
        ("shell(git foo:*)", "whatever git foo does, with any arguments: git foo is not in the table", ""),
        ("shell(./run.sh:*)", "whatever ./run.sh does", ""),
        ("shell(psql:*)", "nothing: psql always needs approval, because it accepts commands", ""),
        ("shell(git log --output:*)", "nothing, because --output is not a known harmless option", ""),
        ("shell(git status)", "exactly this line: git status", "git status x"),
        (
            "shell(git * main)",
            "commands like git * main",
            "an option that the table of programs does not list",
        ),
        (
            "shell(npm run test*)",
            "commands like npm run test*",
            "an option that the table of programs does not list",
        ),
        ("shell", "every command", "what needs approval in every mode"),
        ("terminal_run(git log:*)", "git log with options", "git log --output=FILE"),
    ],
)
def test_a_rule_describes_which_commands_it_covers(rule: str, covers: str, example: str) -> None:
    found = coverage(rule)
    assert found.rule == rule
    assert covers in found.covers
    assert (example in found.example) if example else not found.example


def test_examples_need_approval_and_a_rule_that_covers_nothing_allows_nothing() -> None:
    """The description of a rule agrees with the decisions by it, for every program of the table."""
    programs = [
        *included_table().names(),
        "frobnicate",
        "uv run pytest",
        "npx prettier",
        "sed -i",
        "git --no-pager log",
    ]
    assert {line for program in programs for line in untrue(program)} == set()


def untrue(program: str) -> Iterator[str]:
    """The lines that are decided otherwise than the coverage of a rule on the program says."""
    rule = f"shell({program}:*)"
    found = coverage(rule)
    words = found.example.replace(f" with {_KIND}", " --not-in-the-table").replace(
        "on files outside the workspace", " /out/a" * 4
    )
    quoted = re.sub(r"([!{};])", r"\\\1", words)
    lines = (
        [f"{program} {more}".strip() for more in ("", "x", "x y", "--help")]
        if found.covers.startswith("nothing")
        else []
    )
    yield from (line for line in (*lines, quoted) if line and decided(rule, line) is Action.ALLOW)
    if (
        "is not in the table" in found.covers
        and decided(rule, f"{program} --any=words at all") is not Action.ALLOW
    ):
        yield f"{program} --any=words at all"


_KIND = "an option that the table of programs does not list"


def test_redirects() -> None:
    assert coverage("shell(git log:*)").excluded.endswith("or files written by redirects")
    assert "redirect" not in coverage("shell(git status > out.txt)").excluded
    assert "redirect" not in coverage(Rule("shell", "git log:*", redirects=True)).excluded
    assert "match the regular expression git .*" in coverage(Rule("shell", command="git .*")).covers


def test_sentences() -> None:
    assert Coverage("shell(ls:*)", "ls", "ls x").sentences == (
        "shell(ls:*) covers ls.",
        "It does not cover ls x, for instance, or files written by redirects.",
    )
    assert Coverage("shell(psql:*)", "nothing", complete=True).sentences == ("shell(psql:*) covers nothing.",)


def test_a_persons_own_programs_count() -> None:
    table = ProgramTable(
        *included_tables(),
        {"frobnicate": {"flags": "-v", "writes": "--report", "harmless": True}, "git foo": {"flags": "-v"}},
    )
    assert "whatever" in coverage("shell(frobnicate:*)").covers
    found = coverage("shell(frobnicate:*)", table)
    assert found.covers == "frobnicate with options that are known to be harmless"
    assert found.example == "frobnicate --report=FILE"
    assert unknown_program(("git", "foo"), table) == ""


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git log", ""),
        ("git foo x", "git foo"),
        ("git -C sub log", ""),
        ("frobnicate x", "frobnicate"),
        ("/usr/bin/git log", ""),
        ("/opt/git log", "/opt/git"),
        ("npm run x", ""),
    ],
)
def test_unknown_programs(command: str, name: str) -> None:
    assert unknown_program(command.split()) == name
