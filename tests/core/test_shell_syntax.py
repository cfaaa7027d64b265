"""What a command line would start: the cases by hand, and bash itself as the judge of the rest."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.shell_syntax import Redirect, ShellCommand, parse_shell


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


def test_assignments_stand_apart() -> None:
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


def test_the_redirect_of_a_group_stands_alone() -> None:
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


def test_substitution_is_told() -> None:
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
        "a\\\n#; rm x",
        "\\ #; rm x",
        "r\\\nm x",
        "a\n\\\nrm",
        "{}",
        "coproc { a; }",
        "! ! a",
        "1a=2",
        "a\ud800",
        "x" * 200_000,
    ],
)
def test_what_is_not_understood_is_told(command: str) -> None:
    assert parse_shell(command).parse_error


@pytest.mark.parametrize("command", ["", " ", "\n", "# nothing"])
def test_nothing_is_understood_as_nothing(command: str) -> None:
    assert parse_shell(command) == ShellCommand(command, (), has_substitution=False, has_redirection=False, parse_error="")


_N = 20_000


@pytest.mark.parametrize("command", ["$(" * _N + "a" + ")" * _N, "(" * _N, "echo " + "${" * _N, "a;" * _N, "{ " * _N])
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


_TOKENS = re.findall(
    r"\S+",
    """x y z | && ; # ' " \\ ( ) { } <<E < > >> 2> 2>&1 &> - ! [[ ]] $ $' $a ${a:-$(x)} a=1 *=1 <<< ~ <(x) f()
    if then fi for in do done time \\' \\# """,
)
_GLUE = st.sampled_from(["", " ", " ", " ", "\n", "\t", "\\\n", "\nE\n"])
_WHOLE = [
    "x",
    "y",
    "{ x; }",
    "(y)",
    "$(z)",
    "`y`",
    "<<E\nx $(y)\nE\n",
    "<<'E'\n$(y)\nE\n",
    "if x; then y; fi",
    '"a $(z)"',
    "'b c'",
    "> f",
    "x &",
    "|",
    ";",
]
_SNIPPETS = st.sampled_from(_TOKENS) | st.sampled_from(_WHOLE) | st.sampled_from(_WHOLE)
_LOG = """command_not_found_handle() { printf '%s\\0' "$@" $'\\001' >>"$LOG"; }; cd "$DIR"; eval "$SCRIPT" """


def _run(script: str) -> tuple[list[tuple[str, ...]], set[str]]:
    """What bash starts and which files it makes, in a place where no program is found."""
    folder = Path(tempfile.mkdtemp())
    (folder / "work").mkdir()
    (folder / "log").touch()
    environment = {"PATH": "/nonexistent", "LOG": str(folder / "log"), "DIR": str(folder / "work"), "SCRIPT": script, "LC_ALL": "C.UTF-8"}
    bash = shutil.which("bash")
    assert bash is not None
    subprocess.run([bash, "--norc", "-c", _LOG], env=environment, stdin=-3, stdout=-3, stderr=-3, timeout=20, check=False)
    records = (folder / "log").read_text(errors="replace").split("\0\1\0")[:-1]
    files = {path.name for path in (folder / "work").iterdir()}
    shutil.rmtree(folder, ignore_errors=True)  # what was started in the background may still make a file
    return [tuple(record.split("\0")) for record in records], files


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(_SNIPPETS, _GLUE), min_size=1, max_size=7))
def test_bash_starts_nothing_that_was_not_found(tokens: list[tuple[str, str]]) -> None:
    script = "".join(token + glue for token, glue in tokens)
    parsed = parse_shell(script)
    if parsed.parse_error:
        return
    started, files = _run(script)
    fixed = {simple.argv for simple in parsed.commands if not simple.dynamic}
    names = {simple.argv[0] for simple in parsed.commands if simple.argv and simple.dynamic}
    anything = any(0 in simple.dynamic for simple in parsed.commands) or "time" in parsed.roots
    for argv in started:
        assert anything or argv in fixed or argv[0] in names, (script, argv)
    targets = {redirect.target for simple in parsed.commands for redirect in simple.redirects if redirect.writes}
    assert files <= targets or any(set(target) & set("$`*(~") for target in targets), (script, files)
