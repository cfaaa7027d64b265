"""``nbtools trace --learners``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from nbtools.cli import main
from tests.traces.submissions.work import submissions


@pytest.fixture
def work(tmp_path: Path) -> str:
    (tmp_path / "rubric.toml").write_text('codes = [{name = "explains", key = "1"}]')
    return str(submissions(tmp_path))


def test_learners_are_printed_as_a_table_or_as_json(work: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["trace", "--learners", work, "--rubric", f"{work}/../rubric.toml"]) == 0
    printed = capsys.readouterr().out
    assert "3 learners · 2 sessions · 2 notebooks" in printed
    assert "explains" in printed
    assert "anna/README.md" in printed
    assert main(["trace", "--learners", work, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["learner"] for one in facts["learners"]] == ["anna", "ben", "carla"]
    assert [Path(one["path"]).name for one in facts["left_out"]] == ["README.md"]


def test_a_file_is_written_for_each_learner(
    work: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secrets.txt").write_text("prices\n")
    redact = ["--redact", str(tmp_path / "secrets.txt")]
    assert main(["trace", "--learners", work, "--share", str(tmp_path / "out"), *redact]) == 0
    paths = list(map(Path, capsys.readouterr().out.split()))
    assert [path.name for path in paths] == ["anna.html", "ben.html", "carla.html"]
    assert all(path.is_file() for path in paths)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--learners", "WORK", "latest"], "one name too many"),
        (["--learners", "WORK", "--search", "x"], "--search"),
        (["--learners", "WORK", "--baseline", "B"], "--baseline"),
        (["--learners", "WORK", "--all"], "--all"),
        (["--learners", "WORK", "--left-out"], "--left-out"),
        (["--learners", "WORK", "--redact", "secrets.txt"], "--share"),
        (["--share", "out"], "--learners FOLDER"),
        (["--learners", "WORK/none"], "cannot be read"),
        (["--learners", "WORK", "--rubric", "none.toml"], "none.toml cannot be read"),
    ],
)
def test_words_that_do_not_fit_are_refused(
    work: str, words: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["trace", *(word.replace("WORK", work) for word in words)]) == 1
    assert named in capsys.readouterr().err
