"""Here-documents given to interpreters are shown as code, and what is shown is what the program gets."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nbtools.cards.card_model import CodeBlock, CommandBlock
from nbtools.cards.command_block import command_blocks
from nbtools.cards.here_documents import HereDocument, here_documents, without
from nbtools.cards.highlighting import text_of
from nbtools.shell import analyse, parse_shell
from nbtools.shell.reader import parse_strictly

SHELLS = [shell for shell in ("bash", "dash") if shutil.which(shell)]


def documents(command: str) -> tuple[HereDocument, ...]:
    parsed, strictly = parse_shell(command), parse_strictly(command)
    return here_documents(
        parsed if strictly.problem else replace(parsed, commands=strictly.commands), analyse(command)
    )


def code(command: str) -> list[CodeBlock]:
    return [block for block in command_blocks(command) if isinstance(block, CodeBlock)]


def part_texts(command: str) -> list[str]:
    """The parts of the command as the card shows them, without the warnings above."""
    (block,) = (block for block in command_blocks(command) if isinstance(block, CommandBlock))
    return [f"{part.operator}{text_of(part.spans)}" for part in block.parts if part.spans]


@pytest.mark.parametrize(
    ("command", "language", "program"),
    [
        ("python - <<'EOF'", "python", "python"),
        ("python3 <<EOF", "python", "python3"),
        ("python3 -u - one two <<'EOF'", "python", "python3"),
        ("/usr/bin/python3 - <<'EOF'", "python", "python3"),
        ("cd src && PYTHONPATH=. python - <<'EOF' 2>&1 | tail -3", "python", "python"),
        ("timeout 5 python - <<'EOF'", "python", "python"),
        ("env A=1 python - <<'EOF'", "python", "python"),
        ("uv run python - <<'EOF'", "python", "python"),
        ("cat <<'EOF' | python -", "python", "python"),
        ("python - <<-'EOF'", "python", "python"),
        ("python - <<'END.of-IT'", "python", "python"),
        ("ipython <<'EOF'", "python", "ipython"),
        ("node - <<'EOF'", "javascript", "node"),
        ("node <<'EOF'", "javascript", "node"),
        ("tsx - <<'EOF'", "typescript", "tsx"),
        ("ruby <<'EOF'", "ruby", "ruby"),
        ("perl - <<'EOF'", "perl", "perl"),
        ("php <<'EOF'", "php", "php"),
        ("lua - <<'EOF'", "lua", "lua"),
        ("Rscript - <<'EOF'", "r", "Rscript"),
        ("psql -d shop <<'EOF'", "sql", "psql"),
        ("mysql shop <<'EOF'", "sql", "mysql"),
        ("sqlite3 shop.db <<'EOF'", "sql", "sqlite3"),
        ("bash -s <<'EOF'", "bash", "bash"),
        ("sh <<'EOF'", "bash", "sh"),
        ("ssh host bash -s <<'EOF'", "bash", "bash"),
    ],
)
def test_code_of_an_interpreter_is_a_block_of_its_language(command: str, language: str, program: str) -> None:
    delimiter = command.partition("<<")[2].lstrip("-").split()[0].strip("'")
    (found,) = documents(f"{command}\nprint 1\n{delimiter}\n")
    assert (found.language, found.program, found.text) == (language, program, "print 1\n")


@pytest.mark.parametrize(
    "command",
    [
        "frobnicate - <<'EOF'\nprint(1)\nEOF",  # an unknown program
        "./python - <<'EOF'\nprint(1)\nEOF",
        "python script.py <<'EOF'\nprint(1)\nEOF",  # data for the script
        "python -c 'x' <<'EOF'\nprint(1)\nEOF",
        "node -e 'x' <<'EOF'\nprint(1)\nEOF",
        "psql -c 'select 1' <<'EOF'\nprint(1)\nEOF",
        "sqlite3 a.db 'select 1' <<'EOF'\nprint(1)\nEOF",
        "grep x <<'EOF'\nprint(1)\nEOF",
        "xargs python - <<'EOF'\nprint(1)\nEOF",  # the words come from it, not the code
        "python - <<'EOF' < file\nprint(1)\nEOF",  # the last redirect counts
        "python - 3<<'EOF'\nprint(1)\nEOF",
        "python - <<'A' <<'B'\nprint(1)\nA\nprint(2)\nB",
        "python - <<< 'print(1)'",
        "python - <<EOF\nprint($(cat x))\nEOF",  # shells differ on a substitution that contains the delimiter
        "python - <<EOF\nprint(`cat x`)\nEOF",
        "python - <<EOF\nprint(1)\\\nEOF\nEOF",
        "python - <<EOF\n${x:-\nEOF\n}\nEOF",
        'python - <<E"O"F\nprint(1)\nEOF',
        "python - <<'E F'\nprint(1)\nE F",
        "python - <<$'EOF'\nprint(1)\nEOF",
        "python - <<'EOF'\nprint(1)",  # no end
    ],
)
def test_text_that_is_not_certainly_code_stays_in_the_command(command: str) -> None:
    assert code(command) == []
    assert any("".join(command.split()) in "".join(part.split()) for part in part_texts(command))


def test_the_command_and_its_code_are_shown_once() -> None:
    command = "cd src && timeout 5 python - <<'EOF' | tail -3\nimport sys\n\nprint('é')\nEOF\necho done\n"
    assert part_texts(command) == [
        "cd src",
        "&&timeout 5 python - <<'EOF'",
        "↳python -",
        "|tail -3",
        ";echo done",
    ]
    (block,) = code(command)
    assert [text_of(line) for line in block.lines] == ["import sys", "", "print('é')"]
    assert ("import ", "k") in block.lines[0]
    assert (block.title, block.path, block.more) == ("python runs", "", "")


def test_several_here_documents_are_several_blocks() -> None:
    command = "python - <<'A' && node - <<'B'\nprint(1)\nA\nconsole.log(1)\nB\nls"
    assert part_texts(command) == ["python - <<'A'", "&&node - <<'B'", ";ls"]
    assert [(block.title, text_of(block.lines[0])) for block in code(command)] == [
        ("python runs", "print(1)"),
        ("node runs", "console.log(1)"),
    ]


def test_started_programs_are_only_those_of_a_shell() -> None:
    started = "import sys\nrm -rf x\nos.system('ls')\n"
    assert [act.text for act in analyse(f"python - <<'EOF'\n{started}EOF\n").commands] == ["python - <<'EOF'"]
    assert ["rm", "-rf", "x"] in [
        list(act.words) for act in analyse("bash <<'EOF'\nrm -rf x\nEOF\n").commands
    ]


def test_code_in_which_the_shell_expands_something_says_so() -> None:
    (block,) = code("python - <<EOF\nprint('$HOME', '${USER}')\nEOF\n")
    assert "shell" in block.more
    assert analyse("python - <<EOF\nprint('$HOME')\nEOF\n").unverified


def test_a_file_that_is_written_is_shown_by_its_name() -> None:
    (block,) = code("cat > src/a.py <<'EOF'\nimport os\nEOF\n")
    assert block.title == "src/a.py gets"
    assert ("import ", "k") in block.lines[0]


def test_hidden_characters_and_long_lines_of_code_are_shown() -> None:
    (block,) = code(f"python - <<'EOF'\nx = '\u202e'\n{'y' * 5000}\nEOF\n")
    assert ("‹U+202E›", "s hidden") in block.lines[0]
    assert text_of(block.lines[1]) == "y" * 5000


BODY = st.lists(
    st.sampled_from(
        [
            "print(1)",
            "EOF ",
            " EOF",
            "\tEOF",
            "EOF'",
            "'",
            '"',
            "#",
            "x\\n",
            "$A",
            "",
            "(",
            "\tx",
            "EOFx",
            "\\",
        ]
    ),
    max_size=6,
)


@given(
    st.sampled_from(["<<EOF", "<<'EOF'", '<<"EOF"', "<<-EOF", "<<-'EOF'", "<<\\EOF"]),
    BODY,
    st.sampled_from(["", " 2>&1", " && true", "; true"]),
)
@example("<<EOF", ["x\\"], "")
@settings(deadline=None, max_examples=40)
def test_the_code_shown_is_what_the_shell_passes_on(operator: str, lines: list[str], after: str) -> None:
    body = "".join(f"{line}\n" for line in lines)
    command = f"python - {operator}{after}\n{body}EOF\necho end\n"
    found = documents(command)
    assert without(command, found) + "".join(one.text for one in found) != ""
    restored, at = "", 0
    for one in found:
        restored += command[at : one.begin] + command[one.begin : one.end]
        at = one.end
    assert restored + command[at:] == command
    for shell in SHELLS if found and not found[0].expands else ():
        run = subprocess.run(
            [shell, "-c", f"python() {{ cat; }}\n{command}"],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert run.stdout == f"{found[0].text}end\n"
