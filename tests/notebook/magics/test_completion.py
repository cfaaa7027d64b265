"""The completions of Tab, as a front end requests them."""

from __future__ import annotations

import pytest

from tests.notebook.magics.test_command_line import SEPARATORS


def reply_to(lab, code):
    message_id = lab.client.complete(code, len(code))
    reply = lab.client.get_shell_msg(timeout=60)
    while reply["parent_header"]["msg_id"] != message_id:
        reply = lab.client.get_shell_msg(timeout=60)
    return reply["content"]


def offered(lab, code):
    content = reply_to(lab, code)
    return [code[: content["cursor_start"]] + match for match in content["matches"]]


@pytest.mark.parametrize(
    ("code", "completed"),
    [
        ("%tool gr", "%tool grep"),
        ("%tool ", "%tool shell"),
        ("%%tool wr", "%%tool write"),
        ("r = %tool gr", "r = %tool grep"),
        ("x = 1\n%tool gr", "x = 1\n%tool grep"),
        ("%tool grep --gl", "%tool grep --glob"),
        ("%tool read src/", "%tool read src/cart.py"),
        ("%tool read sr", "%tool read src/"),
        ("%tool grep TODO --path no", "%tool grep TODO --path notes.txt"),
        ("%tool shell cat no", "%tool shell cat notes.txt"),
        ("%tool grep B no", "%tool grep B notes.txt"),
        ("%tools mo", "%tools mode"),
        ("%tools mode pl", "%tools mode plan"),
        ("%tools allow ed", "%tools allow edit"),
        ("%tools allow --", "%tools allow --save"),
        ("%tools import --pro", "%tools import --project"),
        ("%tools import no", "%tools import notes.txt"),
        ("%tools set san", "%tools set sandbox"),
        ("%tools set sandbox re", "%tools set sandbox required"),
        ("%tools set redact o", "%tools set redact off"),
        ("%tools approve ed", "%tools approve edits"),
        ("%tools approve edits o", "%tools approve edits on"),
        ("%tools trust y", "%tools trust yes"),
        ("%tools undo --", "%tools undo --merge"),
        ("tools.gr", "tools.grep"),
        ("tools.grep(", "tools.grep(pattern="),
        ("tools.grep('a, b', ig", "tools.grep('a, b', ignore_case="),
        ("tools.quiet.grep('a', path='src', li", "tools.quiet.grep('a', path='src', limit="),
        ("tools.shell.background('a', ti", "tools.shell.background('a', timeout="),
        ("%tool grep x --type p", "%tool grep x --type py"),
        ("%tool grep x --type=py", "%tool grep x --type=python"),
        ("%tool grep x --mode=fi", "%tool grep x --mode=files"),
        ("%tool terminal_run --enter=f", "%tool terminal_run --enter=false"),
        ("tools.qu", "tools.quiet"),
    ],
)
def test_tab_completes(lab, code, completed):
    assert completed in offered(lab, code)


def test_tools_are_offered_with_their_kinds(lab):
    types = {
        one["text"].removeprefix("tools."): one["type"]
        for one in reply_to(lab, "tools.")["metadata"]["_jupyter_types_experimental"]
    }
    assert {name: types[name] for name in ("read", "edit", "grep", "shell", "quiet")} == {
        "read": "read",
        "edit": "edit",
        "grep": "search",
        "shell": "execute",
        "quiet": "instance",
    }
    assert "<unknown>" not in types.values()


def test_another_variable_tools_keeps_its_own_names(bare):
    bare.run("import types\ntools = types.SimpleNamespace(mine=1)\n%load_ext nbtools")
    assert offered(bare, "tools.") == ["tools.mine"]


def test_a_parameter_is_offered_once_and_a_text_is_left_alone(lab):
    assert "tools.grep('x', path='.', path=" not in offered(lab, "tools.grep('x', path='.', pa")
    assert not any(one.endswith("path=") for one in offered(lab, "tools.grep('x, pa"))


def test_nothing_else_is_offered_on_our_lines(lab):
    assert offered(lab, "%tool gre") == ["%tool grep"]


def test_other_lines_are_left_alone(lab):
    assert "%timeit" in offered(lab, "%timei")
    assert offered(lab, "x = 'a'\nx.upp") == ["x = 'a'\nx.upper"]


def test_hidden_files_are_offered_to_a_dot(lab, project):
    (project / ".hidden").write_text("x")
    assert "%tool read .hidden" not in offered(lab, "%tool read ")
    assert "%tool read .hidden" in offered(lab, "%tool read .h")


def test_names_are_spelled_as_a_line_reads_them(lab, project):
    (project / "my notes").mkdir()
    (project / "my notes" / "it's.txt").write_text("x")
    (project / "my\nname").write_text("x")
    assert offered(lab, "%tool read my") == ["%tool read my\\ notes/"]
    assert offered(lab, "%tool read my\\ no") == ["%tool read my\\ notes/"]
    assert offered(lab, "%tool read my\\ notes/") == ["%tool read my\\ notes/it\\'s.txt"]


def test_a_name_that_would_end_the_line_is_not_offered(lab, project):
    for separator in SEPARATORS:
        (project / f"zebra{separator}open('pwned','w')#.txt").touch()
    (project / "zebra.txt").touch()
    for line in ("%tool read ze", "%trace ze"):
        assert offered(lab, line) == [f"{line}bra.txt"]
