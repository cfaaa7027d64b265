"""The methods of a trace and of a call that became functions warn, and do what the functions do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from nbtools import replay, to_notebook, traces
from nbtools.traces import Trace
from nbtools.traces.explorer.saved_filters import FilterFile, SavedFilter
from nbtools.traces.reviews.review import Review, review
from tests.replay.samples import edit, log, shop

Act = Callable[[Trace, Path], Any]
ALIASES: dict[str, tuple[str, Act, Act]] = {
    "to_html": (
        "traces.share",
        lambda trace, folder: trace.to_html(folder / "a.html").read_bytes(),
        lambda trace, folder: traces.share(trace, folder / "b.html").read_bytes(),
    ),
    "to_notebook": (
        "nbtools.to_notebook",
        lambda trace, folder: trace.to_notebook(folder / "a.ipynb", lesson=True).read_bytes(),
        lambda trace, folder: to_notebook(trace, folder / "b.ipynb", lesson=True).read_bytes(),
    ),
    "find_secrets": (
        "traces.find_secrets",
        lambda trace, _: trace.find_secrets(redact=r"price = \d"),
        lambda trace, _: traces.find_secrets(trace, redact=r"price = \d"),
    ),
    "filter": (
        "traces.filter",
        lambda trace, _: trace.filter("price"),
        lambda trace, _: traces.filter(trace, "price"),
    ),
    "review": ("traces.review", lambda trace, _: trace.review, lambda trace, _: traces.review(trace)),
    "labels": (
        "traces.review",
        lambda trace, _: trace.labels,
        lambda trace, _: traces.review(trace).labels,
    ),
    "signals": (
        "traces.review",
        lambda trace, _: trace.signals,
        lambda trace, _: traces.review(trace).signals,
    ),
    "label": (
        "traces.review",
        lambda trace, _: trace.label("2", "loop"),
        lambda trace, _: traces.review(trace).label("2", "loop"),
    ),
    "note": (
        "traces.review",
        lambda trace, _: trace.note("2", "Why?").value,
        lambda trace, _: traces.review(trace).note("2", "Why?").value,
    ),
    "verdict": (
        "traces.review",
        lambda trace, _: trace.verdict(None, "fail"),
        lambda trace, _: traces.review(trace).verdict(None, "fail"),
    ),
    "replay": (
        "nbtools.replay.replay_sync",
        lambda trace, folder: str(trace.calls[0].replay(folder / "shop")),
        lambda trace, folder: str(replay.replay_sync(trace.calls[0], folder / "shop")),
    ),
    "replay_async": (
        "nbtools.replay.replay",
        lambda trace, folder: str(asyncio.run(trace.calls[0].replay_async(folder / "shop"))),
        lambda trace, folder: str(asyncio.run(replay.replay(trace.calls[0], folder / "shop"))),
    ),
}


@pytest.mark.parametrize("name", ALIASES)
def test_a_deprecated_method_names_the_function_that_it_calls(name: str, tmp_path: Path) -> None:
    function, method, replacement = ALIASES[name]
    shop(tmp_path / "shop")
    trace = log(tmp_path / "log.jsonl", edit("price = 5", "price = 3"))
    FilterFile().save(SavedFilter(name="price", text="price"))
    expected = replacement(trace, tmp_path)
    with pytest.warns(DeprecationWarning, match=rf"\b{name}\b.* deprecated .*{function}") as warned:
        assert method(trace, tmp_path) == expected
    assert [Path(one.filename).name for one in warned] == [Path(__file__).name]


def test_the_earlier_package_of_reviews_can_be_imported() -> None:
    with pytest.warns(DeprecationWarning, match=r"nbtools\.traces\.reviews"):
        exchange = import_module("nbtools.traces.review.exchange")
    assert exchange.write_jsonl.__module__ == "nbtools.traces.reviews.exchange"
    assert import_module("nbtools.traces.review.review").Review is Review
    assert traces.review is review
