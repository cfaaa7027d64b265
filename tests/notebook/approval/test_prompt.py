"""Questions in a plain IPython terminal, typed as a person types them."""

from __future__ import annotations

import os
import sys

import pexpect
import pytest


@pytest.fixture
def terminal(project, tmp_path_factory):
    """A real IPython in a pseudo-terminal, nbtools loaded."""
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
    child = pexpect.spawn(sys.executable, arguments, cwd=str(project), env=environment, encoding="utf-8", timeout=300, dimensions=(50, 160))
    child.setecho(False)
    child.expect(r"In \[1\]: ")
    child.sendline("%load_ext nbtools")
    child.expect(r"In \[2\]: ")
    yield child
    child.close(force=True)


def answers(child, code):
    """Returns the output of the terminal for a line of code."""
    child.sendline(code)
    child.expect(r"In \[\d+\]: ")
    return child.before


def interrupt(child):
    """Presses Ctrl-C until the next prompt: Python's readline loses one that arrives between its prompt and its first wait for a key."""
    child.sendintr()
    while child.expect([r"In \[\d+\]: ", pexpect.TIMEOUT], timeout=30):
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


@pytest.mark.parametrize(("answer", "state"), [("y", "Approved once by you"), ("n", "Denied by you"), ("a", "Approved by you, and always")])
def test_a_question_is_answered_by_a_letter(terminal, project, answer, state):
    terminal.sendline("%tool edit notes.txt --old TODO --new DONE")
    terminal.expect_exact("[y]es once / [a]lways allow edit (aa: remember for this project) / [m]odify / [n]o: ")
    assert "Needs your answer" in terminal.before
    assert "DONE" in terminal.before
    terminal.sendline(answer)
    terminal.expect(r"In \[3\]: ")
    assert state in terminal.before
    assert ("DONE" in (project / "notes.txt").read_text()) is (answer != "n")


def test_an_unreadable_answer_repeats_the_question(terminal, project):
    terminal.sendline("%tool write a.txt x")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("perhaps")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("yes")
    terminal.expect(r"In \[3\]: ")
    assert (project / "a.txt").exists()


def test_a_file_is_modified_in_the_editor(terminal, project):
    terminal.sendline("%tool write a.txt x")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("m")
    terminal.expect_exact("from the editor")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(r"In \[3\]: ")
    assert (project / "a.txt").read_text() == "from the editor\n"


def test_a_question_works_inside_functions_and_awaiting_cells(terminal, project):
    terminal.sendline("def f(): return [tools.write('a.txt', 'x').ok for _ in range(1)]\n")
    terminal.expect(r"In \[\d+\]: ")
    terminal.sendline("f()")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(r"\[True\]")
    terminal.sendline("await tools.write.start('b.txt', 'x')")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(r"In \[\d+\]: ")
    assert (project / "b.txt").exists()


def test_a_background_call_needs_approval_before_it_starts(terminal, project):
    terminal.sendline("call = tools.write.background('a.txt', 'x')")
    terminal.expect_exact("[n]o: ")
    terminal.sendline("y")
    terminal.expect(r"In \[\d+\]: ")
    assert "True" in answers(terminal, "call.result().ok")


@pytest.mark.parametrize("code", ["%tool write a.txt x", "await tools.write.start('a.txt', 'x')"])
def test_an_interrupt_takes_the_question_back(terminal, project, code):
    terminal.sendline(code)
    terminal.expect_exact("[n]o: ")
    interrupt(terminal)
    assert "Cancelled" in terminal.before
    assert "2" in answers(terminal, "1 + 1")
    assert not (project / "a.txt").exists()


@pytest.mark.parametrize("code", ["%tool shell echo on; sleep 60", "await tools.shell.start('echo on; sleep 60')"])
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
    terminal.expect(r"In \[3\]: ")
    assert "Denied" in terminal.before
    assert not (project / "a.txt").exists()


def test_unloading_takes_everything_back(terminal):
    assert "Error" not in answers(terminal, "%unload_ext nbtools")
    assert "not found" in answers(terminal, "%tool ls")
    assert "NameError" in answers(terminal, "tools")
