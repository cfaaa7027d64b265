"""The notes and labels of a review are in a shared file only if the person says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from nbtools import traces
from nbtools.traces import Trace, load
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.reviews.review import Review, review
from nbtools.traces.sharing.page import ShareOptions, shared_page
from tests.traces.explorer.asking import ask
from tests.traces.reviews.logs import session
from tests.traces.sharing.test_page import data_of, everything_in

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
HOSTILE = f"<img src=x onerror=alert(1)>\u202e {TOKEN}"


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trace:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_REVIEWER", "ana")
    trace = load(session().write(tmp_path / "log.jsonl"))
    note = review(trace).note(trace.calls[0], HOSTILE)
    review(trace).sort_note(note, "loop")
    review(trace).label((trace.calls[1], trace.calls[2]), "loop", span="make")
    Review(trace, reviewer="<b>ben</b>").verdict(None, "fail")
    return trace


def notes_in(page: str) -> list[tuple[str, str, str]]:
    """The step, the label and the text of each."""
    return [
        (opened["number"], one["label"], one["parts"][0]["text"])
        for opened in data_of(page)["opened"]
        for one in opened["around"]
        if one["label"].startswith(("Note", "Label", "Verdict"))
    ]


def test_none_by_default(trace: Trace, tmp_path: Path) -> None:
    page, _ = shared_page(trace, ShareOptions())
    assert notes_in(page) == []
    assert "ana" not in everything_in(page).replace("language", "")
    assert data_of(page)["facets"] == []
    assert "onerror" not in traces.share(trace, tmp_path / "a.html").read_text(encoding="utf-8")


def test_notes_are_shown_beside_their_steps_without_secrets(trace: Trace) -> None:
    page, removed = shared_page(trace, ShareOptions(notes=True))
    assert [(step, label) for step, label, _ in notes_in(page)] == [
        ("1", "Verdict by <b>ben</b>, session"),
        ("2", "Note by ana"),
        ("3", "Label by ana, steps 3–4"),
    ]
    texts = [text for *_, text in notes_in(page)]
    assert (texts[0], texts[2]) == ("fail", "“make”: loop")
    assert texts[1].startswith("<img src=x onerror=alert(1)>")
    assert texts[1].endswith("(loop)")
    assert "\u202e" not in texts[1]
    assert TOKEN not in everything_in(page)
    assert [secret.places for secret in removed if secret.shown.startswith("ghp_")] == [("2",)]
    (facet,) = data_of(page)["facets"]
    chips = {choice["key"]: choice["lines"] for choice in facet["choices"]}
    assert chips == {"review:loop": [1, 2, 3], "review:note": [1]}


def test_python_writes_them_too(trace: Trace, tmp_path: Path) -> None:
    page = traces.share(trace, tmp_path / "session.html", notes=True).read_text(encoding="utf-8")
    assert len(notes_in(page)) == 3
    assert TOKEN not in everything_in(page)
    assert any(secret.shown.startswith("ghp_") for secret in traces.find_secrets(trace, notes=True))
    assert not any(secret.shown.startswith("ghp_") for secret in traces.find_secrets(trace))


def test_the_preview_counts_them(trace: Trace) -> None:
    explorer = Explorer(trace)
    plain, with_notes = (ask(explorer, "share", notes=notes) for notes in (False, True))
    assert (plain.notes, with_notes.notes) == (3, 3)
    assert (len(plain.secrets), len(with_notes.secrets)) == (0, 1)


def test_notes_without_a_step_are_left_out(trace: Trace, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text(log.read_text(encoding="utf-8").replace('"ls"', '"ls -l"'), encoding="utf-8")
    page, _ = shared_page(load(log), ShareOptions(notes=True))
    assert [label for _, label, _ in notes_in(page)] == ["Note by ana, the step has changed since"]
