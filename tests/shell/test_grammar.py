"""The grammar finds the commands, words and redirects of a command line."""

from __future__ import annotations

import shlex
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.shell.grammar import Redirect, ShellCommand, parse_shell


def argvs(command: str) -> list[tuple[str, ...]]:
    parsed = parse_shell(command)
    assert parsed.parse_error == "", parsed.parse_error
    return [simple.argv for simple in parsed.commands]


def test_operators_join_commands() -> None:
    parsed = parse_shell("a x && b || c; d | e |& f & g")
    assert [(simple.operator, simple.text) for simple in parsed.commands] == [
        ("", "a x"), ("&&", "b"), ("||", "c"), (";", "d"), ("|", "e"), ("|&", "f"), ("&", "g"),
    ]  # fmt: skip
    assert not any(simple.nested for simple in parsed.commands)
    assert parsed.roots == tuple("abcdefg")


@pytest.mark.parametrize(
    ("command", "hidden"),
    [
        ("(a; rm x)", "rm"),
        ("{ rm x; }", "rm"),
        ("f() { rm x; }", "rm"),
        ("function f { rm x; }", "rm"),
        ("if a; then b; elif rm x; then c; fi", "rm"),
        ("if a; then b; else rm x; fi", "rm"),
        ("for i in 1 2; do rm $i; done", "rm"),
        ("for i in $(rm x); do a; done", "rm"),
        ("for ((i=0; i<$(rm x); i++)); do a; done", "rm"),
        ("while rm x; do a; done", "rm"),
        ("until a; do rm x; done", "rm"),
        ("select i in a; do rm x; done", "rm"),
        ("case $a in b) c ;; *) rm x ;; esac", "rm"),
        ("! rm x", "rm"),
        ("echo $(rm x)", "rm"),
        ("echo `rm x`", "rm"),
        ('echo "a $(rm x) b"', "rm"),
        ("echo ${a:-$(rm x)}", "rm"),
        ("echo $((1 + $(rm x)))", "rm"),
        ("diff <(a) <(rm x)", "rm"),
        ("tee >(rm x)", "rm"),
        ("a=$(rm x)", "rm"),
        ("a=1 b=$(rm x) c", "rm"),
        ("a=(1 $(rm x))", "rm"),
        ("export A=$(rm x)", "rm"),
        ("[[ -f $(rm x) && a == b ]]", "rm"),
        ("[ -n $(rm x) ]", "rm"),
        ("a > $(rm x)", "rm"),
        ("a <<< $(rm x)", "rm"),
        ("$(> f; rm x)", "rm"),
        ("cat <<EOF\n$(rm x)\nEOF", "rm"),
        ("cat <<EOF | rm x\nhi\nEOF", "rm"),
        ("cat <<EOF && rm x\nhi\nEOF", "rm"),
        ("cat <<EOF\nhi\nEOF\nrm x", "rm"),
        ("a # rest\nrm x", "rm"),
        ("a # rest \\\nrm x", "rm"),
        ("a $(b $(c $(rm x)))", "rm"),
    ],
)
def test_every_command_is_found(command: str, hidden: str) -> None:
    parsed = parse_shell(command)
    assert parsed.parse_error == ""
    assert hidden in parsed.roots


def test_quoted_here_documents_and_comments_start_nothing() -> None:
    assert argvs("cat <<'EOF' # $(no)\n$(rm x)\nEOF\n") == [("cat",)]


def test_words_lose_their_quotes() -> None:
    command = r"""r\m 'a b' "c\"d" $'e\nf\x41' g"h"'i' $"j" --k="l m" '*' {} \; """
    assert argvs(command) == [("rm", "a b", 'c"d', "e\nfA", "ghi", "j", "--k=l m", "*", "{}", ";")]


def test_words_with_expansions_keep_their_source() -> None:
    (simple,) = parse_shell("""$A "x $B" *.py a{b,c} ~/d e=~/f $'g\\0h' plain""").commands
    assert simple.argv == ("$A", '"x $B"', "*.py", "a{b,c}", "~/d", "e=~/f", "$'g\\0h'", "plain")
    assert simple.dynamic == (0, 1, 2, 3, 4, 5, 6)


def test_assignments_are_separate_from_the_words() -> None:
    first, second, third = parse_shell("A=1 B='x y' prog arg; C=3; D=4 E=5").commands
    assert (first.assignments, first.argv) == (("A=1", "B='x y'"), ("prog", "arg"))
    assert (second.assignments, second.argv) == (("C=3",), ())
    assert (third.assignments, third.argv) == (("D=4", "E=5"), ())


