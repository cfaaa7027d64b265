"""A live display: how often it is updated, and that its last state is shown, from any thread."""

from __future__ import annotations

import contextvars
import threading
import time
from typing import Any

import pytest

from nbtools.notebook.display_target import AnswerMethod, Bundle, DisplayTarget
from nbtools.notebook.live_display import LiveDisplay
from tests.waiting import until


class Screen:
    """Records what is shown, with whether it was an update."""

    def __init__(self, *, updates: bool = True) -> None:
        self.updates = updates
        self.shown: list[tuple[str, bool]] = []

    def draw(self, card: Any) -> Bundle:
        return {"text/plain": str(card)}

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        if bundle["text/plain"] == "broken":
            raise ValueError
        self.shown.append((bundle["text/plain"], update))


def display_on(screen: Screen, **options: Any) -> LiveDisplay:
    return LiveDisplay(
        DisplayTarget(screen, "id", True, AnswerMethod.NOBODY, contextvars.copy_context()), **options
    )


def text(value: object) -> Any:
    return lambda: {"text/plain": str(value)}


@pytest.fixture
def screen() -> Screen:
    return Screen()


async def test_updates_within_an_interval_share_one_at_its_end(screen: Screen) -> None:
    display = display_on(screen, interval=0.5)
    for number in range(10):
        display.update(text(number))
    assert screen.shown == [("0", False)]
    await until(lambda: len(screen.shown) == 2)
    assert screen.shown == [("0", False), ("9", True)]


async def test_the_earlier_time_counts(screen: Screen) -> None:
    display = display_on(screen)
    display.update(text("soon"), after=0.02)
    display.update(text("later"), after=60)
    await until(lambda: screen.shown)
    assert screen.shown == [("later", False)]


async def test_a_drawing_may_ask_for_its_next_update(screen: Screen) -> None:
    display = display_on(screen)
    ticks = iter(range(3))

    def draw() -> Bundle:
        display.update(draw, after=0.01)
        return {"text/plain": str(next(ticks))}

    display.update(draw)
    await until(lambda: len(screen.shown) == 3)
    assert screen.shown == [("0", False), ("1", True), ("2", True)]


def test_without_a_loop_the_next_update_or_the_end_shows_it(screen: Screen) -> None:
    display = display_on(screen, interval=0.2)
    display.update(text(1))
    display.update(text(2))
    time.sleep(0.21)  # an interval passes: that is what is tested
    display.update(text(3))
    display.update(text(4))
    display.finish()
    display.update(text(5))
    assert [shown for shown, _ in screen.shown] == ["1", "3", "4"]


def test_a_call_that_ends_at_once_is_not_shown_live(screen: Screen) -> None:
    display = display_on(screen, first=60)
    display.update(text(1))
    display.finish()
    display.remove()
    assert screen.shown == []


def test_a_removed_display_leaves_an_empty_output(screen: Screen) -> None:
    display = display_on(screen)
    display.update(text(1))
    display.update(text(2))
    display.remove()
    assert screen.shown == [("1", False), ("", True)]


def test_without_updates_of_displays_the_last_state_is_shown() -> None:
    screen = Screen(updates=False)
    display = display_on(screen)
    display.update(text(1))
    display.update(text(2))
    assert screen.shown == []
    display.finish()
    assert screen.shown == [("2", False)]


def test_an_error_is_not_raised_and_the_next_update_is_a_new_output(screen: Screen) -> None:
    display = display_on(screen, interval=0)
    display.show({"text/plain": "broken"})
    display.update(lambda: {}["text/plain"])
    display.show({"text/plain": "whole"})
    assert screen.shown == [("whole", False)]


async def test_threads_share_a_display(screen: Screen) -> None:
    display = display_on(screen, interval=0.01)
    threads = [
        threading.Thread(target=lambda: [display.update(text(number)) for number in range(200)])
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    display.finish()
    assert [update for _, update in screen.shown].count(False) == 1
    assert screen.shown[0][1] is False
