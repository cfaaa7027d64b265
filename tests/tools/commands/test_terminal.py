"""Real terminals: a shell that keeps its state, programs that read the keyboard, full-screen programs."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import CommandOutput, ToolResult, ToolResultDisplay
from nbtools.core.tool import CommandTarget, Kind
from nbtools.tools.commands.terminal import (
    TerminalKillTool,
    TerminalOpenTool,
    TerminalOutputTool,
    TerminalState,
)
from nbtools.tools.commands.terminal_run import TerminalRunData, TerminalRunTool
from nbtools.workspace.workspace import Workspace
from tests.waiting import until


class Terminals:
    """The four tools on one workspace, and terminal 1 open."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.opener, self.runner = TerminalOpenTool(workspace), TerminalRunTool(workspace)
        self.reader, self.killer = TerminalOutputTool(workspace), TerminalKillTool(workspace)

    async def open(self, **params: Any) -> TerminalState:
        result = await self.opener.build(params).execute()
        assert isinstance(result.data, TerminalState)
        return result.data

    async def run(self, command: str, id: str = "1", wait: float = 20, **params: Any) -> TerminalRunData:  # noqa: A002
        result = await self.type(command, id, wait, **params)
        assert isinstance(result.data, TerminalRunData)
        return result.data

    async def type(self, command: str, id: str = "1", wait: float = 20, **params: Any) -> ToolResult:  # noqa: A002
        return await self.runner.build({"id": id, "command": command, "wait": wait, **params}).execute()

    async def look(self, id: str = "1", wait: float = 0) -> TerminalState:  # noqa: A002
        result = await self.reader.build({"id": id, "wait": wait}).execute()
        assert isinstance(result.data, TerminalState)
        return result.data


@pytest.fixture
async def terminals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Terminals]:
    """The home folder has a known ``~/.bashrc``, and the window a known size."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("COLUMNS", "80")
    (home / ".bashrc").write_text("PS1='$ '\nalias greet='echo hello'\n")
    (tmp_path / "work" / "sub").mkdir(parents=True)
    workspace = Workspace(tmp_path / "work")
    terminals = Terminals(workspace)
    await terminals.open()
    yield terminals
    await workspace.close()


async def test_a_command_ends_with_its_output_and_exit_code(terminals: Terminals) -> None:
    result = await terminals.type("echo one; false")
    assert result.llm_content == "echo one; false\none\n$\n(exit code 1)"
    assert result.data == TerminalRunData(
        "1", True, 1, "$ echo one; false\none\n$", "echo one; false\none\n$ ", ".", True
    )
    assert result.summary == "exit 1"
    assert isinstance(result.return_display, CommandOutput)
    assert result.return_display.text == "$ echo one; false\none\n$"


async def test_the_shell_keeps_its_state(terminals: Terminals) -> None:
    ran = await terminals.run("cd sub; export X=1; f() { echo in f $X; }")
    assert ran.path == "sub"
    assert "in f 1\n" in (await terminals.run("f")).new
    assert (await terminals.run("pwd")).new.splitlines()[-2].endswith("/work/sub")
    assert "hello\n" in (await terminals.run("greet")).new
    assert (await terminals.run("echo wait! $?")).new == "echo wait! $?\nwait! 0\n$ "


async def test_a_loop_that_was_held_up_takes_no_command_for_one_that_waits(
    terminals: Terminals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something else in the loop takes longer than the rest after which a program counts as waiting for the
    keyboard.
    """
    terminal = terminals.workspace.terminals.get("1")
    wait = terminal._wait_for_output

    async def wait_and_be_held_up(seconds: float) -> None:
        await wait(seconds)
        time.sleep(0.4)  # the loop stands still: that is what is tested

    monkeypatch.setattr(terminal, "_wait_for_output", wait_and_be_held_up)
    ran = await terminals.run("printf some; sleep 0.1; false")
    assert (ran.finished, ran.exit_code) == (True, 1), ran


async def test_several_lines_and_tabs_are_typed_as_they_are(terminals: Terminals) -> None:
    ran = await terminals.run(
        "for i in 1 2; do\n\techo number $i\ndone\nread -t 0 || echo nothing is left over"
    )
    assert ran.finished
    assert "number 1\nnumber 2\n" in ran.new
    assert "nothing is left over\n" in ran.new