@pytest.mark.parametrize(
    ("command", "redirect", "writes"),
    [
        ("a > f", Redirect(">", "f"), True),
        ("a >> 'f g'", Redirect(">>", "f g"), True),
        ("a >| f", Redirect(">|", "f"), True),
        ("a &> f", Redirect("&>", "f"), True),
        ("a &>> f", Redirect("&>>", "f"), True),
        ("a >& f", Redirect(">&", "f"), True),
        ("a > $F", Redirect(">", "$F"), True),
        ("a 2>&1", Redirect(">&", "1"), False),
        ("a 2> /dev/null", Redirect(">", "/dev/null"), False),
        ("a > /dev/stderr", Redirect(">", "/dev/stderr"), False),
        ("a < f", Redirect("<", "f"), False),
        ("a <<< 'x y'", Redirect("<<<", "x y"), False),
        ("a <&-", Redirect("<&-", ""), False),
        ("> f a", Redirect(">", "f"), True),
    ],
)
def test_redirects(command: str, redirect: Redirect, writes: bool) -> None:
    parsed = parse_shell(command)
    assert parsed.has_redirection
    (simple,) = parsed.commands
    assert simple.argv == ("a",)
    assert simple.redirects == (redirect,)
    assert redirect.writes is writes


def test_a_redirect_belongs_to_the_last_command_before_it() -> None:
    parsed = parse_shell("a > x | b > y c && d")
    assert [(simple.argv, simple.redirects) for simple in parsed.commands] == [
        (("a",), (Redirect(">", "x"),)),
        (("b", "c"), (Redirect(">", "y"),)),
        (("d",), ()),
    ]


def test_the_redirect_of_a_group_belongs_to_no_command() -> None:
    first, second = parse_shell("{ a; } > f").commands
    assert (first.argv, first.redirects, first.text) == ((), (Redirect(">", "f"),), "> f")
    assert second.argv == ("a",)


def test_a_here_document_shows_its_first_line() -> None:
    (simple,) = parse_shell("python - <<EOF > out 2>&1\nprint(1)\nEOF").commands
    assert simple.text == "python - <<EOF > out 2>&1"
    assert simple.argv == ("python", "-")
    assert simple.redirects == (Redirect("<<", "EOF"), Redirect(">", "out"), Redirect(">&", "1"))


def test_nested_commands_say_so() -> None:
    parsed = parse_shell("a && (b; c) | d")
    assert [(simple.operator, simple.text, simple.nested) for simple in parsed.commands] == [
        ("", "a", False), ("&&", "b", True), (";", "c", True), ("|", "d", False),
    ]  # fmt: skip


def test_substitution_is_reported() -> None:
    assert parse_shell("echo $(a)").has_substitution
    assert parse_shell("cat <(a)").has_substitution
    assert not parse_shell("echo $a ${b} $((1+2)) '$(c)'").has_substitution


@pytest.mark.parametrize(
    "command",
    [
        "echo 'open",
        "a && ",
        "if a; then b",
        "echo $(",
        "cat <<EOF",
        "cat <<EOF\nno end",
        "a <<A <<B\n1\nA\n2\nB",
        "a\0b",
        "a\x0c#; rm x",
        "a\r\nb",
        "a\ud800",
        "x" * 200_000,
    ],
)
def test_text_that_is_not_parsed_is_reported(command: str) -> None:
    assert parse_shell(command).parse_error


@pytest.mark.parametrize("command", ["", " ", "\n", "# nothing"])
def test_nothing_is_understood_as_nothing(command: str) -> None:
    assert parse_shell(command) == ShellCommand(
        command, (), has_substitution=False, has_redirection=False, parse_error=""
    )


_N = 20_000


@pytest.mark.parametrize(
    "command", ["$(" * _N + "a" + ")" * _N, "(" * _N, "echo " + "${" * _N, "a;" * _N, "{ " * _N]
)
def test_depth_costs_little(command: str) -> None:
    started = time.process_time()
    parse_shell(command)
    assert time.process_time() - started < 30


@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12), min_size=1, max_size=6))
def test_quoting_is_undone(words: list[str]) -> None:
    (simple,) = parse_shell(shlex.join(["a", *words])).commands
    assert simple.argv == ("a", *words)


@given(st.text(max_size=60))
def test_any_text_is_judged(text: str) -> None:
    parse_shell(text)
