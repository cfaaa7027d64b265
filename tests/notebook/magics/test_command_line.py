"""Lines to arguments, and the law that a formatted line reads as the arguments it was made from."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from IPython.core.inputtransformer2 import TransformerManager

from nbtools.cards.magic_source import is_plain_line, magic_line, quoted
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.notebook.magics.command_line import format_line, parse, words
from nbtools.notebook.magics.flags import declared, flag, grammar_from, grammar_of, word_list
from nbtools.tools.ask import AskTool
from nbtools.tools.commands.shell import ShellTool
from nbtools.tools.commands.terminal_run import TerminalRunTool
from nbtools.tools.todo import TodoTool
from nbtools.workspace.workspace import Workspace

SEPARATORS = "\n\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029"
"""Where ``str.splitlines``, and with it IPython, ends a line."""

GREP = grammar_from(
    "grep",
    {
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "default": "."},
            "glob": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "ignore_case": {"type": "boolean", "default": False, "flag": "-i"},
            "hidden": {"type": "boolean", "default": True, "flag": "n"},
            "context": {"type": "integer", "default": 0, "flag": "C"},
            "limit": {"type": "integer", "default": 100},
            "mode": {"$ref": "#/$defs/Mode"},
            "types": {"type": "array", "items": {"type": "string"}},
            "weights": {"type": "array", "items": {"type": "number"}},
            "options": {"type": "object"},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["pattern"],
        "$defs": {"Mode": {"type": "string", "enum": ["lines", "files", "count"]}},
    },
)
SHELL = grammar_from(
    "shell",
    {
        "properties": {
            "command": {"type": "string"},
            "path": {"type": "string"},
            "timeout": {"type": "number"},
        },
        "required": ["command"],
    },
)
EDIT = grammar_from(
    "edit",
    {
        "properties": {name: {"type": "string"} for name in ("path", "old", "new")},
        "required": ["path", "old", "new"],
    },
)
COUNT = grammar_from(
    "count",
    {"properties": {"n": {"type": "integer"}, "names": {"type": "array", "items": {"type": "string"}}}},
)


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("TODO", {"pattern": "TODO"}),
        ("TODO src", {"pattern": "TODO", "path": "src"}),
        (
            'grep -i TODO src --glob "*.py" --limit 5'[5:],
            {"pattern": "TODO", "path": "src", "glob": "*.py", "ignore_case": True, "limit": 5},
        ),
        ("--glob=*.py TODO", {"pattern": "TODO", "glob": "*.py"}),
        ("TODO --no-hidden", {"pattern": "TODO", "hidden": False}),
        ("TODO --ignore_case", {"pattern": "TODO", "ignore_case": True}),
        ("TODO --ignore-case=no", {"pattern": "TODO", "ignore_case": False}),
        ("-in TODO", {"pattern": "TODO", "ignore_case": True, "hidden": True}),
        ("-C3 TODO", {"pattern": "TODO", "context": 3}),
        ("-C=3 TODO", {"pattern": "TODO", "context": 3}),
        ("-C 3 TODO", {"pattern": "TODO", "context": 3}),
        ("-- -v", {"pattern": "-v"}),
        ('"-v"', {"pattern": "-v"}),
        ("--types a --types b x", {"pattern": "x", "types": ["a", "b"]}),
        ("""x --types '["a", "b"]'""", {"pattern": "x", "types": ["a", "b"]}),
        ("""x --weights '[1, 2.5]'""", {"pattern": "x", "weights": [1, 2.5]}),
        ("x --weights 1 --weights 2.5", {"pattern": "x", "weights": [1, 2.5]}),
        ("""x --options '{"a": [1]}'""", {"pattern": "x", "options": {"a": [1]}}),
        ("x --mode files", {"pattern": "x", "mode": "files"}),
        ("x --glob null", {"pattern": "x", "glob": None}),
        ("x --either 5", {"pattern": "x", "either": 5}),
        ("x --either five", {"pattern": "x", "either": "five"}),
        ("x --limit -1", {"pattern": "x", "limit": -1}),
        ("''", {"pattern": ""}),
    ],
)
def test_a_line_reads_as_its_arguments(line, arguments):
    assert parse(GREP, line) == arguments


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        (r'"round\("', r"round\("),
        (r"round\(", r"round\("),
        (r"\bword\b", r"\bword\b"),
        (r"'\d+'", r"\d+"),
        (r'"say \"hi\""', 'say "hi"'),
        (r'"a\\b"', r"a\b"),
        (r"a\ b", "a b"),
        (r"it\'s", "it's"),
        ('$HOME/{x}/"$y"', "$HOME/{x}/$y"),
        ("a'b c'd", "ab cd"),
        ("ends\\", "ends\\"),
    ],
)
def test_patterns_arrive_as_they_were_written(line, pattern):
    assert parse(GREP, line) == {"pattern": pattern}


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("git log --oneline | head", {"command": "git log --oneline | head"}),
        ("--timeout 5 git  log  'a b'", {"command": "git  log  'a b'", "timeout": 5}),
        ("--timeout=5 -- --odd name", {"command": "--odd name", "timeout": 5}),
        ("echo it's", {"command": "echo it's"}),
        ("", {}),
    ],
)
def test_a_command_is_taken_as_it_stands(line, arguments):
    assert parse(SHELL, line) == arguments


SQL = grammar_from("sql", {"properties": {"content": {"type": "string"}}, "required": ["content"]})


@pytest.mark.parametrize(
    "comment", ["# search: what it's for", "#", '#8 "unclosed', "# --no-such-flag", "# a # b"]
)
@pytest.mark.parametrize(
    ("grammar", "line", "arguments"),
    [
        (GREP, "TODO src", {"pattern": "TODO", "path": "src"}),
        (GREP, "TODO --limit 5 -i", {"pattern": "TODO", "limit": 5, "ignore_case": True}),
        (GREP, "-- -v", {"pattern": "-v"}),
        (GREP, "TODO --types py md", {"pattern": "TODO", "types": ["py"], "path": "md"}),
        (COUNT, "3 a b", {"n": 3, "names": ["a", "b"]}),
        (EDIT, "\"a b\" 'c' d", {"path": "a b", "old": "c", "new": "d"}),
        (SQL, "select 1", {"content": "select 1"}),
        (COUNT, "", {}),
    ],
)
def test_a_word_that_begins_with_a_number_sign_ends_the_line(grammar, line, arguments, comment):
    assert parse(grammar, f"{line} {comment}") == arguments


@pytest.mark.parametrize(
    ("line", "pattern"),
    [
        ("'#x'", "#x"),
        ('"#x"', "#x"),
        (r"\#x", "#x"),
        ("a#b", "a#b"),
        ("--pattern=#x", "#x"),
        ("'a #b'", "a #b"),
        (r"a\ #b", "a #b"),
    ],
)
def test_other_number_signs_are_text(line, pattern):
    assert parse(GREP, line) == {"pattern": pattern}


def test_the_comment_of_a_command_is_the_shell_s(tmp_path):
    shell = grammar_of(ShellTool(Workspace(tmp_path)))
    assert parse(shell, "ls # all of it") == {"command": "ls # all of it"}
    assert parse(shell, "--timeout 5 git log # it's long") == {"timeout": 5, "command": "git log # it's long"}


@pytest.mark.parametrize(
    ("line", "arguments"),
    [
        ("1 cd src && ls", {"id": "1", "command": "cd src && ls"}),
        ("'my shell' echo \"a  b\" # c", {"id": "my shell", "command": 'echo "a  b" # c'}),
        ("1 'cd src && ls'", {"id": "1", "command": "cd src && ls"}),
        ("--wait 2 1 --no-enter ls --all", {"wait": 2, "id": "1", "enter": False, "command": "ls --all"}),
        ("--id=1 -- 'ls'", {"id": "1", "command": "'ls'"}),
        ("1 ^C", {"id": "1", "command": "^C"}),
    ],
)
def test_the_text_typed_into_a_terminal_is_the_rest_of_the_line(tmp_path, line, arguments):
    terminal = grammar_of(TerminalRunTool(Workspace(tmp_path)))
    assert parse(terminal, line) == arguments
    assert parse(terminal, format_line(terminal, arguments)) == arguments


@pytest.mark.parametrize("line", ["#42 src", "--path #42"])
def test_a_line_whose_comment_has_the_missing_text_says_how_to_write_it(lab, line):
    assert "put it in quotes, as in '#42'" in lab.run(f"%tool grep {line}").text


def test_a_cell_is_the_body():
    assert parse(SHELL, "--timeout 5", "make\nmake test") == {"timeout": 5, "command": "make\nmake test"}
    assert parse(EDIT, "a.py --old x", "new text") == {"path": "a.py", "old": "x", "new": "new text"}


@pytest.mark.parametrize(
    ("grammar", "line", "body", "says"),
    [
        (GREP, "x --golb y", None, "no flag --golb. Did you mean --glob"),
        (GREP, "x -z", None, "no flag -z"),
        (GREP, "x --no-limit", None, "no flag --no-limit"),
        (GREP, "x --limit", None, "--limit needs a value"),
        (GREP, "x --limit many", None, "limit must be a whole number, not 'many'"),
        (GREP, "x --no-hidden=1", None, "--no-hidden takes no value"),
        (GREP, "it's", None, "the quote ' is not closed"),
        (EDIT, "a b c d", None, "'d' is one argument too many"),
        (GREP, "x", "text", "grep has no parameter for a cell's text"),
        (EDIT, "a --new x", "text", "got new twice"),
        (SHELL, "--tmeout 5 ls", None, "Did you mean --timeout"),
    ],
)
def test_a_line_that_cannot_be_read_says_why(grammar, line, body, says):
    with pytest.raises(ToolFailure) as failure:
        parse(grammar, line, body)
    assert failure.value.code is ErrorCode.INVALID_TOOL_PARAMS
    assert says in failure.value.message
    assert "\n" not in failure.value.message


def test_a_list_takes_the_remaining_words():
    assert parse(COUNT, "3 a b") == {"n": 3, "names": ["a", "b"]}


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30) | st.sampled_from(
    ["-v", "--", "null", "[1]", "a b", "\\", 'it\'s "x"']
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts, lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
arguments = st.fixed_dictionaries(
    {"pattern": texts},
    optional={
        "path": texts,
        "ignore_case": st.booleans(),
        "context": st.integers(),
        "mode": st.sampled_from(["lines", "files", "count"]),
        "types": st.lists(texts, max_size=4),
        "weights": st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=4),
        "options": st.dictionaries(texts, json_values, max_size=3),
        "either": st.integers(),
    },
)


@given(arguments)
def test_a_formatted_line_reads_as_what_it_was_made_from(wanted):
    assert parse(GREP, format_line(GREP, wanted)) == wanted


@given(texts.map(str.strip).filter(bool), st.none() | st.integers(min_value=0))
def test_a_formatted_command_reads_as_what_it_was_made_from(command, timeout):
    wanted = {"command": command} | ({} if timeout is None else {"timeout": timeout})
    assert parse(SHELL, format_line(SHELL, wanted)) == wanted


@given(st.lists(texts, max_size=5))
def test_quoted_words_read_as_themselves(wanted):
    assert [word.text for word in words(" ".join(quoted(text) for text in wanted))] == wanted


ASK = grammar_of(AskTool(Workspace(Path())))
TODO = grammar_of(TodoTool(Workspace(Path())))


@pytest.mark.parametrize(
    ("line", "questions"),
    [
        ('"Really?"', [{"text": "Really?"}]),
        ('"Which one?" "Why?"', [{"text": "Which one?"}, {"text": "Why?"}]),
        ("""'{"text": "Sure?", "kind": "yesno"}'""", [{"text": "Sure?", "kind": "yesno"}]),
        ("""'[{"text": "Sure?"}]'""", [{"text": "Sure?"}]),
        ('--questions "Really?"', [{"text": "Really?"}]),
    ],
)
def test_a_text_stands_for_an_object_that_needs_no_more(line: str, questions: list[dict[str, str]]) -> None:
    assert parse(ASK, line) == {"questions": questions}


@pytest.mark.parametrize("text", ["[1]", '["a"]', "[x", "[", "5", "null", "{}"])
def test_words_of_a_declared_list_are_texts(text: str) -> None:
    grammar = declared("%tools deny", word_list("rules"), flag("header", type="array"))
    line = f"{quoted(text)} b --header {quoted(text)} --header c"
    assert parse(grammar, line) == {"rules": [text, "b"], "header": [text, "c"]}


def test_a_flag_begins_with_a_dash() -> None:
    assert GREP.flag("-C") is GREP.flag("--context") is GREP.named("context")
    assert GREP.flag("C") is None


def test_a_cell_is_a_list_an_item_a_line() -> None:
    items = [{"text": "[x] Read"}, {"text": "[ ] Write"}, {"text": "Run"}]
    assert parse(TODO, "", "[x] Read\n\n[ ] Write\n  Run\n") == {"items": items}
    assert parse(TODO, '"[x] Read" "[ ] Write" Run') == {"items": items}
    assert parse(TODO, "", '[{"text": "Read", "status": "completed"}]') == {
        "items": [{"text": "Read", "status": "completed"}]
    }
    told = TodoTool(Workspace(Path())).build({"items": items}).params.items
    assert [(item.text, item.status) for item in told] == [
        ("Read", "completed"),
        ("Write", "pending"),
        ("Run", "pending"),
    ]


@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_magic_line_contains_no_line_separator(separator: str) -> None:
    name = f"a{separator}print(1)#"
    assert len(name.splitlines()) == 2
    assert not is_plain_line(name)
    assert only_call(magic_line("trace", quoted(name))) == ("run_line_magic", ["trace", quoted(name)])


@given(st.text() | st.text(alphabet="#'\" \\a"))
def test_any_text_is_one_line_of_a_magic(text: str) -> None:
    """Whatever it holds, the cell makes one call, whose only word is the text."""
    line = quoted(text)
    name, arguments = only_call(magic_line("trace", line))
    assert name == "run_line_magic"
    assert [word.text for word in words(arguments[1])] == [text]


def only_call(source: str) -> tuple[str, list[str]]:
    """The one call that IPython makes of a cell, and its arguments."""
    (statement,) = ast.parse(TransformerManager().transform_cell(source)).body
    assert isinstance(statement, ast.Expr)
    call = statement.value
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr, [ast.literal_eval(argument) for argument in call.args]
