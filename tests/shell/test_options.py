"""The words of a program are read by the style of its options."""

from __future__ import annotations

from typing import Any

import pytest

from nbtools.shell import AnalysedCommand, ProgramTable, analyse

TABLE = ProgramTable(
    {
        "getopt": {
            "flags": "-ab --all",
            "values": "-n --num",
            "optional": "-U --color",
            "reads": "-f --file",
            "writes": "-o --output",
            "operands": "read",
            "stdout": "-o --output",
            "numbers": True,
            "harmless": True,
        },
        "file": {"writes": "-o", "operands": "read"},
        "letters": {
            "style": "letters",
            "flags": "-ab",
            "values": "-LI",
            "operands": "read",
            "harmless": True,
        },
        "first": {"flags": "-ab", "values": "-n", "style": "first", "operands": "read"},
        "words": {
            "flags": "-ab -name",
            "values": "-n -type",
            "optional": "-U",
            "writes": "-out",
            "style": "words",
            "operands": "read",
        },
        "text": {"style": "text", "harmless": True},
        "free": {"flags": "-a", "operands": "read", "harmless": True, "free": True},
        "only": {"values": "-p --plugin", "only": {"-p": "no:.*", "--plugin": r'no:.*|"\$\w+"'}},
        "none": {"flags": "-a", "operands": "read none"},
        "regex": {"operands": r"/[a-z]+/ /\d+/"},
        "starts": {"flags": "-a", "values": "-n", "operands": "text program"},
        "line": {"operands": "line"},
        "runs": {"operands": "script"},
        "package": {"operands": "package", "flags": "-y"},
        "in-place": {"operands": "read", "rewrites": "-i --fix", "shows": "--diff", "default": "."},
        "writing": {"operands": "write", "shows": "--check", "empties": "--delete"},
        "taking": {"operands": "read write", "takes": "--move", "removes": "--base"},
        "fed": {"operands": "text read", "instead": "-e", "values": "-e", "default": ".", "fed": True},
        "output": {"operands": "read output"},
        "moving": {"operands": "move"},
        "asking": {"flags": "-a", "asks": "it may do anything"},
        "idle": {"style": "text", "idle": True},
        "folder": {"folder": "-C", "operands": "read"},
    }
)


def act_of(line: str) -> AnalysedCommand:
    understood = analyse(line, TABLE)
    assert understood.doubt == ""
    return understood.commands[0]


@pytest.mark.parametrize(
    "line",
    [
        "getopt -ab x",
        "getopt -b -a -- -x",
        "getopt x -a",
        "getopt -n5 -n 5 --num 5 --num=5 -an5",
        "getopt -U3 -U --color --color=always x",
        "getopt -5 x",
        "getopt -n -z x",
        "getopt - x",
        "getopt 'x y' \"x$A\"",
        "first -ab -n 5 x -z --zoo",
        "words -ab -name -n 5 -n5 -n=5 -U3 -U x",
        "words -- z",
        "text -z --zoo $A",
        "free $A *",
        "only -p no:x --plugin=no:x",
        'only --plugin "$A"',
        "none -a x",
        "regex abc 1 2",
    ],
)
def test_listed_options_are_not_a_risk(line: str) -> None:
    assert act_of(line).risk == ""


@pytest.mark.parametrize(
    "line",
    [
        "getopt -z",
        "getopt x -n",
        "getopt x -o",
        "getopt x -an",
        "words x -out",
        "words -- -out=x",
        "words a -- b -out",
        "letters -LIz 1 x a",
        "letters -LI 1",
        "letters -L1 a",
        "letters -- -z",
        "getopt -az",
        "getopt -za",
        "getopt --zoo x",
        "getopt --al x",
        "getopt --outp=x",
        "getopt --all=x",
        "getopt x -z",
        "getopt -n 1 -z",
        "getopt $A",
        'getopt "$A"',
        "getopt *",
        "getopt x$A",
        "getopt -n $A",
        "getopt -n$A",
        "getopt --num=$A",
        "first -z x",
        "first $A x",
        "words -ba",
        "words -type5",
        "words -typ x",
        "words --name",
        "free -z",
        "only -p yes",
        "only -pyes",
        'only -p "$A"',
        "only --plugin=yes",
        "none x y",
        "regex abc x",
        "regex ABC",
        'regex "$A"',
        "asking -a",
    ],
)
def test_unlisted_options_are_a_risk(line: str) -> None:
    act = act_of(line)
    assert act.risk
    assert not act.harmless
    assert act.spelled == 0


