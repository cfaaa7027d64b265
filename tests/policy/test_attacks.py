"""Command lines that attempt more than their rules allow, and everyday ones that need no approval."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from nbtools import Policy, Session
from nbtools.testing import temporary_workspace
from tests.command_lines import CommandLine, command_lines, lines_of, policy, read_lines

ATTACKS = Path(__file__).with_name("attacks.toml")
EVERYDAY = Path(__file__).with_name("everyday.toml")
INNOCENT = Path(__file__).with_name("innocent.toml")


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    # a patch is read before the decision
    patch = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# Cart\n+# Carts\n"
    with temporary_workspace(
        {"src/cart.py": "x\n", "README.md": "# Cart\n", "secrets/key": "k\n", "x.patch": patch}
    ) as root:
        yield Session(root)


def decided(session: Session, rules: Policy, command: str) -> tuple[str, str]:
    if rules != session.policy:  # a policy of hundreds of rules is compiled each time it is set
        session.policy = rules
    decision = session.decide("shell", {"command": command})
    return decision.action, decision.reason


@pytest.mark.parametrize("line", [*command_lines(ATTACKS), *command_lines(INNOCENT)])
def test_each_attack_and_each_innocent_line_gets_its_decision(session: Session, line: CommandLine) -> None:
    action, reason = decided(session, line.policy, line.command)
    assert action in line.expected.split(" or "), (reason, understood(line.command))


@pytest.mark.parametrize("command", lines_of(INNOCENT, "shell differences"))
def test_a_line_that_is_not_understood_is_allowed_only_by_a_rule_with_its_text(
    session: Session, command: str
) -> None:
    exact = Policy(allow=(f"shell({command})",))
    assert decided(session, exact, command)[0] == "allow", understood(command)
    assert decided(session, exact, f"{command}; true")[0] == "ask"


@pytest.mark.parametrize(
    ("rule", "command"),
    [
        ("npx tsc:*", "npx -p evil tsc"),
        ("npx -y:*", "npx -y evil"),
        ("npx:*", "npx tsc"),
        ("docker ps:*", "docker -c evil ps"),
        ("docker run:*", "docker run -v /:/h x"),
        ("docker compose run:*", "docker compose run x sh"),
        ("docker compose:*", "docker compose up"),
        ("kubectl exec:*", "kubectl exec p -- sh"),
        ("kubectl get:*", "kubectl get pods --kubeconfig=evil"),
        ("uv run:*", "uv run pytest"),
        ("uv run pytest:*", "uv run python x.py"),
        ("uv run pytest:*", "uv run --with evil pytest"),
        ("uv run python:*", "uv run python -c 'import os'"),
        ("uv run pytest:*", "uv run pytest --basetemp=src"),
        ("uv run *:*", "uv run rm x"),
        ("npm exec:*", "npm exec tsc"),
        ("npm exec tsc:*", "npm exec -p evil tsc"),
        ("poetry run * -q", "poetry run rm -q"),
    ],
)
def test_a_rule_for_one_command_allows_no_other_command(session: Session, rule: str, command: str) -> None:
    assert decided(session, Policy(allow=(f"shell({rule})",)), command)[0] == "ask", understood(command)


@pytest.fixture(scope="module")
def project() -> Iterator[Session]:
    """A session in a workspace with the folders that the everyday lines name."""
    folders = (
        "src",
        "tests",
        "docs",
        "build",
        "notes",
        "data/out",
        "templates/base",
        "config",
        "notebooks",
        "frontend",
    )
    with temporary_workspace({f"{folder}/a.txt": "x\n" for folder in folders}) as root:
        yield Session(root)


@pytest.mark.parametrize("line", command_lines(EVERYDAY))
def test_each_everyday_line_gets_its_decision(project: Session, line: CommandLine) -> None:
    action, reason = decided(project, line.policy, line.command)
    assert action in line.expected.split(" or "), (reason, understood(line.command))


def test_the_files_hold_the_documented_numbers_of_lines() -> None:
    attacks = [
        line
        for group in read_lines(ATTACKS)["groups"]
        if "allow" not in group["decisions"].values()
        for line in group["lines"]
    ]
    everyday = [
        line
        for group in read_lines(EVERYDAY)["groups"]
        if "allow" in group["decisions"].values()
        for line in group["lines"]
    ]
    asked = [
        line
        for group in read_lines(EVERYDAY)["groups"]
        if "ask" in group["decisions"].values()
        for line in group["lines"]
    ]
    rules = policy(EVERYDAY, "everyday").allow
    assert len(set(attacks)) >= 1_500
    assert len(rules) == len(set(rules)) == 85
    assert len(everyday) == len(set(everyday)) >= 300
    assert len(everyday) >= 0.9 * (len(everyday) + len(asked))
    assert len(lines_of(INNOCENT, "innocent")) >= 139


def understood(command: str) -> object:
    from nbtools.shell import analyse

    return analyse(command)
