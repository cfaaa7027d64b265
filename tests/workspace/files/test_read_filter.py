"""The hidden files are the same for nbtools and for ripgrep."""

import subprocess

import pytest

from nbtools.workspace.files.read_filter import ReadFilter
from nbtools.workspace.search.ripgrep import find_rg
from nbtools.workspace.workspace import Workspace

FILES = (
    "a.txt",
    "key.pem",
    "secrets/a.txt",
    "secrets/deep/b.txt",
    "src/secrets/c.txt",
    "src/.env",
    "src/{x}.txt",
    "src/x.txt",
    "src/sp ace.txt",
)
EVERYTHING = set(FILES)

CASES = [
    (("secrets/",), {"secrets/a.txt", "secrets/deep/b.txt", "src/secrets/c.txt"}),
    (("/secrets",), {"secrets/a.txt", "secrets/deep/b.txt"}),
    (("./secrets/**",), {"secrets/a.txt", "secrets/deep/b.txt"}),
    (("*.pem", "**/.env"), {"key.pem", "src/.env"}),
    (("src/{x}.txt",), {"src/{x}.txt"}),
    (("src/\\{x}.txt",), {"src/{x}.txt"}),
    (("src/*.txt",), {"src/{x}.txt", "src/x.txt", "src/sp ace.txt"}),
    (("src/sp ace.txt",), {"src/sp ace.txt"}),
    (("*.txt", "!a.txt"), {name for name in FILES if name.endswith(".txt")}),
    (("/{root}/secrets/deep",), {"secrets/deep/b.txt"}),
    (("/{root}",), EVERYTHING),
    (("/{above}",), EVERYTHING),
    (("/{above}/**/.env",), {"src/.env"}),
    (("//**/*.pem",), {"key.pem"}),
    (("/{above}/*/secrets/a.txt",), {"secrets/a.txt"}),
    (("//elsewhere/**", "~/nothing"), set()),
    (("**",), EVERYTHING),
    (("", "!a.txt"), set()),
]


@pytest.mark.parametrize(("patterns", "hidden"), CASES, ids=[" ".join(patterns) for patterns, _ in CASES])
def test_a_pattern_hides_the_same_files_from_us_and_from_ripgrep(tmp_path, patterns, hidden):
    for name in FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x\n")
    hiding = ReadFilter(
        str(tmp_path),
        [one.replace("{root}", str(tmp_path)).replace("{above}", str(tmp_path.parent)) for one in patterns],
    )

    assert {name for name in FILES if hiding.hides(name)} == hidden
    assert {name for name in FILES if hiding.hides(str(tmp_path / name))} == hidden

    listed = subprocess.run(
        [find_rg(), "--files", "--hidden", "--no-ignore", *hiding.rg_flags()],
        cwd=tmp_path,
        capture_output=True,
        check=False,
    )
    assert set(listed.stdout.decode().splitlines()) == EVERYTHING - hidden


def test_a_pattern_for_folders_hides_folders_and_never_paths_outside(tmp_path):
    workspace = Workspace(tmp_path)
    assert not workspace.hides("secrets", folder=True)
    workspace.hidden = ("secrets/",)
    assert workspace.hidden == ("secrets/",)
    assert workspace.hides("secrets", folder=True)
    assert workspace.hides("secrets/x")
    assert not workspace.hides("secrets")
    assert not workspace.hides("/secrets/x")
    assert not workspace.hides(".")
