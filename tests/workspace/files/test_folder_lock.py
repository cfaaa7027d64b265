"""One change at a time in a folder."""

import fcntl
import os
import threading
import time

from nbtools.storage.folder_lock import folder_lock


def test_threads_go_one_by_one_and_nothing_stays_behind(tmp_path):
    inside, most = [], []

    def work():
        with folder_lock(tmp_path):
            inside.append(1)
            most.append(len(inside))
            list(tmp_path.iterdir())
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 40
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_somebody_keeps_holds_nothing_up(tmp_path):
    descriptor = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    began = time.monotonic()
    with folder_lock(tmp_path):
        assert time.monotonic() - began > 1
    os.close(descriptor)


def test_a_folder_that_is_not_there_is_no_matter(tmp_path):
    with folder_lock(tmp_path / "none"):
        assert not (tmp_path / "none").exists()
