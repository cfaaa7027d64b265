"""The environment of commands: which variables they get, and which they do not."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from nbtools.core.confirmation import Answer, ToolConfirmationOutcome
from nbtools.core.decision import Action
from nbtools.core.result import CommandOutput, ToolResult
from nbtools.core.secret_variables import is_secret
from nbtools.core.settings import Settings
from nbtools.policy.layers import Policy
from nbtools.policy.modes import Mode
from nbtools.session import Session
from nbtools.testing import ScriptedConfirmer
from nbtools.workspace.processes.environment import environment, program_folders

SECRET = [
    ("GITHUB_TOKEN", "abc"),
    ("OPENAI_API_KEY", "whatever1"),
    ("AWS_SECRET_ACCESS_KEY", "whatever1"),
    ("AWS_SESSION_TOKEN", "whatever1"),
    ("PGPASSWORD", "postgres"),
    ("MYSQL_PWD", "x"),
    ("DB_PASS", "hunter2"),
    ("SMTP_PASSWORD", "1234"),
    ("dbPassword", "x"),
    ("SENTRY_DSN", "https://abc@sentry.io/1"),
    ("NPM_AUTH", "Zm9v"),
    ("JUPYTERHUB_API_TOKEN", "abc"),
    ("GOOGLE_APPLICATION_CREDENTIALS", "/etc/passwd"),
    ("SIGNING_PRIVATE_KEY", "abc"),
    ("APP_COOKIE", "abc"),
    ("DATABASE_URL", "postgres://me:pw@host/db"),
    ("PIP_INDEX_URL", "https://me:pw@host/simple"),
    ("AZURE_DEVOPS_EXT_PAT", "abc"),
    ("DB_PWD", "hunter2"),
    ("MINIO_SECRETKEY", "abc"),
    ("AZURE_STORAGE_CONNECTION_STRING", "AccountName=a;AccountKey=b"),
    ("ANYTHING", "gh" + "p_" + "a1" * 18),
    ("SSH_KEY", "-----BEGIN OPENSSH " + "PRIVATE KEY-----\nabc"),
]
PLAIN = [
    ("PATH", "/bin:/usr/bin"),
    ("PWD", "/tmp"),
    ("OLDPWD", "/tmp"),
    ("KEYMAP", "us"),
    ("SSH_AUTH_SOCK", "/tmp/ssh-x/agent.1"),
    ("XAUTHORITY", "/root/.Xauthority"),
    ("XDG_SESSION_TYPE", "wayland"),
    ("DBUS_SESSION_BUS_ADDRESS", "unix:path=/run/user/0/bus"),
    ("TERM_SESSION_ID", "w0t0p0:1"),
    ("TOKENIZERS_PARALLELISM", "false"),
    ("MAX_TOKENS", "4096"),
    ("DISABLE_AUTH", "true"),
    ("SSL_CERT_FILE", "/etc/passwd"),
    ("GPG_KEY", "A035C8C19219BA821ECEA86B64E628F8D684696D"),
    ("GIT_CONFIG_KEY_7", "user.name"),
    ("GIT_AUTHOR_NAME", "Ann"),
    ("STRIPE_PUBLISHABLE_KEY", "x"),
    ("LD_PRELOAD", "/lib/x.so"),
    ("AUTHOR", "Ann"),
    ("API_TOKEN", ""),
    ("HTTP_PROXY", "http://proxy:8080"),
]


def test_a_value_that_no_path_can_have_is_a_secret_and_no_error(tmp_path: Path) -> None:
    """A value of a few thousand characters is longer than a path may be; one below a file is no path."""
    file = tmp_path / "file"
    file.write_text("")
    for value in ("x" * 5_000, f"{file}/below"):
        assert is_secret("SIGNING_CERT", value)


@pytest.mark.parametrize(("name", "value"), SECRET)
def test_looks_like_a_secret(name: str, value: str) -> None:
    assert is_secret(name, value)
    assert name not in environment({name: value}, secrets=False)
    assert environment({name: value})[name] == value


@pytest.mark.parametrize(("name", "value"), PLAIN)
def test_looks_like_none(name: str, value: str) -> None:
    assert not is_secret(name, value)
    assert environment({name: value}, secrets=False)[name].endswith(value)


class Listener:
    """Returns the displays while a call ran, and at its end."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def notice(self, event: Any) -> None:
        self.seen.append(event)


VALUE = "v4lue-that-nobody-sees"


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", VALUE)


async def shell(session: Session, command: str, name: str = "shell") -> ToolResult:
    return await session.call(name, {"command": command})


def allowed(folder: Path, **settings: Any) -> Session:
    session = Session(folder, settings=Settings(**settings), confirmer=ScriptedConfirmer())
    session.allow("shell")
    session.allow("terminal_open")
    session.allow("terminal_run")
    return session


