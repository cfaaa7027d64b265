"""However a path is spelled, a rule about it holds: the spellings are tried with the real programs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.testing import temporary_workspace
from tests.examples import examples

KEY = "the text of the hidden file"
FILES = {"secrets/key": KEY, "src/a.py": "x\n", "~/x": "y\n", "...": "z\n"}
ALLOWED = tuple(f"shell({program}:*)" for program in ("cat", "cd", "ln", "pushd"))
SLASHES = st.sampled_from(["/", "//", "///", "/./", "/.//"])
STARTS = st.sampled_from(
    [
        *("", "./", "src/../", "{root}/", "/{root}/", "/../{root}/", "{up}{root}/"),
        *(
            "/proc/self/cwd/",
            "//proc/self/cwd/",
            "/proc/self/task/../cwd/",
            "/proc/thread-self/cwd/",
            "/proc/$$/cwd/",
            "/proc/./self//cwd/",
        ),
        *(
            "/proc/self/cwd/../{name}/",
            "/proc/self/root{root}/",
            "/proc/self/root/proc/self/cwd/",
            "{up}proc/self/cwd/",
            "/proc/*/cwd/",
        ),
        *(
            "/proc/self/cwd/src/../",
            "/dev/fd/3/",
            "//dev/fd/3/",
            "/proc/self/fd/3/",
            "/proc/self/fd/../cwd/",
            "cwd/",
            "cwd/src/../",
        ),
    ]
)
FORMS = st.sampled_from(
    [
        *(
            "cat {start}secrets{slashes}key 3<.",
            "cat 3<. <{start}secrets{slashes}key",
            "cd {start}secrets && cat key",
            "cd -P -- {start}secrets; cat key",
        ),
        *(
            "cd -LP {start}. && cat secrets{slashes}key",
            "(cd {start}; cat secrets{slashes}key) 3<.",
            "cd src; cat {start}secrets{slashes}key 3<..",
        ),
        *(
            "ln -s {start}secrets l; cat l{slashes}key",
            "ln -s secrets l; cat {start}l{slashes}key",
            "ln -s secrets '~'; cat {start}'~'{slashes}key",
        ),
    ]
)


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with temporary_workspace(FILES) as root:
        (root / "cwd").symlink_to("/proc/self/cwd")
        yield Session(root, policy=Policy(allow=ALLOWED, deny=("read(secrets/**)",)))


@settings(max_examples=examples(150), deadline=None)
@given(start=STARTS, slashes=SLASHES, form=FORMS)
def test_no_spelling_of_a_hidden_file_is_read(session: Session, start: str, slashes: str, form: str) -> None:
    root = session.workspace.root
    start = start.format(root=root, name=root.name, up="../" * 12)
    line = form.format(start=start, slashes=slashes)
    action = session.decide("shell", {"command": line}).action
    if action == "allow":
        done = subprocess.run(
            ["bash", "-c", line], cwd=root, capture_output=True, text=True, check=False, timeout=60
        )
        subprocess.run(["rm", "-f", "l", "./~/secrets"], cwd=root, check=True, timeout=60)
        assert KEY not in done.stdout, line


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("cat //proc/self/cwd/secrets/key", "deny"),
        ("cat < //proc/self/cwd/secrets/key", "deny"),
        ("cat /proc/self/cwd/../{name}/secrets/key", "deny"),
        ("cat /proc/self/root{root}/secrets/key", "deny"),
        ("cd /proc/self && cat cwd/secrets/key", "deny"),
        ("cat cwd/secrets/key", "ask"),
        ("cat /dev/stdin/secrets/key < .", "ask"),
        ("cd -LP; cat .ssh/id", "deny"),
        ("pushd src; pushd; cat secrets/key", "deny"),
        ("cat '~/x'", "deny"),
        ("cat src/a.py //dev/null", "allow"),
        ("cat /proc/cpuinfo src/a.py", "allow"),
    ],
)
def test_paths_are_compared_as_the_system_reads_them(session: Session, line: str, action: str) -> None:
    root = session.workspace.root
    policy = Policy(allow=ALLOWED, deny=("read(secrets/**)", "read(~/.ssh/**)", "read(./~/**)"))
    assert (
        Session(root, policy=policy)
        .decide("shell", {"command": line.format(root=root, name=root.name)})
        .action
        == action
    )


@pytest.mark.parametrize(
    "line",
    [
        "find //proc/self/cwd/ -delete",
        "rm -rf /proc/self/root{root}",
        "rm -rf //proc/self/cwd/../{name}",
        "rm -rf {up}proc/self/cwd/",
        "echo x > {up}dev/sda",
        "echo x > //dev/sda",
        "echo x > /proc/self/cwd/.envrc",
        "echo x | tee //proc/thread-self/root{root}/.envrc",
        "cd /proc/self/cwd && rm -rf *",
    ],
)
def test_essential_and_protected_paths_need_approval_in_yolo_in_every_spelling(
    session: Session, line: str
) -> None:
    root = session.workspace.root
    line = line.format(root=root, name=root.name, up="../" * 12)
    assert Session(root, policy=Policy("yolo")).decide("shell", {"command": line}).action == "ask"


@pytest.mark.parametrize(
    "line",
    ["wc --files0-from=list", "file -f list", "sha256sum -c list", "strings @list"],
)
def test_files_that_a_list_names_are_unknown(tmp_path: Path, line: str) -> None:
    """The list names the hidden file; ``strings`` even prints it."""
    rules = [f"shell({line.partition(' ')[0]}:*)"]
    hidden = Session(tmp_path, policy=Policy(allow=rules, deny=("read(secrets/**)",))).decide(
        "shell", {"command": line}
    )
    assert hidden.action == "ask"
    expected = "ask" if "@" in line else "allow"  # strings takes options from such a file, too
    assert Session(tmp_path, policy=Policy(allow=rules)).decide("shell", {"command": line}).action == expected
