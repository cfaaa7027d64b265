"""Failures around a corpus: logs that change under it, two that want it, a disk that is full or read-only,
other versions.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.traces.corpus import Corpus
from tests.traces.atif_logs import many, write

INGEST = """
import sys
from nbtools.traces import Corpus, TraceError
if __name__ == "__main__":
    {before}
    try:
        print(Corpus(sys.argv[1]).ingest(sys.argv[2] + "/*.json", progress=False))
    except TraceError as error:
        print("TraceError:", error)
"""


class Concurrent:
    """An executor before whose work something happens."""

    def __init__(self, happens: Callable[[], object]) -> None:
        self._happens = happens

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        self._happens()
        done: Future[Any] = Future()
        done.set_result(work(*arguments))
        return done


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        write(tmp_path / "logs" / f"{name}.json", f"this is {name}", *many(3), session=name)
    return tmp_path / "logs"


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path / "corpus")


def other(corpus: Corpus, logs: Path, before: str = "pass") -> subprocess.Popen[str]:
    code = INGEST.format(before=before)
    return subprocess.Popen(
        [sys.executable, "-c", code, str(corpus.folder), str(logs)], stdout=subprocess.PIPE, text=True
    )


OPEN = """
import sys
from nbtools.traces import Corpus, TraceError
print("ready", flush=True)
for folder in sys.stdin:
    try:
        Corpus(folder.strip())
        print(folder, end="", flush=True)
    except TraceError as error:
        print(error, flush=True)
"""
PIPES: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}


def test_processes_that_make_one_corpus_at_the_same_moment_wait_for_each_other(tmp_path: Path) -> None:
    openers = [subprocess.Popen([sys.executable, "-c", OPEN], **PIPES) for _ in range(3)]
    try:
        assert [one.stdout.readline() for one in openers] == ["ready\n"] * 3
        for folder in [f"{tmp_path / str(number)}\n" for number in range(20)]:
            for one in openers:
                one.stdin.write(folder)
                one.stdin.flush()
            assert [one.stdout.readline() for one in openers] == [folder] * 3
    finally:
        for one in openers:
            one.communicate(timeout=60)


def test_a_log_that_grows_while_it_is_read_is_read_again(corpus: Corpus, logs: Path) -> None:
    grown = logs / "a.json"
    client = Concurrent(lambda: write(grown, "this is more", *many(5), session="a"))
    assert str(grown) in corpus.ingest(f"{logs}/*.json", client=client).read
    assert corpus.ingest(f"{logs}/*.json").read == (str(grown),)
    assert corpus.sql("select count(*) from calls where session = 'a'").fetchall() == [(5,)]


def test_a_log_that_goes_while_it_is_read_is_a_problem_and_then_gone(corpus: Corpus, logs: Path) -> None:
    gone = logs / "a.json"
    made = corpus.ingest(f"{logs}/*.json", client=Concurrent(lambda: gone.unlink(missing_ok=True)))
    assert list(made.problems) == [str(gone)]
    assert len(made.read) == 2
    assert corpus.ingest(f"{logs}/*.json").gone == (str(gone),)
    assert len(corpus.sql("from problems")) == 0


def test_another_log_of_the_same_size_and_time_is_noticed(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    log = logs / "a.json"
    before = log.stat()
    log.write_bytes(log.read_bytes().replace(b"this is a", b"that is a"))
    os.utime(log, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (log.stat().st_size, log.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert corpus.ingest(f"{logs}/*.json").read == (str(log),)
    assert len(corpus.search('"that is a"')) == 1


def test_a_corpus_that_was_moved_answers_and_knows_its_logs(
    corpus: Corpus, logs: Path, tmp_path: Path
) -> None:
    corpus.ingest(f"{logs}/*.json")
    corpus.close()
    moved = Corpus(shutil.move(corpus.folder, tmp_path / "moved"))
    assert len(moved.sessions) == 3
    assert moved.search('"this is b"')[0].row["text"] == "this is b"
    assert moved.ingest(f"{logs}/*.json").same == 3


@pytest.mark.skipif(
    shutil.which("unshare") is None or os.geteuid() != 0, reason="a folder is made read-only by a mount"
)
def test_a_read_only_corpus_answers_and_says_why_it_ingests_nothing(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(f"{logs}/*.json")
    corpus.close()
    write(logs / "d.json", "this is d", session="d")
    code = """
