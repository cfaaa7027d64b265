"""The actions of a command line: programs, those they start, paths; and laws that hold for every line."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from nbtools.shell import AnalysedCommand, analyse
from nbtools.shell.grammar import parse_shell
from nbtools.shell.reader import parse_strictly
from tests.examples import examples


def act_of(command: str, program: str) -> AnalysedCommand:
    understood = analyse(command)
    return next(act for act in understood.commands if act.words and act.words[0] == program)


@pytest.mark.parametrize(
    ("command", "words", "via"),
    [
        ("env -u A B=1 git x", ("git", "x"), ("env",)),
        ("env -C sub git x", ("git", "x"), ("env",)),
        ("env -S 'git x'", ("git", "x"), ("env",)),
        ("env 1a=2 git x", ("git", "x"), ("env",)),
        ("nice -n 5 timeout -k 1 10 git x", ("git", "x"), ("nice", "timeout")),
        ("sudo -u bob -- git x", ("git", "x"), ("sudo",)),
        ("chrt -f 10 git x", ("git", "x"), ("chrt",)),
        ("flock -w 3 f git x", ("git", "x"), ("flock",)),
        ("flock f -c 'git x'", ("git", "x"), ("flock",)),
        ("su bob -c 'git x'", ("git", "x"), ("su",)),
        ("script -qc 'git x' f", ("git", "x"), ("script",)),
        ("watch -n 2 git x", ("git", "x"), ("watch",)),
        ("bash -xlc 'git x' name", ("git", "x"), ("bash",)),
        ("bash <<< 'git x'", ("git", "x"), ("bash",)),
        ("sh <<'E'\ngit x\nE", ("git", "x"), ("sh",)),
        ("eval git x", ("git", "x"), ("eval",)),
        ("trap 'git x' EXIT", ("git", "x"), ("trap",)),
        ("ssh -p 22 host git x", ("git", "x"), ("ssh",)),
        ("xargs -0 -n 1 git x", ("git", "x", "{}"), ("xargs",)),
        ("xargs -I% git x %", ("git", "x", "{}"), ("xargs",)),
        ("find . -exec git x {} +", ("git", "x", "{}"), ("find",)),
        ("find . -name y -execdir git x ';' -print", ("git", "x"), ("find",)),
        ("fd y -x git x", ("git", "x", "{}"), ("fd",)),
        ("git submodule foreach 'git x'", ("git", "x"), ("git",)),
        ("git rebase -x 'git x' HEAD", ("git", "x"), ("git",)),
        ("command -p git x", ("git", "x"), ("command",)),
        ("exec -a y git x", ("git", "x"), ("exec",)),
        ("busybox git x", ("git", "x"), ("busybox",)),
        ("xargs sh -c 'git x'", ("git", "x"), ("xargs", "sh")),
        ("bash -c \"bash -c 'git x'\"", ("git", "x"), ("bash", "bash")),
    ],
)
def test_programs_that_other_programs_start_are_found(
    command: str, words: tuple[str, ...], via: tuple[str, ...]
) -> None:
    assert (words, via) in [(act.words, act.via) for act in analyse(command).commands]


@pytest.mark.parametrize(
    ("command", "reads", "writes"),
    [
        ("cat a b", ("a", "b"), ()),
        ("head -n 3 a", ("a",), ()),
        ("grep -rn x a b", ("a", "b"), ()),
        ("grep -e x -f p a", ("a", "p"), ()),
        ("cp a b", ("a",), ("b", "b/a")),
        ("mv a b", ("a",), ("b", "b/a", "a")),
        ("rm -rf a b", (), ("a", "b")),
        ("mkdir -p -m 700 a", (), ("a",)),
        ("tee -a a", (), ("a",)),
        ("dd if=a of=b bs=1", ("a",), ("b",)),
        ("truncate -s 0 a", (), ("a",)),
        ("sed -i.bak s/a/b/ f", ("f",), ("f", "f.bak")),
        ("sort a -o b", ("a",), ("b",)),
        ("curl -sLo a https://b", (), ("a",)),
        ("tar czf a b", ("b",), ("a",)),
        ("tar xf a -C d", ("a",), ("d",)),
        ("git checkout -- a", (), ("a",)),
        ("git clean -fd", (), (".",)),
        ("git clone -n u d", (), ("d",)),
        ("git clone --depth 1 -b x u d", (), ("d",)),
        ("git restore -WS a", (), ("a",)),
        ("git restore -s x a", (), ("a",)),
        ("uniq -c a b", ("a",), ("b",)),
        ("uniq -f 1 a", ("a",), ()),
        ("xxd -ps a b", ("a",), ("b",)),
        ("xxd -l 64 -c8 a", ("a",), ()),
        ("shuf -e -o b", (), ("b",)),
        ("install -m 644 a b", ("a",), ("b", "b/a")),
        ("chmod +x a", (), ("a",)),
        ("find a -delete", ("a",), ("a",)),
        ("cat < a > b 2>> c", ("a",), ("b", "c")),
        ("ls &> a", (".",), ("a",)),
    ],
)
def test_paths(command: str, reads: tuple[str, ...], writes: tuple[str, ...]) -> None:
    (act,) = analyse(command).commands
    assert (act.reads, act.writes) == (reads, writes)


@pytest.mark.parametrize(
    ("command", "read"),
    [
        ("cd a && cat x", ("a/x",)),
        ("cd a; cat x", ("a/x", "x")),
        ("cd a && cd b && cat x", ("a/b/x",)),
        ("cd a || cat x", ("a/x", "x")),
        ("(cd a); cat x", ("x", "a/x")),
        ("cd /a && cat x /y ~/z", ("/a/x", "/y", "~/z")),
        ("cd && cat x", ("~/x",)),
        ("pushd a && cat x", ("a/x",)),
    ],
)
def test_paths_behind_cd(command: str, read: tuple[str, ...]) -> None:
    assert act_of(command, "cat").reads == read


@pytest.mark.parametrize(
    "command", ["cd $X && make", "cd - && make", "popd && make", "cd $(ls) && ls", "env -C a cat x"]
)
def test_a_place_that_is_not_clear_is_a_doubt(command: str) -> None:
    assert analyse(command).doubt


@pytest.mark.parametrize(
    "letter",
    [
        "\u200b",
        "\u202e",
        "\u2066",
        "\u00a0",
        "\u3000",
        "\U000e0041",
        "\u00ad",
        "\ufeff",
        "\x1b",
        "\x7f",
        "\u3164",
        "\u2028",
    ],
)
def test_hidden_characters_are_named(letter: str) -> None:
    doubt = analyse(f"ls a{letter}b").doubt
    assert f"U+{ord(letter):04X}" in doubt


@pytest.mark.parametrize("command", ["ls größer", "echo 日本語", "echo — “x” ✓ 🎉", "ls ñ é"])
def test_letters_of_all_languages_are_no_doubt(command: str) -> None:
    assert analyse(command).doubt == ""


@pytest.mark.parametrize(
    ("command", "harmless"),
    [
        ("ls -la | head", True),
        ("git status && git diff", True),
        ("find . -name x", True),
        ("env LANG=C sort f", True),
        ("echo $(git log -1)", True),
        ("X=1; echo $X", True),
        ("ls > f", False),
        ("ls > /dev/null", True),
        ("find . -delete", False),
        ("git commit -m x", False),
        ("sed -i s/a/b/ f", False),
        ("make", False),
        ("LD_PRELOAD=x ls", False),
        ("ls $(", False),
        ("sort -o f f", False),
        ("uniq a b", False),
        ("git branch -D x", False),
        ("git stash", False),
    ],
)
def test_harmless(command: str, harmless: bool) -> None:
    assert analyse(command).harmless is harmless


_PLAIN = st.lists(st.text("abz019_./=:,@%+-", min_size=1, max_size=6), min_size=1, max_size=5)
_WORDS = st.sampled_from(
    [
        *("if", "then", "time", "for", "do", "a=", "export", "local", "[", "!"),
        *("{", "coproc", "in", "esac", "2", "a.b", "git", "rm", "cd", "env"),
        *("find", "-x", "x=1", "%1"),
    ]
)
_BLANKS = st.sampled_from([" ", "  ", "\t"])


@settings(max_examples=examples(1000), deadline=None)
@given(
    _PLAIN | st.lists(_WORDS | st.text("a-=", min_size=1, max_size=3), min_size=1, max_size=4),
    _BLANKS,
    st.sampled_from(["", " ", "\t "]),
)
def test_plain_words_stay_what_they_are(words: list[str], blank: str, edge: str) -> None:
    line = edge + blank.join(words) + edge
    reading = parse_strictly(line)
    if reading.problem:
        return
    assert [word for command in reading.commands for word in (*command.assignments, *command.argv)] == (
        line.split()[1:] if words[0] == "!" else line.split()
    )
    assert parse_strictly(f"{line}\n").commands == reading.commands


_FRAGMENTS = st.sampled_from(
    """ls;rm x;git log;env A=1 rm y;find . -delete;cat a;echo $(rm x);sed -i s/a/b/ f;tar cf x y;bash -c 'rm x';ls | xargs rm;>
    f;X=1;sudo ls;nice make;(rm q);git -c a.b=c log;
    python -c 1;for i in a b, do rm $i, done""".replace("\n", "")
    .replace(", do", "; do")
    .split(";")
).filter(lambda text: not parse_shell(text).parse_error)


@settings(max_examples=examples(300), deadline=None)
@given(_FRAGMENTS, _FRAGMENTS, st.sampled_from(["; ", " && ", " | ", "\n", " || ", " & "]))
def test_a_line_does_all_that_its_parts_do(first: str, second: str, between: str) -> None:
    whole = analyse(first + between + second)
    programs = [act.words for act in whole.commands]
    for part in (first, second):
        for act in analyse(part).commands:
            assert act.words in programs
            if act.risk:
                assert any(other.risk for other in whole.commands if other.words == act.words)
            assert not act.critical or any(other.critical for other in whole.commands)


@settings(max_examples=examples(300), deadline=None)
@given(
    st.sampled_from(
        [
            "ls a b",
            "git log -1",
            "rm x y",
            "env A=1 make all",
            "find . -name x",
            "sed p f",
            "tar cf a b",
            "rg x src",
        ]
    ),
    st.data(),
)
def test_quoting_a_word_changes_nothing(command: str, data: st.DataObject) -> None:
    words = command.split()
    place = data.draw(st.integers(1, len(words) - 1))
    assume("=" not in words[place])
    quoted = [*words[:place], f"'{words[place]}'", *words[place + 1 :]]
    plain, other = analyse(command), analyse(" ".join(quoted))
    assert [(act.words, act.risk, act.reads, act.writes, act.critical) for act in plain.commands] == [
        (act.words, act.risk, act.reads, act.writes, act.critical) for act in other.commands
    ]
    assert other.doubt == plain.doubt == ""


@settings(max_examples=examples(500), deadline=None)
@given(st.text(max_size=80))
def test_any_text_is_understood_or_doubted(text: str) -> None:
    analyse(text)


_PIECES = st.sampled_from(
    [
        *("env", "-S", "-C", "xargs", "-I", "{}", "find", ".", "-exec", ";"),
        *("\\;", "+", "git", "-c", "a.b=c", "submodule", "foreach", "bash", "-c", "'x"),
        *("y'", '"$X"', "sed", "e", "tar", "xf", "-C", "$(ls)", "<<E", "\nE\n"),
        *(">", "f", "|", "&&", "cd", "..", "-", "sudo", "-u", "flock"),
        *("awk", "{", "}", "python", "-m", "ssh", "host", "-o", "fd", "-x"),
        *("curl", "-o"),
    ]
)


@settings(max_examples=examples(1000), deadline=None)
@given(st.lists(_PIECES, max_size=10))
def test_any_mixture_is_understood_or_doubted(pieces: list[str]) -> None:
    analyse(" ".join(pieces))


_MANY = 50_000


@pytest.mark.parametrize(
    "command",
    [
        "$(" * _MANY + "ls" + ")" * _MANY,
        "echo " + "x" * 1_000_000,
        "nice " * 20_000 + "ls",
        "env " * 20_000 + "ls",
        "eval " * 20_000 + "ls",
        "bash -c '" * 1000,
        "ls;" * 20_000,
        "cd a;" * 5_000,
        "cd a && " * 5_000 + "ls",
        "sed '" + "p;" * 30_000 + "' f",
        "sed 's/" + "a" * 60_000 + "' f",
        "sed '" + "/a" * 30_000 + "' f",
        "awk '" + "print>" * 10_000 + "' f",
        "rm " + "$X/" * 20_000,
        "rm " + "[" * 60_000,
        "rm " + "../" * 30_000,
        "git " + "-c a=b " * 10_000,
        "echo $((" + "a[" * 20_000,
        "[[ " + "-eq " * 20_000 + "]]",
        "'" * 100_000,
        "cat <<E\n" + "`" * 60_000 + "\nE",
        "f() { f | " * 5_000,
        "find . " + "-exec rm {} + " * 2_000,
        "x=${" * 20_000,
        "\u202e" * 100_000,
    ],
)
def test_no_line_takes_long(command: str) -> None:
    started = time.process_time()
    analyse(command)
    assert time.process_time() - started < 30


def test_a_plain_line_is_fast() -> None:
    lines = [shlex.join(["git", "log", f"-{number}", "src/cart.py"]) for number in range(2_000)]
    analyse(lines[0])
    started = time.process_time()
    for line in lines:
        analyse(line)
    assert (time.process_time() - started) / len(lines) < 0.001
