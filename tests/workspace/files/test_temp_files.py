"""Temporary files that an interrupted change leaves are found by others,
and the only copy of anything stays.
"""

import os
import subprocess
import sys

import pytest

from nbtools.workspace.files import temp_files
from nbtools.workspace.files.atomic_write import replace_content
from nbtools.workspace.files.temp_files import hidden_name, sweep


def name_of_a_dead_process(what, of=""):
    program = (
        f"from nbtools.workspace.files.temp_files import hidden_name; print(hidden_name({what!r}, {of!r}))"
    )
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.removesuffix("\n")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("what", ["tmp", "copy", "link"])
def test_temporary_files_of_new_content_are_removed(tmp_path, what):
    (tmp_path / name_of_a_dead_process(what)).write_text("half")
    assert sweep(tmp_path) == ()
    assert names(tmp_path) == []


@pytest.mark.parametrize("what", ["tmp", "before"])
def test_temporary_files_of_running_processes_stay(tmp_path, what):
    name = hidden_name(what, "f")
    (tmp_path / name).write_text("x")
    assert sweep(tmp_path, lambda _: True) == ()
    assert names(tmp_path) == [name]


def test_a_file_that_is_only_there_under_its_hidden_name_gets_its_own_back(tmp_path):
    (tmp_path / name_of_a_dead_process("before", "my file.txt")).write_text("old")
    assert sweep(tmp_path) == ()
    assert names(tmp_path) == ["my file.txt"]
    assert (tmp_path / "my file.txt").read_text() == "old"


def test_the_only_copy_of_what_a_file_held_stays_and_is_named(tmp_path):
    kept = tmp_path / name_of_a_dead_process("before", "f")
    kept.write_text("old")
    (tmp_path / "f").write_text("new")
    assert sweep(tmp_path) == (kept,)
    assert sweep(tmp_path, lambda data: data == b"something else") == (kept,)
    assert kept.read_text() == "old"
    assert sweep(tmp_path, lambda data: data == b"old") == ()
    assert names(tmp_path) == ["f"]


def test_a_second_name_goes(tmp_path):
    (tmp_path / "f").write_text("old")
    os.link(tmp_path / "f", tmp_path / name_of_a_dead_process("before", "f"))
    assert sweep(tmp_path) == ()
    assert names(tmp_path) == ["f"]


def test_a_file_with_a_name_too_long_is_not_put_back_and_not_dropped(tmp_path):
    kept = tmp_path / name_of_a_dead_process("before", "n" * 250)
    kept.write_text("old")
    assert sweep(tmp_path) == (kept,)


def test_files_with_similar_names_stay(tmp_path):
    for name in (".nbtools-settings", ".nbtools-12.tmp", ".nbtools-0123456789ab.before", "nbtools.tmp"):
        (tmp_path / name).write_text("mine")
    there = names(tmp_path)
    assert sweep(tmp_path, lambda _: True) == ()
    assert names(tmp_path) == there


def test_names_made_elsewhere_are_left_alone_for_an_hour(tmp_path, monkeypatch):
    here = hidden_name("tmp")
    elsewhere = tmp_path / here.replace(here.split("-")[1], "0" * 8)
    elsewhere.write_text("x")
    sweep(tmp_path)
    assert elsewhere.exists()
    monkeypatch.setattr(temp_files, "_ABANDONED_AFTER", -1.0)
    sweep(tmp_path)
    assert not elsewhere.exists()


def test_a_process_number_that_was_given_again_is_another_process(tmp_path):
    name = hidden_name("tmp")
    beginning, here, pid, start, chance = name.split("-")
    if start == "0":
        pytest.skip("this system does not tell when a process started")
    (tmp_path / "-".join([beginning, here, pid, str(int(start) - 1), chance])).write_text("x")
    sweep(tmp_path)
    assert names(tmp_path) == []


def test_a_fork_makes_names_of_its_own():
    reading, writing = os.pipe()
    mine = hidden_name("tmp")
    program = "import os; from nbtools.workspace.files.temp_files import hidden_name; hidden_name('tmp'); pid = os.fork()\n"
    program += f"if not pid: os.write({writing}, (str(os.getpid()) + ' ' + hidden_name('tmp')).encode()); os._exit(0)\nos.waitpid(pid, 0)"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], pass_fds=[writing], check=True)
    os.close(writing)
    pid, name = os.read(reading, 1000).decode().split()
    os.close(reading)
    assert name.split("-")[2] == pid != mine.split("-")[2]


@pytest.mark.parametrize("what", ["tmp", "before"])
def test_a_second_name_that_is_left_over_does_not_make_a_write_less_safe(tmp_path, what):
    """A file with two names is written in place, where a kill could leave half; one of these is nobody's."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    os.link(path, tmp_path / name_of_a_dead_process(what, "f" if what == "before" else ""))
    inode = path.stat().st_ino
    replace_content(path, b"new", b"old", "f")
    assert path.stat().st_ino != inode
    assert names(tmp_path) == ["f"]


def test_a_folder_that_cannot_be_looked_into_is_left_alone(tmp_path):
    assert sweep(tmp_path / "nothing") == ()
    (tmp_path / "link").symlink_to(tmp_path)
    assert sweep(tmp_path / "link") == ()