import sys
from nbtools.traces import Corpus, TraceError
corpus = Corpus(sys.argv[1])
print(len(corpus.sessions), len(corpus.search("this")), corpus.search('"is b"')[0].row["text"])
try:
    corpus.ingest(sys.argv[2])
except TraceError as error:
    print(error)
"""
    mounted = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && exec "$3" -c "$4" "$1" "$2"'
    command = [
        "unshare",
        "-m",
        "sh",
        "-c",
        mounted,
        "sh",
        str(corpus.folder),
        str(logs),
        sys.executable,
        code,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if "unshare failed" in done.stderr or "mount:" in done.stderr:
        pytest.skip(done.stderr.strip())
    first, second = done.stdout.splitlines()
    assert first == "3 3 this is b"
    assert "cannot be written to" in second


def test_a_full_disk_is_reported_and_ingest_continues_from_there(corpus: Corpus, logs: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))"
    for number in range(20):
        write(logs / f"long{number}.json", f"this is long {number}", *many(200), session=f"long{number}")
    told, _ = other(corpus, logs, limit).communicate(timeout=60)
    assert "TraceError" in told
    assert "cannot be written to" in told
    made = corpus.ingest(f"{logs}/*.json")
    assert len(made.read) + made.same == 23
    assert made.problems == {}
    assert corpus.sql("select count(*) from calls").fetchall() == [(4_009,)]
    assert len(corpus.search('"this is long 7"')) == 1


def change_catalogue(folder: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(folder / "catalogue.sqlite", isolation_level=None)) as database:
        database.execute(statement, values)


def test_a_corpus_of_another_version_says_so(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs)
    change_catalogue(corpus.folder, "pragma user_version = 99")
    with pytest.raises(traces.TraceError, match=r"newer nbtools.*new folder"):
        Corpus(corpus.folder)


@pytest.mark.parametrize("address", ["s3://key:secret@bucket/x", "gs://bucket", Path("s3://bucket/x")])
def test_an_address_of_an_object_store_is_refused_with_what_to_do(
    address: str | Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(traces.TraceError, match=r"aws s3 sync .* rclone sync") as raised:
        Corpus(address)
    assert "secret" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_the_machine_has_no_effect_and_warns(tmp_path: Path) -> None:
    with pytest.warns(DeprecationWarning, match="no effect"):
        Corpus(tmp_path, machine="here")


def test_files_of_somebody_else_in_the_folder_are_left_alone(corpus: Corpus, logs: Path) -> None:
    foreign = [corpus.folder / name for name in ("notes.txt", "parts/README.md", "parts/odd/calls.parquet")]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"somebody's")
    corpus.ingest(logs)
    (logs / "a.json").unlink()
    corpus.ingest(logs)
    assert len(Corpus(corpus.folder).sessions) == 2
    assert [path.read_bytes() for path in foreign] == [b"somebody's"] * len(foreign)


@pytest.mark.parametrize("name", ["corpus.sqlite", f"manifest/{1:020}-{'0' * 32}.v5.json.gz"])
def test_a_corpus_of_an_older_nbtools_says_so(tmp_path: Path, name: str) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"its contents")
    with pytest.raises(traces.TraceError, match=r"older nbtools.*new folder"):
        Corpus(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [file]
    assert file.read_bytes() == b"its contents"


@pytest.mark.parametrize("damage", [b"", b"no database", b"SQLite format 3\0" + b"\xff" * 4000])
def test_a_damaged_catalogue_says_what_to_do_and_nothing_is_deleted(
    corpus: Corpus, logs: Path, damage: bytes
) -> None:
    corpus.ingest(logs)
    before = sorted(corpus.folder.glob("parts/*/*"))
    file = corpus.folder / "catalogue.sqlite"
    os.truncate(file, 5_000)
    if damage:
        file.write_bytes(damage)
    for reader in (lambda: Corpus(corpus.folder), lambda: corpus.ingest(logs)):
        with pytest.raises(traces.TraceError, match=r"cannot be read.*new folder"):
            reader()
    assert sorted(corpus.folder.glob("parts/*/*")) == before


@pytest.mark.parametrize(
    "statement",
    [
        "insert into parts values (?, '[]', '{}')",
        "insert into logs values ('a', '[]', 'k', 1, 'f', '', ?, 1)",
    ],
)
def test_a_catalogue_of_somebody_else_deletes_and_reads_nothing_outside_the_corpus(
    statement: str, corpus: Corpus, logs: Path, tmp_path: Path
) -> None:
    victim = tmp_path / "victim" / "thesis.txt"
    victim.parent.mkdir()
    victim.write_text("years of work")
    change_catalogue(corpus.folder, statement, "../../victim")
    with suppress(traces.TraceError):
        Corpus(corpus.folder).ingest(logs)
    assert victim.exists()


@pytest.mark.parametrize(
    "statement",
    [
        f"update logs set files = '{'[' * 100_000}'",
        "alter table logs rename to old; create view logs as select * from old",
        "create trigger late after update on logs begin delete from parts; end",
    ],
    ids=["nested", "view", "trigger"],
)
def test_a_catalogue_that_no_ingest_wrote_is_refused(statement: str, corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs)
    for one in statement.split("; ") if "view" in statement else [statement]:
        change_catalogue(corpus.folder, one)
    with pytest.raises(traces.TraceError, match=r"catalogue\.sqlite"):
        Corpus(corpus.folder)


def test_the_logs_of_a_part_that_the_catalogue_does_not_list_are_read_again(
    corpus: Corpus, logs: Path
) -> None:
    corpus.ingest(logs)
    change_catalogue(corpus.folder, "delete from parts")
    assert len(corpus.ingest(logs).read) == 3
    assert len(corpus.sessions) == 3


def test_files_that_others_add_to_a_part_are_no_damage(corpus: Corpus, logs: Path) -> None:
    corpus.ingest(logs)
    for part in (corpus.folder / "parts").iterdir():
        (part / ".DS_Store").write_bytes(b"a file manager's")
    shutil.rmtree(logs)
    made = corpus.ingest(logs, keep=True)
    assert (made.gone, made.problems) == ((), {})
    assert len(corpus.sessions) == 3


def test_a_name_that_is_no_text_is_a_problem_and_stops_nothing(corpus: Corpus, logs: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(logs) + b"/odd\xff.json"))
    odd.write_bytes((logs / "a.json").read_bytes())
    for _ in range(2):
        made = corpus.ingest(f"{logs}/*.json")
        assert list(made.problems) == [str(odd)]
    assert len(corpus.sessions) == 3


def test_a_folder_stands_for_the_logs_below_it(corpus: Corpus, logs: Path) -> None:
    (logs / "deeper").mkdir()
    (logs / "c.json").rename(logs / "deeper" / "c.json")
    assert len(corpus.ingest(logs).read) == 3
    assert corpus.ingest(logs).same == 3


def test_a_script_that_starts_processes_on_import_gets_an_error_that_says_how_to(
    corpus: Corpus, logs: Path, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    lines = (
        "from nbtools.traces.corpus import parallel, Corpus",
        "parallel.map_files.__kwdefaults__['here'] = 1",
        f"Corpus({str(corpus.folder)!r}).ingest({str(logs)!r})",
    )
    script.write_text("\n".join(lines))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False, timeout=60)
    assert "could not be started. In a script, call ingest and load_many below `if __name__" in done.stderr
