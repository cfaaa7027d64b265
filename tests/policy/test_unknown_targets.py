"""In ``yolo`` too, a command asks before it removes or writes what only shows when it runs, or what the line says by detours."""

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

FILES = {"src/a.py": "x\n", "evil": "y\n", "f": "z\n", "list": "f\n", ".envrc": "e\n", ".git/hooks/z": "h\n", "home/a b": "1\n"}
STUB = '#!/bin/sh\nfor word in "$@"; do case "$word" in -*) ;; *) realpath -m -- "$word" >> "$LOG";; esac; done\n'

REMOVED = [
    'x=$HOME; rm -rf "$x"',
    "x=/; rm -rf $x",
    'for d in ~; do rm -rf "$d"; done',
    "rm -rf ${HOME:?}",
    'rm -rf "$(dirname ~/x)"',
    "rm -rf $(pwd -P)",
    "rm -rf ${x:-.}",
    'rm -rf "$_"',
    'set -- ~; rm -rf "$@"',
    "ls -d ~ | xargs rm -rf",
    "find ~ -maxdepth 0 | xargs rm -rf",
    "ln -s ~ l && rm -rf l/*",
    "find . -name '*' -exec rm -rf {} +",
    "find . -size -99999G -delete",
    "find . ! -name x -delete",
    "find . -name x -o -delete",
    "git rm -rfq ':/'",
    "git clean -fdxq ':/'",
    "git clean -fdxq ':s*'",
    "git clean -fdxq ':!x'",
    'rm -rf "$x"',
    "rm -rf /tmp/$x",
    'x=. ; y="$x"; rm -rf "$y"',
    'x="a ~"; rm -rf $x',
    'd=$(pwd); rm -rf "$d"',
    "mv $x /tmp/y",
    'chmod -R 777 "$x"',
    'find "$x" -delete',
    "xargs rm < list",
    'cat list | while read f; do rm -rf "$f"; done',
    'truncate -s0 "$x"',
]
WRITTEN = [
    'x=.git/hooks/z; cat evil > "$x"',
    "x=.envrc; echo a > $x",
    'x=.en; y=vrc; echo a > "$x$y"',
    'for f in .git/hooks/z; do cp evil "$f"; done',
    "cp -t .git/hooks evil",
    "mv --target-directory=.vscode evil",
    "ln -t .git/hooks evil",
    "install -t .git/hooks evil",
    "ln -s .git/hooks h; cp evil h/z",
    "git config core.fsmonitor ./evil",
    "echo x > out/l*",
    "xxd f out/l*",
    "shuf -o out/l* f",
    'echo x > "out/$x"',
    "chmod -R u-w out/l*",
    "cd lnk && echo x > s/l*",
    "cd out/.. && echo x > lnk/z",
    "cp f src/../lnk/z",
    "cd src && cd .. && sort -o lnk/z f",
    'for f in out/l*; do echo x > "$f"; done',
    "sed 's/z/0/w lnk/new' f",
    "sed -n 'w out/lb' f",
    "echo x 1<> .git/hooks/z",
    "echo x <> lnk/z",
    "ln -sfn ../.git/hooks/z src/x; echo x > src/x",
    "ln -s ../.git/hooks/z src/x && shuf -o src/x* f",
    "git init --separate-git-dir=d",
    "git init --sep d",
    "git init --templ=evil .",
    "git clone --template=evil . d",
    "git clone . d --separate-git-dir=d2",
    "git -C .git/hooks init",
    "git config set core.pager evil",
    "git config --file .git/config core.pager evil",
    "sed -n 'w .envrc' f",
    "sed -n w.envrc f",
    "git log -p --output=.git/hooks/z",
    "echo .git/hooks/z | xargs cp evil",
    "find .git/hooks -name z | xargs cp evil",
    "find . -name '.en*' -exec cp evil {} \\;",
    "find . -name pre-commit -exec cp evil {} \\;",
    "find . -path '*hooks*' -exec cp evil {} \\;",
    "grep -rl a . | xargs sed -i s/a/b/",
    'echo a > "$x"',
    'tee "$x" < evil',
    "x=.envrc; dd if=evil of=$x",
    "awk '{print > \".envrc\"}' f",
    "python -c \"open('.envrc', 'w')\"",
    "curl -O http://127.0.0.1/.envrc",
    "cp -r evil/. .",
    "unzip -o e.zip",
    "echo x > /dev/stdin < .envrc",
    "echo x > /dev/fd/3 3< .envrc",
    "echo x | tee /dev/stderr 2< .envrc",
    "echo x 1< .envrc > /dev/stdout",
    'cp evil "$(git rev-parse --git-dir)/hooks/z"',
    "mlr -I --csv cat .envrc",
    "a-program-of-no-table --out=.git/hooks/z",
    "./convert.sh f .git/hooks/z",
    "python convert.py f .envrc",
    "xargs a-program-of-no-table .envrc",
    "cp home/.en[v]rc .",
    "cp -t . home/.e*",
    "ln home/.e* src",
    "cp home/l* out",
    'cp "home/$x" .',
    'ln -sf "home/$x"',
]
KNOWN = [
    "rm -rf build dist *.egg-info",
    "rm -rf build/$NAME",
    "find . -name '*.pyc' -delete",
    "find . \\( -name '*.pyc' -o -name '*.pyo' \\) -delete",
    "find src -name '*.py' | xargs sed -i s/a/b/",
    "find . -name '*.py' -not -path './venv/*' -exec sed -i s/a/b/ {} +",
    "grep -rl foo src | xargs sed -i s/foo/bar/g",
    "rg -l foo | xargs sed -i s/foo/bar/g",
    "git ls-files '*.py' | xargs sed -i s/a/b/",
    'for f in a b c; do echo "$f" > "build/$f.txt"; done',
    'for f in src/*.txt; do mv "$f" "${f%.txt}.md"; done',
    'for f in *.md; do cp "$f" "docs/$(basename "$f" .md).txt"; done',
    'T=$(mktemp -d); cp f "$T"; rm -rf "$T"',
    'D=build/out; mkdir -p "$D" && cp f "$D/b"',
    "OUT=build/x.txt; echo a > $OUT",
    "mkdir -p build/$(date +%F)",
    "git clean -fd '*.pyc'",
    "git config user.name x",
    "a-program-of-no-table f --out=build/x",
    "cp src/*.py build/",
    'cp "home/$x" build/',
    "python .venv/bin/convert f build/x",
    "source .venv/bin/activate",
    "cat .envrc",
    "cp -r src/. build/",
]


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


