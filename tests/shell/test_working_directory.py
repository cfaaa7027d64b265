"""The working directory of programs, and paths through links that the line itself has made."""

from __future__ import annotations

import pytest

from nbtools.shell import AnalysedCommand, analyse


def last(line: str) -> AnalysedCommand:
    understood = analyse(line)
    assert (understood.doubt, understood.unverified) == ("", "")
    return understood.commands[-1]


@pytest.mark.parametrize(
    ("line", "folder"),
    [
        ("git -C a status", "a"),
        ("git -C a -C b status", "a/b"),
        ("git -C a -C /b status", "/b"),
        ("git -C .. log", ".."),
        ("git -C ./ status", ""),
        ("git -C . -C . status", ""),
        ("cd a && git -C b -C c diff", "a/b/c"),
        ("make -C a -C b", "a/b"),
        ("make -skC .. test", ".."),
        ("make -Ca", "a"),
        ("make --directory=a", "a"),
        ("cd a && make -C b", "a/b"),
    ],
)
def test_the_folder_that_a_program_goes_to(line: str, folder: str) -> None:
    assert [one.rstrip("/") for one in last(line).folders] == [folder]


@pytest.mark.parametrize("line", ['git -C "$A" status', "git -C a -C $A status", 'make -C "$A"'])
def test_a_folder_that_only_shows_when_it_runs_is_a_risk(line: str) -> None:
    assert last(line).risk


@pytest.mark.parametrize(
    ("line", "read"),
    [("git -C a grep -f x y", {"a/x", "a/y"}), ("git -C a grep y b", {"a/b"}), ("fd -C a x", {"a"})],
)
def test_paths_in_the_folder_that_it_goes_to(line: str, read: set[str]) -> None:
    assert read <= {path.rstrip("/") for path in last(line).reads}


@pytest.mark.parametrize(
    "line", ["cd a && ./run", "cd a && git status", "git -C a status", "cd a && src/tool"]
)
def test_a_program_that_is_another_one_elsewhere(line: str) -> None:
    assert last(line).folder_risk


@pytest.mark.parametrize("line", ["cd a && ls", "cd a && make", "cd a && /usr/bin/cat x"])
def test_a_program_that_is_the_same_everywhere(line: str) -> None:
    assert last(line).folder_risk == ""


@pytest.mark.parametrize(
    "line",
    [
        "ln -s /etc x && cat x/passwd",
        "ln -s /etc; cat etc/passwd",
        "ln -sf /etc/passwd x; cat x",
        "ln -s /etc x; echo a > x/b",
        "ln -s /etc x; cp a x/b",
        "cd d && ln -s /etc x && cat x/a",
        "(ln -s /etc x); cat x/a",
        "bash -c 'ln -s /etc x'; cat x/a",
        "for i in a; do ln -s /etc x; done; cat x/a",
        "cp -a /a x && cat x/b",
        "mv ../a x && cat x/b",
        "tar xf a -C x && cat x/b",
        "tar xf a -C x && rm x/b",
        "git clone u x && cat x/a",
        "git checkout main && cat x",
        "git switch main && cat x",
        "git stash pop && cat x",
        "git stash && cat x",
        "git pull && echo a > x",
        "patch -p1 < a && cat x",
        "rsync -a a/ x/ && cat x/b",
    ],
)
def test_a_path_through_a_link_of_the_line_may_be_any_path(line: str) -> None:
    act = last(line)
    assert set(act.unclear) & {*act.reads, *act.writes}


@pytest.mark.parametrize(
    "line",
    [
        "cp a x && cat x",
        "ln -s /etc x && cat y",
        "cat x/a; ln -s /etc x",
        "mkdir x && cat x/a",
        "git log && cat x",
    ],
)
def test_other_paths_are_clear(line: str) -> None:
    assert last(line).unclear == ()


@pytest.mark.parametrize(
    ("line", "risk"),
    [
        ("git clone u x && make -C x", True),
        ("git clone u x && cd x && make", True),
        ("tar xf a -C x && cd x && pytest", True),
        ("mv ../a x && cd x/b && npm install", True),
        ("git pull && make", False),
        ("git clone u x && make", False),
        ("mkdir x && cd x && make", False),
    ],
)
def test_code_that_the_line_itself_has_brought(line: str, risk: bool) -> None:
    assert bool(last(line).risk) is risk
