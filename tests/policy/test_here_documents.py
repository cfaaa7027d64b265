"""A here-document given to an interpreter follows the policy for the interpreter with its program on standard
input.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nbtools import Policy, Session
from nbtools.testing import temporary_workspace

CODE = "import os\nos.system('rm -rf build')\nfor x in range(3): eval('x')"
INTERPRETERS = [
    "python -",
    "python3",
    "node -",
    "ruby",
    "perl -",
    "psql",
    "sqlite3 a.db",
    "timeout 5 python -",
    "uv run python -",
]
FORMS = ["<<'EOF'", "<<EOF", '<<"EOF"', "<<-'EOF'", "<<\\EOF"]


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with temporary_workspace({"secrets/key": "k\n", "a.py": "x\n"}) as root:
        yield Session(root)


def decided(session: Session, command: str, **policy: object) -> str:
    session.policy = Policy(**policy)  # type: ignore[arg-type]
    return session.decide("shell", {"command": command}).action


@pytest.mark.parametrize("interpreter", INTERPRETERS)
@pytest.mark.parametrize("form", FORMS)
def test_mode_yolo_runs_it(session: Session, interpreter: str, form: str) -> None:
    command = f"cd . && {interpreter} {form} 2>&1 | tail -5\n{CODE}\nEOF\n"
    assert decided(session, command, mode="yolo") == "allow"
    assert decided(session, command, mode="default") == "ask"
    assert decided(session, command, mode="dont_ask") == "deny"


@pytest.mark.parametrize("form", FORMS)
def test_an_open_ended_rule_does_not_cover_code(session: Session, form: str) -> None:
    rules = ("shell(python:*)", "shell(node:*)", "shell(cat:*)", "shell(bash:*)", "shell(timeout:*)")
    for interpreter in ("python -", "python", "node -", "timeout 5 python -", "cat"):
        command = f"{interpreter} {form}\n{CODE}\nEOF\n"
        assert decided(session, command, allow=rules) == ("allow" if interpreter == "cat" else "ask")


@pytest.mark.parametrize("form", FORMS)
def test_a_rule_for_the_program_on_standard_input_covers_it(session: Session, form: str) -> None:
    command = f"python - {form}\n{CODE}\nEOF\n"
    assert decided(session, command, allow=("shell(python -)",)) == "allow"
    assert decided(session, command, allow=("shell(python)", "shell(python3 -)")) == "ask"
    assert decided(session, command, allow=("shell(python -)",), deny=("shell(python:*)",)) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "python - <<EOF\n$(evil)\nEOF\n",
        "python - <<EOF\n`evil`\nEOF\n",
        "python - <<EOF\n$HOME\nEOF\n",
        "python - <<EOF\nx\\\nEOF\nEOF\nevil\n",
        "python - <<'EOF'\nEOF\nevil\n",
        "python - <<'EOF' | evil\nEOF\n",
        "python - <<'EOF'; evil\nEOF\n",
        "python - <<'EOF' > evil\nEOF\n",
        "python - <<'EOF' 3<evil >&3\nEOF\nevil",
        "python - 3<<'EOF'\nx\nEOF\n",
        "python - 3<<-'EOF'\nx\n\tEOF\nevil",
        "python - <<'A' <<'B'\nx\nA\ny\nB\nevil\n",
        'python - <<< "$(evil)"\n',
        "python - <<'EOF'x\nEOF\nevil\nEOFx\n",
        "python - <<'E'OF\nEOF\nevil\n",
        "python - <<'EOF\n'\nEOF\nevil\n",
        "python - <<$X\n$X\nevil\n",
        "python - <<-EOF\n\tEOF\nevil\n",
        "python - <<'EOF'\n EOF\nEOF\nevil\n",
        "python - <<'EOF'\n\tEOF\nEOF\nevil\n",
        "python - <<'EOF'\r\nEOF\r\nevil\nEOF\n",
        "$(python - <<'EOF'\nprint('evil')\nEOF\n)",
        "evil <<'EOF'\nEOF\n",
        "PATH=. python - <<'EOF'\nx\nEOF\n",
        "PYTHONSTARTUP=evil python - <<'EOF'\nx\nEOF\n",
        "./python - <<'EOF'\nx\nEOF\n",
        "bash <<'EOF'\nevil\nEOF\n",
        "bash <<'EOF'\npython - <<'E'\nx\nE\nevil\nEOF\n",
        "bash <<EOF\n$evil\nEOF\n",
    ],
)
def test_commands_beside_the_code_need_a_rule_of_their_own(session: Session, command: str) -> None:
    assert decided(session, command, allow=("shell(python -)", "shell(bash)")) == "ask"


@pytest.mark.parametrize("start", ["python - ", "timeout 5 python - ", "sqlite3 a.db "])
@pytest.mark.parametrize("form", [*FORMS, "<<EOF # $X"])
def test_code_that_names_a_hidden_file_is_not_run_unasked(session: Session, start: str, form: str) -> None:
    command = f"{start}{form}\nprint(open('secrets/key').read())\nEOF\n"
    assert decided(session, command, mode="yolo", deny=("read(secrets/**)",)) != "allow"
    assert decided(session, command, mode="yolo") == "allow"
