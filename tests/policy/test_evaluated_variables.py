"""Variables that bash evaluates as code are judged by their value,
and variables that protect are not removed without a question.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.workspace.processes.environment import environment

EVALUATED = (
    "PS4='$(rm -rf ~)'; set -x; ls",
    "PS4='$(rm -rf ~)' bash -xc ls",
    "export PS4='$(rm -rf ~)'; set -x; ls",
    "env PS4='$(rm -rf ~)' bash -xc ls",
    "BASH_ENV='$(rm -rf ~)' bash -c ls",
    "export BASH_ENV='$(rm -rf ~)'; bash -c ls",
    "printf -v PS4 '$(r%s -rf ~)' m; set -x; ls",
    "for PS4 in '$(rm -rf ~)'; do set -x; ls; done",
    "read -r PS4 < script; set -x; ls",
    "mapfile -t PS4 < script; set -x; ls",
    "PS4=$(cat script); set -x; ls",
    'PS4="\\$(rm -rf ~)"; set -x; ls',
    "bash +O extglob -c 'rm -rf ~'",
    "bash -O extglob -c 'rm -rf ~'",
    "bash +o posix +O extglob -e -c 'rm -rf ~'",
    "bash --rcfile script -c 'rm -rf ~'",
)
"""Each of them runs ``rm -rf ~``."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/script").write_text("$(rm -rf ~)\n", encoding="utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/rm").write_text('#!/bin/sh\necho "$@" >> "$LOG"\n', encoding="utf-8")
    (tmp_path / "bin/rm").chmod(0o755)
    return tmp_path / "ws"


@pytest.mark.parametrize("line", EVALUATED)
def test_code_in_a_variable_is_guarded_like_code_in_the_line(root: Path, line: str) -> None:
    """The line is run with a stand-in for ``rm``, which shows that it would delete the home folder."""
    log, home = root.parent / "log", root.parent / "home"
    env = {"PATH": f"{root.parent}/bin:{os.environ['PATH']}", "HOME": str(home), "LOG": str(log)}
    subprocess.run(
        ["bash", "-c", line],
        cwd=root,
        env=env,
        capture_output=True,
        check=False,
        timeout=60,
        stdin=subprocess.DEVNULL,
    )
    if os.geteuid() or "bash -xc" not in line:  # bash takes no PS4 from root's environment
        assert str(home) in log.read_text(encoding="utf-8")
    assert Session(root, policy=Policy(mode="yolo")).decide("shell", {"command": line}).action == "ask"
    denied = Session(root, policy=Policy(mode="yolo", deny=["shell(rm:*)"])).decide(
        "shell", {"command": line}
    )
    assert denied.action in ("ask", "deny")
    allowed = Session(
        root,
        policy=Policy(allow=["shell(ls:*)", "shell(bash:*)", "shell(env:*)", "shell(cat:*)", "shell(set:*)"]),
    )
    assert allowed.decide("shell", {"command": line}).action == "ask"


@pytest.mark.parametrize(
    "line",
    [
        "PS4='+ '; set -x; ls",
        "PS4='+(${BASH_SOURCE}:${LINENO}): '; set -x; ls",
        "echo $PS1",
        "grep -rn PS4= .",
        "set -x; ls",
    ],
)
def test_prompts_without_code_run_in_yolo(root: Path, line: str) -> None:
    assert Session(root, policy=Policy(mode="yolo")).decide("shell", {"command": line}).action == "allow"


GIT = Policy(
    allow=[
        "shell(git:*)",
        "shell(env:*)",
        "shell(exec:*)",
        "shell(ls:*)",
        "shell(bash:*)",
        "shell(env -i git status)",
    ]
)


@pytest.mark.parametrize(
    "before",
    [
        *(
            "env -u GIT_CONFIG_COUNT",
            "env -uGIT_PAGER",
            "env --unset=PAGER",
            "env --unset PATH",
            "env -i",
            "env -iu X",
            "env -vi",
            "env -",
        ),
        *(
            "env --ignore-environment",
            "env --ignore-env",
            "env -u A -u GIT_PAGER",
            "env A=1 env -i",
            "env -i env",
            "exec -c",
        ),
        *("nice env -i", "unset PAGER;", "env -i bash -c"),
    ],
)
def test_a_program_without_the_variables_that_protect_it_asks(root: Path, before: str) -> None:
    assert Session(root, policy=GIT).decide("shell", {"command": f"{before} git log"}).action == "ask"


@pytest.mark.parametrize(
    "line",
    ["env git log", "env -u DEBUG git log", "env -u VIRTUAL_ENV git log", "env -i git status", "env -i ls"],
)
def test_variables_that_protect_nothing_may_be_removed(root: Path, line: str) -> None:
    assert Session(root, policy=GIT).decide("shell", {"command": line}).action == "allow"


@pytest.mark.parametrize(
    "line",
    ["bash -O nullglob -c 'git log'", "bash -eO globstar -c 'git log'", "bash +O nocasematch -c 'git log'"],
)
def test_settings_that_change_no_text_hide_no_script(root: Path, line: str) -> None:
    assert Session(root, policy=GIT).decide("shell", {"command": line}).action == "allow"
    denied = Session(root, policy=Policy(mode="yolo", deny=["shell(git log:*)"]))
    assert denied.decide("shell", {"command": line}).action == "deny"


@pytest.mark.parametrize(
    ("outer", "changed"),
    [
        ({}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LANG": "zh_CN.GBK"}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LANG": "zh_TW"}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LC_ALL": "ja_JP.SJIS", "LANG": "C.UTF-8"}, {"LC_ALL": "C.UTF-8"}),
        ({"LC_ALL": "", "LC_CTYPE": "ja_JP.SJIS"}, {"LC_CTYPE": "C.UTF-8"}),
        ({"LC_ALL": "de_DE.UTF-8", "LANG": "zh_CN.GBK"}, {}),
        ({"LANG": "de_DE.utf8@euro"}, {}),
        ({"LC_ALL": "C"}, {}),
        ({"LANG": "POSIX"}, {}),
    ],
)
def test_commands_run_in_utf_8_or_ascii(
    outer: dict[str, str], changed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    result = environment(outer)
    assert {name: result[name] for name in names if name in result} == {**outer, **changed}


async def test_commands_and_terminals_see_utf_8(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.GBK")
    async with Session(root, policy=Policy(mode="yolo")) as session:
        shell = await session.call("shell", {"command": "locale charmap"})
        assert "UTF-8" in str(shell.llm_content)
        opened = await session.call("terminal_open", {})
        assert opened.ok, opened.error
        typed = await session.call(
            "terminal_run", {"id": opened.data.id, "command": "locale charmap", "wait": 30}
        )
        assert "UTF-8" in str(typed.llm_content)
