"""One file for each learner: without secrets, without the names of the others, without foreign scripts."""

from __future__ import annotations

import re
from pathlib import Path
from unicodedata import normalize

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.traces.reviews.review import Review
from tests.traces.reviews.logs import Log
from tests.traces.sharing.test_page import DATA, everything_in
from tests.traces.submissions.work import code, log_with_tests, session_id, submissions, write_notebook

TOKEN = "ghp_zzB2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7Q9"


@pytest.fixture(autouse=True)
def reviewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NBTOOLS_REVIEWER", "tea")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return submissions(tmp_path)


def text_of(page: str) -> str:
    return everything_in(page) if DATA.search(page) else page


def pages(work: Path, **options: object) -> dict[str, str]:
    found = traces.learners(work, rubric={"explains": "Says why."})
    return {path.stem: text_of(path.read_text()) for path in found.share(work.parent / "out", **options)}


def test_each_learner_gets_a_file_with_own_sessions_notebooks_and_marks(work: Path) -> None:
    review = Review(traces.load(work / "anna/session.jsonl"))
    review.note(None, "Well tested.")
    traces.learners(work, rubric=["explains"]).review.label(work / "anna/session.jsonl", "explains")
    shared = pages(work)
    assert shared.keys() == {"anna", "ben", "carla"}
    assert "Add up the prices." in shared["anna"]
    assert "3 of 3 code cells run, in order, 1 error (NameError), 1 empty" in shared["anna"]
    assert "✓ tea" in shared["anna"]
    assert "Well tested." in shared["anna"]
    assert "Edits after tests" in shared["anna"]
    assert "not in order" in shared["carla"]
    assert "<script" not in shared["carla"]


def test_no_file_names_another_learner_or_has_a_secret(work: Path) -> None:
    log = log_with_tests(4, f"Ben and CARLA said: use {TOKEN}, as in /submissions/ben/x.py")
    log.call("Read", {"file_path": "/srv/submissions/carla/hw1.ipynb"}, "carla's work, token " + TOKEN)
    log.write(work / "anna/more.jsonl")
    write_notebook(work / "anna/with-ben.ipynb", code("x", 1, error=f"Ben {TOKEN}"))
    Review(traces.load(work / "anna/session.jsonl")).note(None, "Is the same as Ben's.")
    (work / "carla/session.jsonl").write_bytes((work / "anna/session.jsonl").read_bytes())
    shared = pages(work)
    assert not re.search(r"\bben\b|carla", shared["anna"], re.IGNORECASE)
    assert not re.search(r"\banna\b|\bben\b", shared["carla"], re.IGNORECASE)
    assert all(TOKEN not in page and TOKEN[:8] not in page for page in shared.values())
    assert "GitHub token" in shared["anna"]
    assert "names of other people, and patterns" in shared["anna"]
    assert "Removed from this file" in shared["ben"]


@pytest.mark.parametrize("name", ["José García", "Müller-Lüdenscheidt", "Zoë"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_names_with_accents_are_removed_in_both_forms(tmp_path: Path, name: str, form: str) -> None:
    """MacOS may have letters and accents of a folder's name apart."""
    for folder in ("anna", normalize(form, name)):
        (tmp_path / "all" / folder).mkdir(parents=True)
    said = f"As {normalize('NFC', name)} and {normalize('NFD', name)} wrote"
    Log(session_id(1)).person(said).agent("Yes.").write(tmp_path / "all/anna/session.jsonl")
    found = traces.learners(tmp_path / "all")
    (path,) = (path for path in found.share(tmp_path / "out") if path.stem == "anna")
    shared = normalize("NFC", text_of(path.read_text()))
    assert "As [redacted" in shared
    assert normalize("NFC", name) not in shared


def test_a_page_has_no_script_but_its_own(work: Path) -> None:
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"
    Log(session_id(6)).person(hostile).agent(hostile).write(work / "ben/hostile.jsonl")
    write_notebook(work / "ben/<script>alert(2)<.ipynb", code(hostile, 1, error=hostile))
    (path,) = (path for path in traces.learners(work).share(work.parent / "out") if path.stem == "ben")
    page = path.read_text()
    assert len(re.findall(r"<script", page)) == 2  # the data, and the page's own
    assert "alert(" not in DATA.sub("", page).replace("&lt;script&gt;alert(", "").replace(
        "onerror=alert(", ""
    )
    assert "<img src" not in page
    assert "default-src 'none'" in page


def test_a_name_leaves_the_folder_of_the_files_nowhere(work: Path) -> None:
    for name in ("..", "../x", "..evil", "a/b"):
        folder = work / name.replace("/", "⁄")
        folder.mkdir(exist_ok=True)
    paths = traces.learners(work).share(work.parent / "out/deep")
    assert {path.parent for path in paths} == {work.parent / "out/deep"}
    assert len(set(paths)) == len(paths)


def test_numbers_as_names_stay_and_a_word_of_the_data_is_refused(tmp_path: Path) -> None:
    root = tmp_path / "all"
    for name in ("01", "2"):
        (root / name).mkdir(parents=True)
        log_with_tests(int(name)).write(root / name / "session.jsonl")
    for path in traces.learners(root).share(tmp_path / "out"):
        assert "Add up the prices." in text_of(path.read_text())
    (root / "diff").mkdir()
    with pytest.raises(TraceError, match="Rename the folder"):
        traces.learners(root).share(tmp_path / "out")


def test_a_log_that_is_gone_is_named_in_the_file(work: Path) -> None:
    found = traces.learners(work)
    (work / "ben/session.jsonl").unlink()
    (path,) = (path for path in found.share(work.parent / "out") if path.stem == "ben")
    assert "The sessions" in path.read_text()


def test_an_existing_file_stays(work: Path) -> None:
    first, second = (traces.learners(work).share(work.parent / "out") for _ in range(2))
    assert not set(first) & set(second)
