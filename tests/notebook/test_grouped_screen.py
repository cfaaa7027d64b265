"""The parts of a cell share a few outputs, in their order, and what is open has an output of its own."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.cards.card import bundle
from nbtools.cards.card_model import GROUP_MIME, MIME, Card, TextBlock
from nbtools.notebook.display_target import Bundle
from nbtools.notebook.grouped_screen import MAX_OPEN, OWN, WIDGET_MIME, GroupedScreen
from tests.examples import examples
from tests.waiting import until

JUPYTERLAB = 50
"""Outputs of a cell that JupyterLab shows by default."""


class Page:
    """The outputs of a cell as a front end has them:
    a new display is appended, an update replaces its content.
    """

    updates = True

    def __init__(self) -> None:
        self.outputs: dict[str, Bundle] = {}

    def draw(self, card: Card) -> Bundle:
        return bundle(card)

    def show(self, bundle: Bundle, display_id: str, update: bool) -> None:
        assert update is (display_id in self.outputs)
        self.outputs[display_id] = bundle

    @property
    def texts(self) -> list[list[str]]:
        """The texts of the parts of each output."""
        return [[one["text/plain"] for one in parts_of(output)] for output in self.outputs.values()]


def parts_of(output: Bundle) -> list[Any]:
    return output[GROUP_MIME]["parts"] if GROUP_MIME in output else [output]


def settled(number: int, version: int = 0) -> Bundle:
    return {
        "text/plain": f"{number}.{version}",
        "text/html": f"<p>{number}.{version}</p>",
        MIME: {"state": "success"},
    }


def waiting(number: int) -> Bundle:
    return {"text/plain": f"{number}?", WIDGET_MIME: {"model_id": str(number)}}


def numbers(page: Page) -> list[int]:
    return [int(text.split(".")[0].rstrip("?")) for output in page.texts for text in output]


@pytest.mark.parametrize("count", [1, OWN, OWN + 1, 200, 3_000])
def test_finished_parts_are_shown_once_each_in_their_order_in_few_outputs(count: int) -> None:
    page = Page()
    screen = GroupedScreen(page)
    for number in range(count):
        screen.show(settled(number), str(number), False)
    screen.flush()
    assert numbers(page) == list(range(count))
    assert len(page.outputs) <= min(count, JUPYTERLAB // 2)
    html = "".join(str(output["text/html"]) for output in page.outputs.values())
    assert html.count("<p>") == count


@pytest.mark.parametrize("questions", [1, 30, 100])
def test_an_open_question_is_among_the_outputs_that_are_shown(questions: int) -> None:
    page = Page()
    screen = GroupedScreen(page)
    for number in range(questions):
        screen.show(waiting(number), str(number), False)
        assert list(page.outputs.values())[-1][WIDGET_MIME]["model_id"] == str(number)
        screen.show(settled(number), str(number), True)
    screen.flush()
    assert numbers(page) == list(range(questions))
    assert len(page.outputs) <= OWN + 3


def test_questions_at_the_same_time_are_shown_as_others_are_answered() -> None:
    page = Page()
    screen = GroupedScreen(page, own=0)
    for number in range(40):
        screen.show(waiting(number), str(number), False)
    assert numbers(page) == list(range(MAX_OPEN))
    for number in range(40):
        assert number in numbers(page), "it can be answered"
        screen.show(settled(number), str(number), True)
    screen.flush()
    assert sorted(numbers(page)) == list(range(40))
    assert len(page.outputs) <= MAX_OPEN + 2


@settings(max_examples=examples(300), deadline=None)
@given(
    st.integers(0, 4),
    st.lists(
        st.tuples(st.sampled_from(["new", "ask", "change", "settle"]), st.integers(0, 60)), max_size=120
    ),
)
def test_each_part_is_shown_once_with_its_latest_state(own: int, steps: list[tuple[str, int]]) -> None:
    page = Page()
    screen = GroupedScreen(page, own=own)
    latest: list[str] = []
    for version, (what, which) in enumerate(steps, 1):
        number = len(latest) if what in ("new", "ask") or not latest else which % len(latest)
        part = waiting(number) if what == "ask" else settled(number, version)
        screen.show(part, str(number), number < len(latest))
        latest[number : number + 1] = [part["text/plain"]]
    screen.flush()
    texts = [text for output in page.texts for text in output]
    hidden = set(latest) - set(texts)
    assert len(texts) == len(set(texts))
    assert set(texts) <= set(latest)
    open_outputs = [output for output in page.texts[own:] if any(text.endswith("?") for text in output)]
    assert all(len(output) == 1 for output in open_outputs), "what is open is in no group"
    assert len(open_outputs) <= MAX_OPEN
    assert not hidden or len(open_outputs) == MAX_OPEN, "nothing is put off while there is room"


async def test_groups_are_redrawn_a_few_times_a_second_and_at_the_end() -> None:
    page = Page()
    screen = GroupedScreen(page)
    for number in range(100):
        screen.show(settled(number), str(number), False)
    await until(lambda: len(numbers(page)) == 100)


def test_a_moved_screen_shows_everything_in_the_other_cell() -> None:
    page, other = Page(), Page()
    screen = GroupedScreen(page, own=1)
    for number in range(20):
        screen.show(settled(number), str(number), False)
    screen.move(other)
    screen.show(settled(20), "20", False)
    screen.show(settled(3, 7), "3", True)
    screen.flush()
    assert numbers(other) == list(range(21))
    assert "3.7" in [text for output in other.texts for text in output]


def test_a_card_that_changed_nothing_is_folded_in_a_group() -> None:
    screen = GroupedScreen(Page(), own=0)
    card = Card(
        id="1",
        state="success",
        tool="read",
        icon="file",
        subject="a.py",
        status="Done",
        blocks=(TextBlock(text="text"),),
    )
    read, changed = screen.draw(card), screen.draw(card.model_copy(update={"record": "Allowed by rule edit"}))
    assert read[MIME]["folded"] is True  # type: ignore[index]
    assert not changed[MIME].get("folded")  # type: ignore[attr-defined]
    assert not GroupedScreen(Page()).draw(card)[MIME].get("folded")  # type: ignore[attr-defined]
