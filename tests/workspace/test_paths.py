"""Paths lead where the kernel says, on random farms of links."""

import errno
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.workspace.paths import is_inside, printable_path, real_path
from tests.examples import examples

NAMES = st.sampled_from(["a", "b", "c", "d", "x", ".."])
STEPS = st.lists(NAMES | st.just("."), min_size=1, max_size=6).map("/".join)
FARM = st.lists(
    st.tuples(STEPS, STEPS | STEPS.map("/etc/".__add__), st.sampled_from(["link", "folder", "file"])),
    max_size=12,
)


def plant(root: Path, farm: list[tuple[str, str, str]]) -> None:
    """Makes what can be made; what is in the way stays."""
    for place, target, kind in farm:
        path = os.path.normpath(root / place)
        if not path.startswith(str(root) + "/"):
            continue
        try:
            if kind == "link":
                Path(path).symlink_to(target)
            elif kind == "folder":
                Path(path).mkdir()
            else:
                Path(path).touch()
        except OSError:
            continue


def kernel(root: Path, path: str) -> str | int:
    """Returns how the kernel resolves ``path`` seen from ``root``:
    the real path, or the number of its error.
    """
    try:
        descriptor = os.open(root / path if path.startswith("/") else f"{root}/{path}", os.O_PATH)
    except OSError as error:
        return error.errno or 0
    try:
        return str(Path(f"/proc/self/fd/{descriptor}").readlink())
    finally:
        os.close(descriptor)


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel through /proc, which only Linux has")
@settings(max_examples=examples(300), deadline=None)
@given(farm=FARM, path=STEPS)
def test_the_kernel_agrees(farm, path, tmp_path_factory):
    root = Path(os.path.realpath(tmp_path_factory.mktemp("farm")))
    plant(root, farm)
    there = kernel(root, path)
    if isinstance(there, str):
        assert real_path(str(root), path) == there
    elif there == errno.ELOOP:
        with pytest.raises(OSError, match=r"[Ss]ymbolic|links"):
            real_path(str(root), path)


def test_a_link_counts_before_the_dots_behind_it(tmp_path):
    root = Path(os.path.realpath(tmp_path))
    (root / "deep" / "er").mkdir(parents=True)
    (root / "short").symlink_to("deep/er")
    assert real_path(str(root), "short/../x") == str(root / "deep" / "x")


def test_missing_paths_are_used_as_written(tmp_path):
    root = os.path.realpath(tmp_path)
    (tmp_path / "to").symlink_to("not/yet")
    assert real_path(root, "to/be") == f"{root}/not/yet/be"


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("no/../x", errno.ENOENT),
        ("file/../x", errno.ENOTDIR),
        ("loop/x", errno.ELOOP),
        ("n" * 256, errno.ENAMETOOLONG),
    ],
)
def test_paths_that_lead_nowhere_are_errors(tmp_path, path, number):
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError) as caught:  # noqa: PT011 - the number is looked at
        real_path(os.path.realpath(tmp_path), path)
    assert caught.value.errno == number


def test_a_long_way_does_not_hide_a_link_at_its_end(tmp_path):
    """``os.path.realpath`` stops following links where a path grows past the system's limit."""
    root = os.path.realpath(tmp_path)
    folder = tmp_path
    for _ in range(15):
        folder /= "d" * 200
    folder.mkdir(parents=True)
    (folder / "out").symlink_to("/etc")
    way = "/".join(["d" * 200] * 15)
    assert real_path(root, f"{way}/out/passwd") == os.path.realpath("/etc/passwd")


def test_inside_goes_by_components():
    assert is_inside(Path("/a/b"), Path("/a/b"))
    assert is_inside(Path("/a/b"), Path("/a/b/c"))
    assert is_inside(Path("/"), Path("/a"))
    assert not is_inside(Path("/a/b"), Path("/a/bc"))
    assert not is_inside(Path("/a/b"), Path("/a"))


def test_shown_is_one_bounded_line():
    assert printable_path("src/größe.py") == "src/größe.py"
    assert printable_path("a\nb\u202e\udcff") == "a\\nb\\u202e\\udcff"
    assert len(printable_path("x" * 10_000)) < 300
