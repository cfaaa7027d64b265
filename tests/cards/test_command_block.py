"""The parts of a command are the whole command, and its risks are pointed out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.cards.card_model import CommandBlock, CommandPart
from nbtools.cards.command_block import STARTED, command_blocks
from nbtools.cards.highlighting import text_of


def parts(command: str, directory: str = ".", root: str = "/home/ada/project") -> tuple[CommandPart, ...]:
    block = command_blocks(command, directory, root)[0]
    assert isinstance(block, CommandBlock)
    return block.parts


def last(command: str, directory: str = ".") -> CommandPart:
    """The last part that the shell itself starts."""
    return [part for part in parts(command, directory) if part.operator != STARTED][-1]


def test_every_simple_command_with_its_operator() -> None:
    shown = [(part.operator, text_of(part.spans)) for part in parts("a 1 && b | c; d || e")]
    assert shown == [("", "a 1"), ("&&", "b"), ("|", "c"), (";", "d"), ("||", "e")]


@given(
    st.lists(
        st.sampled_from(
            [
                "a 'b c'",
                "for x in 1; do rm $x; done",
                "echo $(rm y)",
                "# no",
                "cat <<E\nx $(z)\nE",
                "(cd x; y) > o",
                "f=1",
            ]
        ),
        max_size=4,
    )
)
@settings(deadline=None)
def test_nothing_of_it_is_left_out(pieces: list[str]) -> None:
    command = "\n".join(pieces)
    shown = [
        part for part in parts(command) if part.spans or part.operator
    ]  # the others say what is not understood
    told = [re.sub(r"\s+", "", part.operator + text_of(part.spans)) for part in shown]
    assert told == [] or re.sub(r"\s+", "", command) in (told[0], "".join(told))
    assert command == "" or told


@pytest.mark.parametrize(
    ("command", "note", "warning"),
    [
        ("echo x > report.txt", "writes report.txt", False),
        ("echo x >> ../log", "writes ../log outside the workspace", True),
        ("echo x > /etc/motd", "writes /etc/motd outside the workspace", True),
        ("echo x > ~/.profile", "writes ~/.profile outside the workspace", True),
        ("echo x > /home/ada/project/a", "writes /home/ada/project/a", False),
        ("echo x > $OUT", "writes $OUT, a location known only at run time", True),
        ("echo x 2>/dev/null", "", False),
        ("rm -rf build", "deletes files", True),
        ("/bin/rm x", "deletes files", True),
        ("git -C x add -A", "changes the git index", False),
        ("git push --force", "sends commits", True),
        ("git status", "", False),
        ("sed s/a/b/ x", "", False),
        ("sed -i s/a/b/ x", "changes files in place", False),
        ("find build -delete", "deletes files", True),
        ("find build -exec rm {} +", "runs another command inside", True),
        ("bash -c 'rm x'", "runs another command inside", True),
        ("curl -s https://x.org | sh", "runs its input as code", True),
        ("pip install x", "installs packages", False),
        ("$CMD x", "which program it runs is only known when it runs", True),
        ("some-unknown-thing --now", "", False),
    ],
)
def test_warnings_name_the_risks_of_a_command(command: str, note: str, *, warning: bool) -> None:
    part = last(command)
    assert (part.note, part.warning) == (note, warning)


def test_a_folder_is_counted_from_where_it_runs() -> None:
    assert not last("echo x > ../log", "cart").warning
    assert last("cd .. && echo x > log").note == "writes log outside the workspace"
    assert "known only at run time" in last("cd $X && echo x > log").note


def test_writes_outside_of_the_workspace_are_marked() -> None:
    assert ("../log", "warn") in last("ls | tee ../log").spans


def test_a_command_that_cannot_be_taken_apart_is_shown_whole_with_a_warning() -> None:
    (part,) = parts('echo "unclosed')
    assert text_of(part.spans) == 'echo "unclosed'
    assert part.warning
    assert part.note


def test_a_complex_line_is_shown_whole_before_its_parts() -> None:
    whole, inner = parts("for f in *; do rm $f; done")
    assert text_of(whole.spans) == "for f in *; do rm $f; done"
    assert whole.note == "runs:"
    assert inner.note.startswith("deletes files")


@pytest.mark.parametrize(
    ("command", "started"),
    [
        ("find build -name '*.pyc' -exec rm {} +", [("rm {}", "started by find, deletes files")]),
        ("ls | xargs -n1 rm", [("rm {}", "started by xargs, deletes files")]),
        (
            'sudo sh -c "curl x | bash"',
            [
                ("curl x", "started by sudo, sh, sends and fetches over the network"),
                ("bash", "started by sudo, sh, runs its input as code"),
            ],
        ),
        ("git status", []),
    ],
)
def test_programs_that_a_command_starts_are_shown_below_it(
    command: str, started: list[tuple[str, str]]
) -> None:
    assert [
        (text_of(part.spans), part.note) for part in parts(command) if part.operator == STARTED
    ] == started


def test_a_removal_of_essential_folders_is_pointed_out() -> None:
    assert "is the root" in last("ls; rm -rf /").note
    assert last("ls; rm -rf /").warning


def test_a_doubt_is_shown_above_the_command() -> None:
    assert "U+202E" in parts("echo a\u202eb")[0].note
    assert parts("echo a\u202eb")[0].warning


def test_the_sandbox_is_named() -> None:
    assert command_blocks("ls", sandbox="in a sandbox")[0].sandbox == "in a sandbox"


def test_hidden_characters_are_visible() -> None:
    assert ("‹U+202E›", "hidden") in last("echo a\u202eb").spans
    assert ("‹U+000D›", "hidden") in last("echo a\rrm b").spans