@pytest.mark.parametrize("line", [*REMOVED, *WRITTEN])
def test_what_a_line_changes_by_detours_is_asked_in_yolo(root: Path, yolo: Session, line: str) -> None:
    assert yolo.decide("shell", {"command": line}).action == "ask"
    assert Session(root, policy=Policy(allow=("*",))).decide("shell", {"command": line}).action == "ask"


@pytest.mark.parametrize("line", KNOWN)
def test_what_a_line_says_clearly_is_not_asked_in_yolo(yolo: Session, line: str) -> None:
    decision = yolo.decide("shell", {"command": line})
    assert decision.action == "allow", decision.reason


@pytest.mark.parametrize("line", ['rm -f "$x"', "xargs rm < list", 'echo a > "$x"'])
def test_a_rule_with_exactly_the_line_allows_an_unknown_target(root: Path, line: str) -> None:
    assert Session(root, policy=Policy(allow=(f"shell({line})",))).decide("shell", {"command": line}).action == "allow"


SETS = st.sampled_from(
    [
        *("{x}={value}; {use}", "{x}={value} && {use}", "for {x} in {value}; do {use}; done", "for {x} in f {value}; do {use}; done"),
        *("if true; then {x}={value}; fi; {use}", "{x}=f; for i in 1 2; do {use}; {x}={value}; done", "{x}={value} & wait; {x}=f; {use}"),
        *("{x}=f; ({x}={value}; {use})", "{x}=f; {{ {x}={value}; }}; {use}", "{x}={value} | true; {use}", "y={value}; {x}=$y; {use}"),
        *(
            "{x}=f; true && {x}={value}; {use}",
            "{x}=f; unset {x}; {use}",
            "{x}=f; {x}={value}; {use}",
            "echo {value} | while read {x}; do {use}; done",
        ),
        *("{x}={value}; cd src; {use}; cd ..", "{x}=f; {x}={value} true; {use}", "export {x}={value}; {use}", "{x}={value}; eval '{use}'"),
    ]
)
VALUES = st.sampled_from(
    ["~", "$HOME", '"$HOME"', "$PWD", "$(pwd)", ".", "..", "'a ../.'", "f", "src/a.py", '"$(dirname $PWD/x)"', "${HOME%/}"]
)
USES = st.sampled_from(
    [
        *('rm -rf "${x}"', "rm -rf ${x}", 'rm -rf "${x}/"', "rm -r -- ${x}/.", 'rm -rf f "${x}"', "rm -rf {name}/*", "rm -rf {name}/.."),
        *("rm -rf {default}", "echo ${x} | xargs rm -rf", "find ${x} -maxdepth 0 -exec rm -rf {{}} +", 'rmdir "$(basename "${x}")"'),
        *('sh -c "rm -rf ${x}"', "env rm -rf ${x}", 'rm -rf "$(dirname "${x}")"', "rm -rf {changed}", "command rm -rf ${x}"),
    ]
)


@settings(max_examples=200, deadline=None)
@given(sets=SETS, value=VALUES, use=USES)
def test_nothing_essential_is_removed_without_a_question(root: Path, yolo: Session, sets: str, value: str, use: str) -> None:
    """The line is run with stand-ins of the programs that remove, and a home folder of its own: they say what they would remove."""
    use = use.format(x="x", name="$x", default="${x:-.}", changed="${x%/*}")
    line = sets.format(x="x", value=value, use=use)
    if yolo.decide("shell", {"command": line}).action == "allow":
        log, home = root / "log", root / "home"
        log.write_text("", encoding="utf-8")
        env = {"PATH": f"{root}/bin:{os.environ['PATH']}", "HOME": str(home), "LOG": str(log)}
        subprocess.run(["bash", "-c", line], cwd=root, env=env, capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL)
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
def test_a_file_that_may_not_be_edited_asks_where_an_unknown_program_or_script_gets_it(root: Path, line: str, expected: str) -> None:
    allowed = ["shell(a-program-of-no-table:*)", "shell(python:*)", "shell(cat:*)"]
    session = Session(root, policy=Policy(allow=allowed, deny=["edit(src/**)"]))
    assert session.decide("shell", {"command": line}).action == expected