async def test_commands_and_terminals_go_without_it_and_a_failure_says_so_once(
    tmp_path: Path, secret: None
) -> None:
    async with allowed(tmp_path) as session:
        first = await shell(session, 'test -n "$SOME_API_KEY" || { echo "no api key"; exit 1; }')
        assert "SOME_API_KEY" in str(first.llm_content)
        assert VALUE not in str(first.llm_content)
        again = await shell(session, 'echo "no api key"; exit 1')
        assert "SOME_API_KEY" not in str(again.llm_content)
        await session.call("terminal_open", {"name": "t"})
        typed = await session.call("terminal_run", {"id": "t", "command": 'echo "<${SOME_API_KEY-unset}>"'})
        assert "<unset>" in str(typed.llm_content)


async def test_with_the_setting_they_have_it_and_it_is_taken_out_of_what_they_print(
    tmp_path: Path, secret: None
) -> None:
    async with allowed(tmp_path, secrets=True) as session:
        listener = Listener()
        session.observe(listener)
        printed = await shell(session, "echo $SOME_API_KEY; sleep 0.3; echo ${#SOME_API_KEY}")
        assert str(printed.llm_content).splitlines() == ["[redacted: value of SOME_API_KEY]", str(len(VALUE))]
        shown = [
            event.display
            for event in listener.seen
            if isinstance(getattr(event, "display", None), CommandOutput)
        ]
        assert shown
        assert all(VALUE not in one.text for one in shown)
        assert VALUE in printed.data.text
        history = session.history[-1].result
        assert VALUE not in repr((history.llm_content, history.return_display, history.summary))
        session.settings = Settings(secrets=True, redact=False)
        assert VALUE in str((await shell(session, "echo $SOME_API_KEY")).llm_content)


@pytest.mark.parametrize(
    ("dialect", "name"),
    [
        ("claude", "Bash"),
        ("gemini", "run_shell_command"),
        ("void", "run_command"),
        ("codex", "shell_command"),
    ],
)
async def test_in_every_accent(tmp_path: Path, secret: None, dialect: str, name: str) -> None:
    async with allowed(tmp_path, secrets=True) as session:
        session.dialect = dialect
        printed = await shell(session, "echo $SOME_API_KEY", name)
        assert printed.ok, printed
        assert VALUE not in repr((printed.llm_content, printed.return_display))


async def test_failures_are_clean_too(tmp_path: Path, secret: None) -> None:
    async with Session(tmp_path) as session:
        missing = await session.call("read", {"path": f"{VALUE}.txt"})
        assert missing.error is not None
        assert VALUE not in repr(missing)


def test_nothing_of_this_is_slow(tmp_path: Path) -> None:
    """Variables are looked at once."""
    is_secret.cache_clear()
    outer = {f"NAME_{number}": sys.version for number in range(100)}
    environment(outer, secrets=False)
    environment(outer, secrets=False)
    assert is_secret.cache_info().hits >= 100


async def test_python_is_that_of_the_notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.pathsep.join(["bin", "/usr/bin", "/bin"]))
    async with Session(
        tmp_path, confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ONCE))
    ) as session:
        result = await session.call("shell", {"command": "python -c 'import sys; print(sys.prefix)'"})
    assert str(result.llm_content).split() == [sys.prefix]
    own = str(Path(sys.executable).parent)
    assert program_folders({"PATH": f"bin:/usr/bin:{own}"}) == ["/usr/bin", own]


async def test_the_programs_of_an_environment_in_the_workspace_are_protected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's own Python need not be on ``PATH``."""
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    monkeypatch.setattr(sys, "executable", str(python))
    async with Session(tmp_path, policy=Policy(mode=Mode.AUTO_EDIT)) as session:
        assert session.decide("write", {"path": ".venv/bin/ls", "content": "touch mark"}).action is Action.ASK


@pytest.mark.parametrize(("count", "added"), [("", "0"), ("0", "0"), ("2", "2")])
def test_git_gets_one_more_setting(count: str, added: str) -> None:
    made = environment(
        {"GIT_CONFIG_COUNT": count, "GIT_CONFIG_KEY_1": "user.name", "GIT_CONFIG_VALUE_1": "Ann"}
    )
    assert (made["GIT_CONFIG_COUNT"], made[f"GIT_CONFIG_KEY_{added}"]) == (
        str(int(added) + 1),
        "safe.bareRepository",
    )
    assert (made["GIT_CONFIG_KEY_1"], made["GIT_CONFIG_VALUE_1"]) == ("user.name", "Ann")
    assert environment({"GIT_CONFIG_COUNT": "x"})["GIT_CONFIG_COUNT"] == "x"


async def test_git_runs_no_program_of_a_folder_that_only_looks_like_a_repository(tmp_path: Path) -> None:
    fake = tmp_path / "docs"
    for folder in (fake / "objects", fake / "refs"):
        folder.mkdir(parents=True)
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "config").write_text(
        '[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = "touch mark; false"\n'
    )
    async with Session(
        tmp_path, confirmer=ScriptedConfirmer(Answer(ToolConfirmationOutcome.PROCEED_ONCE))
    ) as session:
        result = await session.call("shell", {"command": "git status", "path": "docs"})
        assert result.ok
        assert result.data.exit_code == 128
        assert not [*tmp_path.rglob("mark")]