async def test_a_prompt_of_ones_own_and_its_command_stay(terminals: Terminals) -> None:
    (terminals.workspace.root.parent / "home/.bashrc").write_text("PROMPT_COMMAND='PS1=\"<$?> \"'\n")
    await terminals.open(name="own")
    assert (await terminals.run("(exit 7)", "own")).new == "(exit 7)\n<7> "
    ran = await terminals.run("true", "own")
    assert (ran.exit_code, ran.new) == (0, "true\n<0> ")


async def test_a_long_line_is_given_in_full_length(terminals: Terminals) -> None:
    ran = await terminals.run("printf 'x%.0s' {1..200}; echo")
    assert "x" * 200 in ran.new.splitlines()
    assert "x" * 80 in ran.screen.splitlines()


async def test_long_output_keeps_its_end_and_counts_the_lost_lines(terminals: Terminals) -> None:
    result = await terminals.type("seq 30000")
    assert result.data.finished
    assert result.data.new.endswith("\n29999\n30000\n$ ")
    assert "earlier lines were discarded" in str(result.llm_content)


@pytest.mark.parametrize("interpreter", [f"{sys.executable} -q -i", "bc -q"])
async def test_an_interpreter_reads_the_next_typed_line(terminals: Terminals, interpreter: str) -> None:
    if shutil.which(interpreter.split(maxsplit=1)[0]) is None:
        pytest.skip("not installed")
    started = await terminals.run(interpreter)
    assert (started.finished, started.exit_code, started.running) == (False, None, True)
    if "python" in interpreter:
        assert started.screen.endswith(">>>")
    answer = await terminals.run("2**64" if "python" in interpreter else "2^64")
    assert "18446744073709551616" in answer.new
    assert not answer.finished
    ended = await terminals.run("exit(5)" if "python" in interpreter else "quit")
    assert (ended.finished, ended.exit_code) == (True, 5 if "python" in interpreter else 0)


async def test_a_question_gets_its_answer(terminals: Terminals) -> None:
    asked = await terminals.run("read -p 'your name? ' name; echo hello $name")
    assert not asked.finished
    assert asked.screen.endswith("your name?")
    assert (await terminals.run("you")).new == "you\nhello you\n$ "


async def test_a_full_screen_program_is_seen_as_it_stands(terminals: Terminals) -> None:
    script = terminals.workspace.root / "full.py"
    script.write_text(
        "import curses\n"
        "def main(window):\n"
        "    curses.start_color()\n"
        "    while True:\n"
        "        window.erase(); window.border(); window.addstr(2, 4, '%d x %d' % window.getmaxyx()); window.refresh()\n"
        "        if window.getch() == ord('q'): return\n"
        "curses.wrapper(main)\n"
    )
    before = (await terminals.run("echo before")).screen
    result = await terminals.type(f"{sys.executable} full.py")
    rows = result.data.screen.split("\n")
    assert rows[2] == f"│{' ' * 3}24 x 80{' ' * 68}│"
    assert (rows[0], rows[23]) == (f"┌{'─' * 78}┐", f"└{'─' * 78}┘")
    assert "The screen:\n┌─" in str(result.llm_content)
    screen = (await terminals.run("", enter=False, rows=10, columns=40)).screen
    async with asyncio.timeout(60):
        while screen.split("\n")[2] != f"│{' ' * 3}10 x 40{' ' * 28}│":
            screen = (await terminals.look(wait=1)).screen
    ended = await terminals.run("q", enter=False)
    assert ended.finished
    assert ended.screen.startswith(before.split("\n")[0])


@pytest.mark.skipif(shutil.which("less") is None, reason="not installed")
async def test_a_pager_turns_its_pages(terminals: Terminals) -> None:
    first = await terminals.run("seq 100 | less")
    assert first.screen.split("\n") == [*map(str, range(1, 24)), ":"]
    assert (await terminals.run(" ", enter=False)).screen.split("\n")[0] == "24"
    assert (await terminals.run("q", enter=False)).finished


