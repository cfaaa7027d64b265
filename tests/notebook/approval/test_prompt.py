"""Questions in a plain IPython terminal, typed as a person types them."""

from __future__ import annotations

import os
import sys

import pexpect
import pytest

from tests.terminals import end

PROMPT = r"In \[\d+\]: "


@pytest.fixture(scope="module")
def ipython(tmp_path_factory):
    """A real IPython in a pseudo-terminal, for the tests of this file."""
    home = tmp_path_factory.mktemp("home")
    environment = {
        **os.environ,
        "IPYTHONDIR": str(home),
        "TERM": "xterm",
        "NO_COLOR": "1",
        "EDITOR": f"{sys.executable} {home / 'editor.py'}",
    }
    (home / "editor.py").write_text("import sys\nopen(sys.argv[-1], 'w').write('from the editor\\n')\n")
    arguments = ["-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor", "--no-confirm-exit"]
    child = pexpect.spawn(
        sys.executable, arguments, env=environment, encoding="utf-8", timeout=300, dimensions=(50, 160)
    )
    child.setecho(False)
    child.expect(PROMPT)
    answers(child, "import os")
    yield child
    end(child)


@pytest.fixture
def terminal(ipython, project):
    """It works in the project, with nbtools freshly loaded."""
    ipython.sendline(f"os.chdir({str(project)!r}); print('at', 'work', 'in', os.getcwd())")
    ipython.expect_exact(f"at work in {project}")  # prompts before that are those of the test before
    ipython.expect(PROMPT)
    assert "Error" not in answers(ipython, "%reload_ext nbtools")
    return ipython


def answers(child, code):
    """Returns the output of the terminal for a line of code."""
    child.sendline(code)
    child.expect(PROMPT)
    return child.before


def interrupt(child):
    """Presses Ctrl-C until the next prompt:
    Python's readline loses one that arrives between its prompt and its first wait for a key.
    """
    child.sendintr()
    while child.expect([PROMPT, pexpect.TIMEOUT], timeout=30):
        child.sendintr()


def test_a_card_is_text_and_the_result_is_not_printed(terminal):
    said = answers(terminal, "%tool ls src")
    assert "cart.py" in said
    assert "Out[" not in said
    assert "<ToolResult" not in said
    assert "<ToolResult" in answers(terminal, "_")


def test_results_are_assigned_to_names(terminal):
    answers(terminal, "r = %tool ls src")
    assert "True" in answers(terminal, "r.ok")


@pytest.mark.parametrize(
    ("answer", "state"),
    [("y", "Approved once by you"), ("n", "Denied by you"), ("a", "Approved by you, and always")],
)
def test_a_question_is_answered_by_a_letter(terminal, project, answer, state):
    terminal.sendline("%tool edit notes.txt --old TODO --new DONE")
    terminal.expect_exact(
        "[y]es once / [a]lways allow edit (aa: remember for this project) / [m]odify / [n]o: "
    )
    assert "Needs your answer" in terminal.before
    assert "DONE" in terminal.before
    terminal.sendline(answer)
    terminal.expect(PROMPT)
    assert state in terminal.before
    assert ("DONE" in (project / "notes.txt").read_text()) is (answer != "n")


def test_an_unreadable_answer_repeats_the_question(terminal, project):
    terminal.sendline("%tool write a.txt x")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("perhaps")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("yes")
    terminal.expect(PROMPT)
    assert (project / "a.txt").exists()


def test_a_file_is_modified_in_the_editor(terminal, project):
    terminal.sendline("%tool write a.txt x")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("m")
    terminal.expect_exact("from the editor")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(PROMPT)
    assert (project / "a.txt").read_text() == "from the editor\n"


def test_a_question_works_inside_functions_and_awaiting_cells(terminal, project):
    terminal.sendline("def f(): return [tools.write('a.txt', 'x').ok for _ in range(1)]\n")
    terminal.expect(PROMPT)
    terminal.sendline("f()")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(r"\[True\]")
    terminal.sendline("await tools.write.start('b.txt', 'x')")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(PROMPT)
    assert (project / "b.txt").exists()


def test_a_background_call_needs_approval_before_it_starts(terminal, project):
    terminal.sendline("call = tools.write.background('a.txt', 'x')")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(PROMPT)
    assert "True" in answers(terminal, "call.result().ok")


@pytest.mark.parametrize("code", ["%tool write a.txt x", "await tools.write.start('a.txt', 'x')"])
def test_an_interrupt_takes_the_question_back(terminal, project, code):
    terminal.sendline(code)
    terminal.expect_exact("[n]o: ")
    interrupt(terminal)
    assert "Cancelled" in terminal.before
    assert "2" in answers(terminal, "1 + 1")
    assert not (project / "a.txt").exists()


@pytest.mark.parametrize(
    "code", ["%tool shell echo on; sleep 60", "await tools.shell.start('echo on; sleep 60')"]
)
def test_an_interrupt_ends_a_running_call(terminal, code):
    answers(terminal, "%tools allow shell")
    terminal.sendline(code)
    terminal.expect("Running")
    interrupt(terminal)
    assert "Cancelled" in terminal.before
    assert "2" in answers(terminal, "1 + 1")


def test_a_closed_input_is_a_no(terminal, project):
    terminal.sendline("%tool write a.txt x")
    terminal.expect_exact("[n]o: ")
    terminal.sendeof()
    terminal.expect(PROMPT)
    assert "Denied" in terminal.before
    assert not (project / "a.txt").exists()


def test_unloading_takes_everything_back(terminal):
    assert "Error" not in answers(terminal, "%unload_ext nbtools")
    assert "not found" in answers(terminal, "%tool ls")
    assert "NameError" in answers(terminal, "tools")


def test_choices_are_named_by_their_numbers(terminal):
    choices = "'choices': [{'label': 'red'}, {'label': 'blue'}], 'several': True"
    terminal.sendline(f"r = tools.ask([{{'text': 'Which?', {choices}}}])")
    terminal.expect_exact("or your own text): ")
    answers(terminal, "02, 1")
    assert "('blue, red',)" in answers(terminal, "r.data.answers")
