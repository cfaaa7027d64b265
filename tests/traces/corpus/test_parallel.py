"""Work gives equal results wherever it is done, and one file that fails stops no other."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from multiprocessing import get_context
from typing import Any

import pytest

from nbtools.traces.corpus.parallel import TaskFailure, map_files
from tests.traces.corpus.works import Item, measure, place

ITEMS = [*(Item(f"n{number}", number) for number in range(12)), Item("bad", 5)]


def spawning() -> AbstractContextManager[Any]:
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


CLIENTS: Sequence[Callable[[], AbstractContextManager[Any]]] = [
    nullcontext,
    spawning,
    lambda: ThreadPoolExecutor(2),
]


@pytest.mark.parametrize("client", CLIENTS, ids=["none", "spawned", "threads"])
@pytest.mark.parametrize("here", [1, 10_000])
def test_every_file_has_its_outcome(client: Callable[[], AbstractContextManager[Any]], here: int) -> None:
    with client() as given_client:
        outcomes = {
            item.name: outcome for item, outcome in map_files(ITEMS, measure, given_client, here=here)
        }
    assert outcomes.pop("bad") == TaskFailure("ValueError: it is bad")
    assert outcomes == {f"n{number}": f"N{number}" for number in range(12)}


def test_little_work_runs_in_this_process() -> None:
    assert {pid for _, pid in map_files([Item("a"), Item("b")], place)} == {os.getpid()}
    assert os.getpid() not in {pid for _, pid in map_files([Item("a"), Item("b")], place, here=1)}


def test_a_file_that_kills_its_process_fails_alone() -> None:
    items = [Item("a"), Item("deadly"), Item("b"), Item("c")]
    outcomes = {item.name: outcome for item, outcome in map_files(items, measure, here=1)}
    died = outcomes.pop("deadly")
    assert isinstance(died, TaskFailure)
    assert "died" in died.why
    assert outcomes == {"a": "A", "b": "B", "c": "C"}


class BreaksOnce(ThreadPoolExecutor):
    """A pool that is broken when its second task is handed over."""

    submitted = 0

    def submit(self, *args, **kwargs):
        self.submitted += 1
        if self.submitted == 2:
            raise BrokenExecutor("a process has died")
        return super().submit(*args, **kwargs)


def test_a_pool_that_breaks_while_tasks_are_handed_over_loses_no_file() -> None:
    with BreaksOnce(1) as pool:
        outcomes = {
            item.name: outcome
            for item, outcome in map_files([Item("a"), Item("b"), Item("c")], measure, pool)
        }
    assert outcomes == {"a": "A", "b": "B", "c": "C"}


def test_nothing_is_nothing() -> None:
    assert list(map_files([], measure)) == []


class CancelsOnce(ThreadPoolExecutor):
    """A cluster that cancels its first task, as one does that is restarted."""

    submitted = 0

    def submit(self, *args, **kwargs):
        self.submitted += 1
        if self.submitted == 1:
            cancelled: Future[Any] = Future()
            cancelled.cancel()
            cancelled.set_running_or_notify_cancel()
            return cancelled
        return super().submit(*args, **kwargs)


def test_a_task_that_a_cluster_cancels_is_tried_again() -> None:
    with CancelsOnce(1) as pool:
        outcomes = {item.name: outcome for item, outcome in map_files([Item("a"), Item("b")], measure, pool)}
    assert outcomes == {"a": "A", "b": "B"}