@pytest.mark.skipif(shutil.which("vim") is None, reason="not installed")
async def test_an_editor_edits(terminals: Terminals) -> None:
    opened = await terminals.run("vim -u NONE -i NONE note.txt")
    assert opened.screen.split("\n")[1] == "~"
    await terminals.run("ihello\nyou", enter=False)
    assert (await terminals.run("\x1b:wq")).finished
    assert (terminals.workspace.root / "note.txt").read_text() == "hello\nyou\n"


@pytest.mark.parametrize("key", ["^C", "\x03"])
async def test_a_key_ends_what_runs(terminals: Terminals, key: str) -> None:
    running = await terminals.run("sleep 300", wait=1)
    assert (running.finished, running.running) == (False, True)
    ended = await terminals.run(key, enter=False)
    assert (ended.finished, ended.exit_code) == (True, 130)


async def test_a_key_ends_what_runs_though_the_kernel_ignores_interrupts(terminals: Terminals) -> None:
    """A kernel ignores interrupts between its cells."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        await terminals.open(name="other")
    finally:
        signal.signal(signal.SIGINT, before)
    assert not (await terminals.run("sleep 300", "other", wait=1)).finished
    ended = await terminals.run("^C", "other", enter=False)
    assert (ended.finished, ended.exit_code) == (True, 130)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGQUIT, signal.SIGHUP])
async def test_a_terminal_does_not_inherit_ignored_signals(
    terminals: Terminals, number: signal.Signals
) -> None:
    """A kernel that was started with nohup, or in the background, ignores some."""
    before = signal.signal(number, signal.SIG_IGN)
    try:
        await terminals.open(name="other")
    finally:
        signal.signal(number, before)
    ended = await terminals.run(f"sh -c 'kill -{int(number)} $$; exit 3'", "other")
    assert (ended.finished, ended.exit_code) == (True, 128 + number)


async def test_a_program_that_takes_a_moment_to_end_at_a_key_is_waited_for(terminals: Terminals) -> None:
    running = await terminals.run(
        "bash -c 'trap \"sleep 1; exit 3\" INT; touch ready; while :; do sleep 0.1; done'", wait=0
    )
    assert not running.finished
    await until((terminals.workspace.root / "ready").exists)
    ended = await terminals.run("^C", enter=False)
    assert (ended.finished, ended.exit_code) == (True, 3)


async def test_an_unfinished_command_line_waits_for_more(terminals: Terminals) -> None:
    assert not (await terminals.run("echo 'one")).finished
    ran = await terminals.run("two'")
    assert (ran.finished, ran.exit_code) == (True, 0)
    assert "one\ntwo\n" in ran.new


async def test_later_output_is_read_later(terminals: Terminals) -> None:
    os.mkfifo(terminals.workspace.root / "go")
    running = await terminals.run("cat go; echo over", wait=0)
    assert not running.finished
    await asyncio.to_thread((terminals.workspace.root / "go").write_text, "later\n")
    text = ""
    while "over" not in text.replace("echo over", ""):
        text += (await terminals.look(wait=20)).new
    assert "later\n" in text
    assert (await terminals.look()).new == ""
    ahead = await terminals.run("cat go", wait=0)
    assert not ahead.finished
    typed = asyncio.create_task(terminals.run("echo typed ahead"))
    await asyncio.to_thread((terminals.workspace.root / "go").write_text, "")
    assert "typed ahead\n" in (await typed).new


async def test_the_window_is_shown_while_it_changes(terminals: Terminals) -> None:
    shown: list[str] = []

    def show(display: ToolResultDisplay) -> None:
        assert isinstance(display, CommandOutput)
        shown.append(display.text)
        if "step 1\n" in display.text + "\n":
            (terminals.workspace.root / "seen").touch()

    command = "for i in 1 2 3; do echo step $i; until [ -e seen ]; do sleep 0.05; done; done"
    assert (await terminals.runner.build({"id": "1", "command": command}).execute(show)).ok
    assert any("step 1\n" in text + "\n" and "step 2\n" not in text + "\n" for text in shown)


async def test_numbers_and_names(terminals: Terminals) -> None:
    assert (await terminals.open()).id == "2"
    assert (await terminals.open(name="server", path="sub", rows=10, columns=30)).path == "sub"
    assert (await terminals.run("stty size", "server")).new.splitlines()[1] == "10 30"
    assert (await terminals.open()).id == "3"
    result = await terminals.killer.build({"id": 2}).execute()
    assert (result.data.running, result.summary) == (False, "the terminal has ended")
    assert (await terminals.open()).id == "2"
    with pytest.raises(ToolFailure, match="already"):
        await terminals.open(name="server")
    with pytest.raises(ToolFailure, match="Open terminals: 1, server, 3, 2"):
        terminals.reader.build({"id": "9"})
    with pytest.raises(ToolFailure, match="letters, digits"):
        terminals.opener.build({"name": "a b"})


async def test_a_shell_that_exits_ends_the_terminal(terminals: Terminals) -> None:
    ran = await terminals.run("exit 3")
    assert (ran.running, ran.finished, ran.exit_code) == (False, True, 3)
    with pytest.raises(ToolFailure, match="has ended") as caught:
        await terminals.run("ls")
    assert caught.value.code is ErrorCode.EXECUTION_FAILED
    assert (await terminals.look()).exit_code == 3
    assert (await terminals.open()).id == "1"
    assert (await terminals.run("echo again")).finished


async def test_the_policy_and_the_person_see_the_typed_text(terminals: Terminals) -> None:
    call = terminals.runner.build({"id": "1", "command": "git status && ls"})
    assert call.target() == CommandTarget("git status && ls")
    details = await call.should_confirm_execute()
    assert isinstance(details, ToolExecuteConfirmationDetails)
    assert details.root_commands == ("git", "ls")
    assert terminals.opener.build({}).target() == CommandTarget("bash")
    kinds = [tool.kind for tool in (terminals.opener, terminals.runner, terminals.reader, terminals.killer)]
    assert kinds == [Kind.EXECUTE, Kind.EXECUTE, Kind.READ, Kind.EXECUTE]


async def test_policy_knows_where_a_command_runs(terminals: Terminals) -> None:
    def target(command: str = "git status") -> CommandTarget:
        return terminals.runner.build({"id": "1", "command": command}).target()

    assert target() == CommandTarget("git status", ".", moving=False)
    await terminals.run("cd sub")
    assert target() == CommandTarget("git status", "sub", moving=False)
    await terminals.run("cd ..")
    os.mkfifo(terminals.workspace.root / "go")
    await terminals.run("cat go; cd sub", wait=0)
    assert target().moving
    await asyncio.to_thread((terminals.workspace.root / "go").write_text, "")
    while target().moving:
        await terminals.look(wait=20)
    assert target() == CommandTarget("git status", "sub", moving=False)
    await terminals.run("cd ..; ", enter=False)
    assert target() == CommandTarget("cd ..; git status", "sub", moving=False)
    await terminals.run("^U", enter=False)
    assert "\x15" in target().command
    await terminals.run("^C")
    assert target() == CommandTarget("git status", "sub", moving=False)


async def test_text_for_a_running_program_always_asks(terminals: Terminals) -> None:
    def asks(command: str) -> object:
        return terminals.runner.build({"id": "1", "command": command}).asks

    assert asks("ls") is None
    os.mkfifo(terminals.workspace.root / "go")
    await terminals.run("cat go", wait=0)
    assert [asks(text) for text in ("ls", "#;ls", "^Z", "")] == ["always"] * 4
    assert [asks(key) for key in ("^C", "^D")] == [None, None]
    await terminals.run("ls a", enter=False, wait=0)
    call = terminals.runner.build({"id": "1", "command": "#;ls"})
    assert (call.target().command, call.asks) == ("ls a#;ls", "always")
    assert asks("^D") == "always"
    await terminals.run("^C", wait=20)
    assert asks("ls") is None


@pytest.mark.parametrize("command", ["cat sec\t\t", "^I"])
async def test_tabs_are_refused(terminals: Terminals, command: str) -> None:
    with pytest.raises(ToolFailure):
        terminals.runner.build({"id": "1", "command": command})


@pytest.mark.parametrize(
    "before",
    [
        "true",
        "printf '\\033[?1049h'",
        "printf '\\033[?2004l'",
        "TERM=dumb",
        "TERM=dumb; printf '\\033[?2004h'",
        "export TERM=dumb; printf '\\033[?1049h\\033[?2004h'",
        "set +o emacs",
        "set -o vi",
    ],
)
async def test_a_tab_completes_no_name_at_the_prompt(terminals: Terminals, before: str) -> None:
    (terminals.workspace.root / "secrets").mkdir()
    (terminals.workspace.root / "secrets/key").write_text("hidden-from-models\n")
    await terminals.run(before)
    for text in ("cat sec\t\t\ntrue", "true\ncat secrets/k\t", "cat < sec\t\t\n"):
        await terminals.run(text)
    await terminals.run("echo the end")
    assert "hidden-from-models" not in (await terminals.look()).screen


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (f"{sys.executable} -q", "import os; os.mkdir('pwned')"),
        ("cat > pwned", "ls"),
        pytest.param(
            "vim -u NONE a",
            ":!touch pwned",
            marks=pytest.mark.skipif(not shutil.which("vim"), reason="vim is not installed"),
        ),
        pytest.param(
            "less a",
            "!touch pwned",
            marks=pytest.mark.skipif(not shutil.which("less"), reason="less is not installed"),
        ),
    ],
)
async def test_a_printed_prompt_is_no_prompt_while_a_program_runs(
    terminals: Terminals, start: str, text: str
) -> None:
    """Bash's marks can be read by every command, and printed by a command that runs in the background."""
    (terminals.workspace.root / "a").write_text("1\n" * 500)
    shown = (await terminals.run("echo key=$__nbtools_told")).new
    key = next(line for line in shown.splitlines() if line.startswith("key="))[4:]
    await terminals.run(
        f"(while test ! -e go; do sleep 0.05; done; printf '\\e]{key};ready\\e\\\\'; touch gone) &"
    )
    await terminals.run(start, wait=2)
    (terminals.workspace.root / "go").touch()
    deadline = time.monotonic() + 60
    while not (terminals.workspace.root / "gone").exists() and time.monotonic() < deadline:
        await terminals.look(wait=0.2)
    await terminals.look(wait=0.2)
    assert terminals.runner.build({"id": "1", "command": text}).asks == "always"


