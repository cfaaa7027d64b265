"""Some calls need approval in every mode, whatever the rules allow."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

import nbtools.core.protected_files
from nbtools.core.protected_files import protected_files
from nbtools.core.tool import Kind
from nbtools.policy.decide import Policy, PolicyEngine
from nbtools.policy.grants import can_be_allowed
from nbtools.policy.path_rules import PathContext
from tests.policy.some_tools import EDIT, SHELL, AnyTool

GROUNDS = PathContext("/home/me/work", ("/home/me",), ("/var/nbtools", "/var/settings"))
DELETE, MOVE, WRITE, READ = (
    AnyTool(kind.value, kind) for kind in (Kind.DELETE, Kind.MOVE, Kind.EDIT, Kind.READ)
)
MINE = AnyTool("mine", Kind.OTHER)

PROTECTED = [
    ".git/config",
    "sub/.git/hooks/pre-commit",
    ".git",
    ".GIT/config",
    ".bashrc",
    "/home/me/.zshrc",
    "~/.profile",
    ".vscode/settings.json",
    ".claude/settings.json",
    ".nbtools/policy.toml",
    ".mcp.json",
    "~/.claude.json",
    ".envrc",
    ".npmrc",
    ".husky/pre-commit",
    ".devcontainer/devcontainer.json",
    ".ipython/profile_default/startup/00.py",
    "~/.config/nbtools/policy.toml",
    "~/.local/state/nbtools/x/journal.sqlite",
    "/var/nbtools/trusted.toml",
    "/var/settings/policy.toml",
    "venv/lib/python3.11/site-packages/x.pth",
    "site/sitecustomize.py",
    *(
        ".devcontainer.json",
        "rust-toolchain",
        "rust-toolchain.toml",
        ".tool-versions",
        "mise.toml",
        ".mise.toml",
        ".zed/tasks.json",
    ),
    *(
        ".windsurf/mcp.json",
        ".roo/mcp.json",
        ".kiro/hooks/a",
        "opencode.json",
        ".opencode/plugin/a.js",
        ".aider.conf.yml",
        "lefthook.yml",
    ),
    *(
        ".nvim.lua",
        ".dir-locals.el",
        ".lintstagedrc.json",
        ".gitpod.yml",
        "bunfig.toml",
        ".pnp.cjs",
        "pyvenv.cfg",
        ".lessfilter",
    ),
    *(
        ".bundle/config",
        ".m2/settings.xml",
        "sub/.Rprofile",
        "~/.config/environment.d/a.conf",
        "gradle/wrapper/gradle-wrapper.properties",
    ),
    *(
        ".qwen/settings.json",
        ".crush.json",
        ".overcommit.yml",
        "a.sublime-project",
        ".irbrc",
        ".sqliterc",
        ".mailcap",
    ),
]
OPEN = [
    ".gitignore",
    "Makefile",
    "package.json",
    "conftest.py",
    ".editorconfig",
    ".github/workflows/ci.yml",
    "git/config",
    "bashrc",
    ".nbtools/memory.md",
    "~/.config/nbtools/memory.md",
    "a.git",
]


def action(policy: Policy, tool: AnyTool, **params: object) -> str:
    return PolicyEngine(policy, grounds=GROUNDS).decide(tool, tool.build(params)).action


@pytest.mark.parametrize("path", PROTECTED)
@pytest.mark.parametrize("tool", [EDIT, WRITE, DELETE, MOVE, MINE], ids=lambda tool: tool.kind.value)
def test_protected_paths_need_approval_whatever_the_rules_allow(path: str, tool: AnyTool) -> None:
    for mode in ("default", "auto_edit", "yolo"):
        assert action(Policy(mode, allow=("*", "edit(**)", "edit(//**)")), tool, paths=["a", path]) == "ask"
    assert action(Policy("dont_ask", allow=("*",)), tool, paths=[path]) == "deny"
    assert action(Policy("plan", allow=("*",)), tool, paths=[path]) == "deny"
    assert action(Policy("yolo", deny=("*",)), tool, paths=[path]) == "deny"
    assert action(Policy(), READ, paths=[path]) == "allow"


def test_the_list_of_protected_files_is_data_with_each_name_once_and_in_lower_case() -> None:
    tables = tomllib.loads(
        Path(nbtools.core.protected_files.__file__).with_suffix(".toml").read_text("utf-8")
    )
    for key, groups in tables.items():
        names = [name for text in groups.values() for name in text.split()]
        assert len(names) == len(set(names)), key
        assert key == "in_git" or all(name == name.casefold() for name in names), key
    assert len(protected_files().names) > 180


@pytest.mark.parametrize("path", OPEN)
def test_others_are_not(path: str) -> None:
    assert action(Policy("yolo"), EDIT, paths=[path]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "echo x > .git/config",
        "echo x >> ~/.bashrc",
        "echo x | tee .envrc",
        "cp evil .git/hooks/pre-commit",
        "cd .. && echo x > ~/.zshrc",
        "echo x > $HOME/.bashrc",
        "echo x > .g*/config",
        "bash -c 'echo x > .npmrc'",
        "sed -i s/a/b/ .vscode/settings.json",
        "rm -r .git",
    ],
)
def test_commands_that_write_protected_paths_need_approval_in_every_mode(command: str) -> None:
    for policy in (Policy("yolo"), Policy(allow=("shell", "edit", "edit(**)")), Policy(allow=("*",))):
        decision = PolicyEngine(policy, grounds=GROUNDS).decide(SHELL, SHELL.build({"command": command}))
        assert decision.action == "ask", decision
        assert not can_be_allowed(decision)
    assert action(Policy("dont_ask", allow=("*",)), SHELL, command=command) == "deny"


@pytest.mark.parametrize(
    "command",
    ["rm -rf /", "rm -rf ~", "rm -rf .", "echo $(rm -rf /)", "bash -c 'rm -rf /'", "sudo rm -rf /etc"],
)
def test_critical_removals_need_approval_in_every_mode(command: str) -> None:
    for policy in (Policy("yolo"), Policy(allow=("*",)), Policy(allow=(f"shell({command})",))):
        assert action(policy, SHELL, command=command) == "ask"


@pytest.mark.parametrize("path", [".", "/", "/home", "/home/me", "/etc", "~"])
def test_the_removal_of_essential_folders_needs_approval_in_every_mode(path: str) -> None:
    assert action(Policy("yolo", allow=("*",)), DELETE, paths=[path]) == "ask"
    assert action(Policy("yolo"), DELETE, paths=["src"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "rm -r 'open",
        "ls; rm x; if",
        "[[ -d x ]] && rm -r x",
        "x=(); $'r\\x6d' x",
        "echo a\u202eb",
        "ls \x1b[2K",
    ],
)
def test_lines_that_are_not_understood_need_approval_in_every_mode(command: str) -> None:
    """In ``yolo``, where it may remove something; where it asks at all, in any case."""
    for policy in (Policy("yolo"), Policy(allow=("*",))):
        assert action(policy, SHELL, command=command) == "ask"
    assert action(Policy(deny=("shell(ls:*)",)), SHELL, command="ls x; echo 'open") in ("deny", "ask")
    assert action(Policy("yolo"), SHELL, command="ls; [[ -d x ]]") == "allow"
    assert action(Policy(allow=("shell(ls:*)", "shell([[:*)")), SHELL, command="ls; [[ -d x ]]") == "ask"


def test_edits_run_unasked_in_the_workspace_only() -> None:
    judge = PolicyEngine(Policy("auto_edit"), grounds=GROUNDS)
    decision = judge.decide(EDIT, EDIT.build({"paths": ["~/.config/nbtools/memory.md"]}))
    assert (decision.action, decision.rule) == ("ask", "edits outside the workspace need approval")
    assert action(Policy("auto_edit"), EDIT, paths=["/etc/hosts"]) == "ask"
    assert action(Policy("auto_edit"), EDIT, paths=["/home/me/work/a"]) == "allow"
    assert action(Policy("auto_edit", allow=("edit",)), EDIT, paths=["/etc/hosts"]) == "allow"
    assert action(Policy("auto_edit"), SHELL, command="echo x > a") == "ask"
