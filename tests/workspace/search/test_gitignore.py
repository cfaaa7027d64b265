"""Files ignored by git are those that ripgrep ignores."""

import subprocess

import pytest

from nbtools.workspace.search.gitignore import IgnoreRules
from nbtools.workspace.search.ripgrep import find_rg


def make(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text("x")


@pytest.mark.parametrize(
    ("rules", "ignored"),
    [
        ({".gitignore": "*.log\n!keep.log\nout/\n/top.txt"}, {"a.log", "out", "top.txt"}),
        ({".gitignore": "out", "sub/.gitignore": "x"}, {"out"}),
        ({".gitignore": "*.txt", ".ignore": "!top.txt"}, set()),
        ({".gitignore": "a.*\n", ".rgignore": "!a.log", ".ignore": "a.log"}, set()),
        ({".gitignore": "# nothing\n\n\\#file\n"}, {"#file"}),
        ({".gitignore": "sub/*"}, set()),
        ({".gitignore": "*\n!sub/"}, {"a.log", "keep.log", "out", "top.txt", "#file"}),
        ({".git/info/exclude": "a.log"}, {"a.log"}),
        ({}, set()),
    ],
)
def test_it_is_what_ripgrep_leaves_out(tmp_path, monkeypatch, rules, ignored):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    names = ["a.log", "keep.log", "out/x", "sub/x", "sub/y/z", "top.txt", "#file"]
    make(tmp_path, *names, *rules)
    for path, text in rules.items():
        (tmp_path / path).write_text(text)
    found = {
        path
        for name in names
        if IgnoreRules(tmp_path).ignores(path := name.split("/")[0], folder="/" in name)
    }
    assert found == ignored
    listed = subprocess.run(
        [find_rg(), "--files", "--no-require-git", "--", "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    seen = {line.removeprefix("./").split("/")[0] for line in listed.stdout.splitlines()}
    assert {name.split("/")[0] for name in names} - seen - {"sub"} == ignored - {"sub"}


def test_rules_from_above(tmp_path):
    make(tmp_path, ".git/", "a/b/x.log", "a/b/keep.log")
    (tmp_path / ".gitignore").write_text("*.log\n/a/b/only\n/b\n")
    (tmp_path / "a" / ".gitignore").write_text("!keep.log\n")
    rules = IgnoreRules(tmp_path / "a" / "b")
    assert rules.ignores("x.log", folder=False)
    assert not rules.ignores("keep.log", folder=False)
    assert rules.ignores("only", folder=True)
    assert not rules.ignores("b", folder=False)


def test_rules_end_at_the_repository(tmp_path):
    make(tmp_path, "repository/.git/")
    (tmp_path / ".gitignore").write_text("*\n")
    assert not IgnoreRules(tmp_path / "repository").ignores("x", folder=False)


def test_an_ignored_folder_that_is_named_shows_its_files(tmp_path):
    make(tmp_path, "out/x", "out/y.tmp")
    (tmp_path / ".gitignore").write_text("out/\n")
    (tmp_path / "out" / ".gitignore").write_text("*.tmp\n")
    rules = IgnoreRules(tmp_path / "out")
    assert not rules.ignores("x", folder=False)
    assert rules.ignores("y.tmp", folder=False)