@pytest.mark.parametrize(
    ("line", "reads", "writes"),
    [
        ("getopt -f a b -o c", ("b", "a"), ("c",)),
        ("getopt -fa -oc --file=d", ("a", "d"), ("c",)),
        ("getopt -o - a", ("a",), ()),
        ("file -o - a", ("a",), ("-",)),
        ("letters -LI 1 x a", ("a",), ()),
        ("letters -aLb 1 a", ("a",), ()),
        ("words -out a b", ("b",), ("a",)),
        ("in-place a", ("a",), ()),
        ("in-place", (".",), ()),
        ("in-place -i a", ("a",), ("a",)),
        ("in-place --fix", (".",), (".",)),
        ("in-place --fix --diff a", ("a",), ()),
        ("writing a", (), ("a",)),
        ("writing --check a", ("a",), ()),
        ("fed x", (".",), ()),
        ("fed x a", ("a",), ()),
        ("fed -e x a", ("a",), ()),
        ("fed x < a", ("a",), ()),
        ("output a b", ("a",), ("b",)),
        ("output a -", ("a",), ()),
        ("moving a b c", ("a", "b"), ("c", "c/a", "c/b", "a", "b")),
        ("folder -C d a", ("d/a",), ()),
        ("folder -C d -C e a > b", ("d/e/a",), ("b",)),
        ("folder -C d -C /e a", ("/e/a",), ()),
        ("runs a b", ("a",), ()),
    ],
)
def test_paths_by_options_and_roles(line: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    act = act_of(line)
    assert (set(act.reads), set(act.writes)) == (set(reads), set(writes))


def test_a_default_is_not_read_where_the_input_is_a_pipe() -> None:
    assert analyse("text | fed x", TABLE).commands[1].reads == ()


@pytest.mark.parametrize(
    ("line", "removes"),
    [
        ("moving a b", ("a",)),
        ("writing --delete a", ("a",)),
        ("writing a", ()),
        ("taking --move a b", ("a",)),
        ("taking --base a b c", ("a",)),
        ("taking a b", ()),
    ],
)
def test_operands_that_a_program_removes_are_removals(line: str, removes: tuple[str, ...]) -> None:
    act = act_of(line)
    assert act.removes == removes
    assert set(removes) <= set(act.writes)


def test_files_that_an_option_names_are_read_or_written() -> None:
    assert act_of("getopt -o a b").named == ("a",)
    assert (act_of("in-place -i a").named, act_of("in-place -i a").rewrites) == (("a",), ("-i",))
    assert act_of("writing a").named == ()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("starts -a x getopt -z", ("getopt", "-z")),
        ("starts -n 1 x getopt a", ("getopt", "a")),
        ("line getopt -z a", ("getopt", "-z", "a")),
        ("line 'getopt -z' a", ("getopt", "-z", "a")),
        ("package -y tool a", ("tool", "a")),
    ],
)
def test_a_started_program_is_an_action_of_its_own(line: str, words: tuple[str, ...]) -> None:
    first, second = analyse(line, TABLE).commands
    assert (second.words, second.via) == (words, (first.words[0],))
    assert first.transparent or first.risk


@pytest.mark.parametrize(
    "line",
    [
        "starts $A getopt a",
        "starts x $A",
        "starts -z x getopt",
        "runs",
        "runs $A",
        "runs -",
        "runs /dev/stdin",
    ],
)
def test_an_unknown_started_program_is_a_risk(line: str) -> None:
    assert any(act.risk for act in analyse(line, TABLE).commands)


def test_a_package_has_to_be_named() -> None:
    assert (act_of("package -y tool a").risk != "", act_of("package -y tool a").spelled) == (True, 3)
    assert act_of("package -z tool a").spelled == 0
    assert act_of('package "$A" a').spelled == 0


def test_an_idle_program_does_nothing_by_itself() -> None:
    assert act_of("idle").transparent
    assert not act_of("idle > a").harmless


def _listing() -> dict[str, dict[str, Any]]:
    return {
        "lister": {
            "flags": "-l",
            "values": "--say",
            "lists": "-l",
            "prints": "--say",
            "operands": "read",
            "harmless": True,
        },
        "xargs": {"special": "xargs", "style": "first", "operands": "program"},
        "user": {"flags": "-x", "operands": "read", "harmless": True},
        "echo": {"style": "text", "harmless": True},
    }


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("lister -l a | xargs user", True),
        ("lister a | xargs user", False),
        ("lister -l --say -x a | xargs user", False),
        ("lister -l -z a | xargs user", False),
        ("lister -l $A | xargs user", False),
        ("lister -l a > b | xargs user", False),
        ("lister -l a; xargs user", False),
        ("lister -l a && xargs user < b", False),
        ("{ echo -x; lister -l a; } | xargs user", False),
        ("(echo -x; lister -l a) | xargs user", False),
        ("for i in a; do echo -x; lister -l a; done | xargs user", False),
        ("echo -x $(lister -l a) | xargs user", False),
        ('echo "$(lister -l a)" | xargs user', False),
    ],
)
def test_names_of_files_that_become_words(line: str, names: bool) -> None:
    understood = analyse(line, ProgramTable(_listing()))
    assert understood.uses_file_names is names
    assert bool(understood.commands[-1].risk) is not names


@pytest.mark.parametrize(
    "line",
    [
        "rg --engine --pre=./evil x",
        "rg --engine pcre2 x",
        "tree -LIo 1 x FILE",
        "tree -PIo a b FILE",
        "tree --charset -o FILE",
        "wget -q ~/.bashrc http://h/x -O",
        "wget http://h/x --output-document",
        "git blame -- README.md --output=FILE",
        "git blame --encoding -- --output=FILE README.md",
        "git annotate -- README.md --output=FILE",
        "git log --glob -- --output=FILE",
        "sort a -o",
    ],
)
def test_options_that_another_parser_reads_otherwise_are_a_risk(line: str) -> None:
    assert any(act.risk for act in analyse(line).commands)


@pytest.mark.parametrize(
    "line",
    [
        "rg --engine=pcre2 x",
        "tree -aLI 2 x src",
        "git blame -L 1,5 -- a",
        "git log --oneline -- a b",
        "wget -O - http://h/x",
    ],
)
def test_the_usual_forms_of_these_are_no_risk(line: str) -> None:
    assert not any(act.risk for act in analyse(line).commands)


@pytest.mark.parametrize("line", ["sort -o - a", "shuf -o - a", "git archive --output - HEAD"])
def test_a_dash_is_a_file_where_the_program_takes_it_for_one(line: str) -> None:
    assert analyse(line).commands[0].writes == ("-",)