@pytest.mark.parametrize(("first", "wait"), [("cd sub", 20), ("sleep 1; cd sub", 0), ("cd sub; ", 0)])
async def test_a_command_is_not_typed_where_policy_did_not_see_it(
    terminals: Terminals, first: str, wait: float
) -> None:
    judged = terminals.runner.build({"id": "1", "command": "touch mark"})
    await terminals.run(first, wait=wait, enter=not first.endswith(" "))
    with pytest.raises(ToolFailure) as caught:
        await judged.execute()
    assert caught.value.code is ErrorCode.CONFLICT
    assert not (terminals.workspace.root / "sub" / "mark").exists()


async def test_nothing_outlives_the_session(terminals: Terminals) -> None:
    await terminals.run("trap '' HUP TERM; (setsid sleep 300 &); sleep 300 & echo $! $$")
    terminal = terminals.workspace.terminals.get("1")
    assert len(terminal._descendants.alive()) == 3
    before = len([*Path("/proc/self/fd").iterdir()])
    await terminals.workspace.close()
    assert not terminal._descendants.alive()
    assert not psutil.pid_exists(terminal.pid)
    assert len([*Path("/proc/self/fd").iterdir()]) < before
    assert not terminals.workspace.terminals.names()


def test_unclosed_processes_end_with_python(tmp_path: Path) -> None:
    script = """
        import asyncio
        from nbtools.workspace.workspace import Workspace
        from nbtools.tools.commands.terminal import TerminalOpenTool
        from nbtools.tools.commands.terminal_run import TerminalRunTool
        async def main():
            workspace = Workspace(".")
            await TerminalOpenTool(workspace).build({}).execute()
            await TerminalRunTool(workspace).build({"id": "1", "command": "setsid sleep 300 & echo $$ $! > pids"}).execute()
        asyncio.run(main())
    """
    argv = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 2
    assert not [
        pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    ]
