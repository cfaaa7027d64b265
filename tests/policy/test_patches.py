"""``git apply`` and ``git am``: the files that a patch names count as written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools import Policy, Session
from nbtools.policy.patches import patched_names
from nbtools.testing import temporary_workspace
from tests.examples import examples

PLAIN = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
EVIL = "diff --git a/.envrc b/.envrc\nnew file mode 100644\n--- /dev/null\n+++ b/.envrc\n@@ -0,0 +1 @@\n+y\n"
FILES = {
    "src/a.py": "x\n",
    "plain.patch": PLAIN,
    "evil.patch": PLAIN + EVIL,
    "bare.patch": "--- /dev/null\n+++ b/.vscode/tasks.json\n@@ -0,0 +1 @@\n+y\n",
    "moved.patch": "diff --git a/src/a.py b/x\nsimilarity index 100%\nrename from src/a.py\nrename to .envrc\n",
    "escaped.patch": EVIL.replace("b/.envrc", '"b/\\056envrc"'),
    "encoded.mail": "From a\nContent-Transfer-Encoding: base64\n\neA==\n",
}


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with temporary_workspace(FILES) as folder:
        subprocess.run(["git", "init", "-q", "."], cwd=folder, check=True, timeout=60)
        yield folder


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("git apply plain.patch", "allow"),
        ("git apply -R --reject plain.patch", "allow"),
        ("git apply --check evil.patch", "allow"),
        ("git am --abort", "allow"),
        ("git apply evil.patch", "ask"),
        ("git apply plain.patch evil.patch", "ask"),
        ("git apply --stat --apply evil.patch", "ask"),
        ("git apply < evil.patch", "ask"),
        ("cat plain.patch | git apply", "ask"),
        ("git apply bare.patch", "ask"),
        ("git apply moved.patch", "ask"),
        ("git apply escaped.patch", "ask"),
        ("git apply --directory=.vscode plain.patch", "ask"),
        ("git apply --directory .vscode plain.patch", "ask"),
        ("git apply missing.patch", "ask"),
        ("cp evil.patch plain.patch; git apply plain.patch", "ask"),
        ("git am encoded.mail", "ask"),
    ],
)
def test_a_patch_is_read_before_the_decision(root: Path, line: str, action: str) -> None:
    rules = ("shell(git apply:*)", "shell(git am:*)", "shell(cat:*)", "shell(cp:*)")
    for policy in (Policy("yolo"), Policy(allow=rules), Policy("auto_edit", allow=rules)):
        assert Session(root, policy=policy).decide("shell", {"command": line}).action == action


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("git apply plain.patch", "deny"),
        ("git apply -p1 plain.patch", "deny"),
        ("git apply -p 0 bare.patch", "ask"),
        ("git apply moved.patch", "deny"),
        ("git apply --check plain.patch", "allow"),
    ],
)
def test_a_deny_rule_about_files_holds_for_what_a_patch_changes(root: Path, line: str, action: str) -> None:
    policy = Policy(allow=("shell(git apply:*)",), deny=("edit(src/**)",))
    assert Session(root, policy=policy).decide("shell", {"command": line}).action == action


LINES = st.sampled_from(
    [
        *(
            "diff --git a/x b/x",
            "--- a/x",
            "+++ b/x",
            "--- /dev/null",
            "+++ b/.envrc",
            "+++ .envrc\t2026",
            "+++ b/y\r",
            "rename from x",
        ),
        *(
            "rename to .envrc",
            "new file mode 100644",
            "@@ -1 +1 @@",
            "@@ -0,0 +1 @@",
            "-a",
            "+b",
            "",
            "Index: .envrc",
            "diff --git a/.envrc b/.envrc",
        ),
        *(
            "copy to .envrc",
            "copy from x",
            "similarity index 100%",
            "*** .envrc",
            "diff -u x .envrc",
            "+++  b/.envrc",
            "deleted file mode 100644",
        ),
    ]
)


@settings(max_examples=examples(100), deadline=None)
@given(lines=st.lists(LINES, min_size=1, max_size=8))
def test_git_finds_no_file_in_a_patch_that_is_not_found_here(root: Path, lines: list[str]) -> None:
    text = "\n".join(lines) + "\n"
    done = subprocess.run(
        ["git", "apply", "--numstat", "-z", "-"],
        cwd=root,
        input=text.encode(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    names = patched_names(text)
    if done.returncode == 0 and b".envrc" in done.stdout and names is not None:
        assert any(name.endswith(".envrc") for name in names)
