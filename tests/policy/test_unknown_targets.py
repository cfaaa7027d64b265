"""A command asks, also in ``yolo``, before it removes or writes targets that are unknown before it runs,
or reached by detours.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.testing import temporary_workspace
from tests.command_lines import CommandLine, command_lines
from tests.examples import examples

FILES = {
    "src/a.py": "x\n",
    "evil": "y\n",
    "f": "z\n",
    "list": "f\n",
    ".envrc": "e\n",
    ".git/hooks/z": "h\n",
    "home/a b": "1\n",
}
STUB = '#!/bin/sh\nfor word in "$@"; do case "$word" in -*) ;; *) realpath -m -- "$word" >> "$LOG";; esac; done\n'

LINES = Path(__file__).with_name("unknown_targets.toml")


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with temporary_workspace(FILES) as folder:
        (folder / "bin").mkdir()
        for name in ("rm", "rmdir", "unlink", "shred"):
            (folder / "bin" / name).write_text(STUB, encoding="utf-8")
            (folder / "bin" / name).chmod(0o755)
        (folder / "out").mkdir()
        (folder / "out/lb").symlink_to("../.git/hooks/z")
        (folder / "lnk").symlink_to(".git/hooks")
        yield folder


@pytest.fixture(scope="module")
def yolo(root: Path) -> Session:
    return Session(root, policy=Policy("yolo"))


@pytest.mark.parametrize("line", command_lines(LINES))
def test_each_line_with_a_target_gets_its_decision(root: Path, line: CommandLine) -> None:
    decision = Session(root, policy=line.policy).decide("shell", {"command": line.command})
    assert decision.action == line.expected, decision.reason


@pytest.mark.parametrize("line", ['rm -f "$x"', "xargs rm < list", 'echo a > "$x"'])
def test_a_rule_with_exactly_the_line_allows_an_unknown_target(root: Path, line: str) -> None:
    assert (
        Session(root, policy=Policy(allow=(f"shell({line})",))).decide("shell", {"command": line}).action
        == "allow"
    )


SETS = st.sampled_from(
    [
        *(
            "{x}={value}; {use}",
            "{x}={value} && {use}",
            "for {x} in {value}; do {use}; done",
            "for {x} in f {value}; do {use}; done",
        ),
        *(
            "if true; then {x}={value}; fi; {use}",
            "{x}=f; for i in 1 2; do {use}; {x}={value}; done",
            "{x}={value} & wait; {x}=f; {use}",
        ),
        *(
            "{x}=f; ({x}={value}; {use})",
            "{x}=f; {{ {x}={value}; }}; {use}",
            "{x}={value} | true; {use}",
            "y={value}; {x}=$y; {use}",
        ),
        *(
            "{x}=f; true && {x}={value}; {use}",
            "{x}=f; unset {x}; {use}",
            "{x}=f; {x}={value}; {use}",
            "echo {value} | while read {x}; do {use}; done",
        ),
        *(
            "{x}={value}; cd src; {use}; cd ..",
            "{x}=f; {x}={value} true; {use}",
            "export {x}={value}; {use}",
            "{x}={value}; eval '{use}'",
        ),
    ]
)
VALUES = st.sampled_from(
    [
        "~",
        "$HOME",
        '"$HOME"',
        "$PWD",
        "$(pwd)",
        ".",
        "..",
        "'a ../.'",
        "f",
        "src/a.py",
        '"$(dirname $PWD/x)"',
        "${HOME%/}",
    ]
)
USES = st.sampled_from(
    [
        *(
            'rm -rf "${x}"',
            "rm -rf ${x}",
            'rm -rf "${x}/"',
            "rm -r -- ${x}/.",
            'rm -rf f "${x}"',
            "rm -rf {name}/*",
            "rm -rf {name}/..",
        ),
        *(
            "rm -rf {default}",
            "echo ${x} | xargs rm -rf",
            "find ${x} -maxdepth 0 -exec rm -rf {{}} +",
            'rmdir "$(basename "${x}")"',
        ),
        *(
            'sh -c "rm -rf ${x}"',
            "env rm -rf ${x}",
            'rm -rf "$(dirname "${x}")"',
            "rm -rf {changed}",
            "command rm -rf ${x}",
        ),
    ]
)


@settings(max_examples=examples(200), deadline=None)
@given(sets=SETS, value=VALUES, use=USES)
def test_nothing_essential_is_removed_without_a_question(
    root: Path, yolo: Session, sets: str, value: str, use: str
) -> None:
    """The line is run with stand-ins of the programs that remove, and a home folder of its own:
    they say what they would remove.
    """
    use = use.format(x="x", name="$x", default="${x:-.}", changed="${x%/*}")
    line = sets.format(x="x", value=value, use=use)
    if yolo.decide("shell", {"command": line}).action == "allow":
        log, home = root / "log", root / "home"
        log.write_text("", encoding="utf-8")
        env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "HOME": str(home), "LOG": str(log)}
        subprocess.run(
            ["bash", "-c", line],
            cwd=root,
            env=env,
            capture_output=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
        removed = {Path(path) for path in log.read_text("utf-8").splitlines()}
        assert removed.isdisjoint({home, root, *root.parents}), line


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a-program-of-no-table --out=src/a.py", "ask"),
        ("a-program-of-no-table src", "ask"),
        ("python convert.py f src/a.py", "ask"),
        ("python src/a.py f", "allow"),
        ("a-program-of-no-table --out=build/a.py", "allow"),
        ("cat src/a.py", "allow"),
    ],
)
def test_a_file_that_may_not_be_edited_asks_where_an_unknown_program_or_script_gets_it(
    root: Path, line: str, expected: str
) -> None:
    allowed = ["shell(a-program-of-no-table:*)", "shell(python:*)", "shell(cat:*)"]
    session = Session(root, policy=Policy(allow=allowed, deny=["edit(src/**)"]))
    assert session.decide("shell", {"command": line}).action == expected
