"""A session as one file to share: what is in it, what is not, and how large it is."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nbtools import traces
from nbtools.core.errors import TraceError
from nbtools.core.redaction import encodings
from nbtools.traces.explorer.explorer import open_trace
from nbtools.traces.sharing.model import SharedLog
from nbtools.traces.sharing.page import ShareOptions, shared_page
from nbtools.traces.sharing.shortening import shortened
from nbtools.traces.sharing.wire_texts import texts_in
from tests.browser.long_log import write_log
from tests.traces.column_reader import rows
from tests.traces.explorer.asking import ask, listed
from tests.traces.explorer.samples import CLAUDE, LOGS, sample
from tests.traces.sharing.planted import HOME, secrets, write_planted_log

DATA = re.compile(r'<script type="text/plain" id="nbtools-data">([A-Za-z0-9+/=]*)</script>')
STEPS = 1_000
MOST_BYTES = 3_000_000


def data_of(page: str) -> dict[str, Any]:
    found = DATA.search(page)
    assert found
    data: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(found[1])))
    SharedLog.model_validate(data)
    return data


def rows_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of the list."""
    block = SharedLog.model_validate(data).rows.block
    assert block
    return rows(block, bytes(ord(character) & 0xFF for character in data["data"]))


def everything_in(page: str) -> str:
    """The page without its data, its data as JSON, the rows of its list, and each text of the data,
    with the lines of spans as one text.
    """
    data = data_of(page)
    listed = [value for row in rows_of(data) for value in row.values() if isinstance(value, str)]
    texts = [text for opened in data["opened"] for text in texts_in({"opened": opened})]
    return "\n".join([DATA.sub("", page), json.dumps(data, ensure_ascii=False), *listed, *texts])


@pytest.mark.parametrize("turned", range(8))
def test_none_of_100_planted_secrets_is_left(tmp_path, turned):
    """In what persons and agents say, thoughts, commands, outputs, diffs, paths and nested JSON:
    each kind in each of these places.
    """
    planted = secrets(turned)
    assert len(planted) >= 100
    assert len({one.kind for one in planted}) >= 30
    log = write_planted_log(tmp_path / "session.jsonl", planted[turned:] + planted[:turned])
    page, removed = shared_page(traces.load(log), ShareOptions())
    text = everything_in(page)
    left = [
        one.kind
        for one in planted
        for part in one.secret.split("\n")
        if any(form in text for form in encodings(part))
    ]
    assert left == []
    assert "margarethe" not in text
    assert "[redacted: " in text
    assert sum(one.kind != "home folder or user name" for one in removed) >= 100


def test_a_preview_lists_the_removed_secrets_and_single_ones_can_stay(tmp_path):
    planted = [one for one in secrets(3) if one.kind in {"GitHub token", "GitLab token"}][:2]
    trace = traces.load(write_planted_log(tmp_path / "session.jsonl", planted))
    found = traces.find_secrets(trace, home=False)
    assert [(one.kind, one.shown[:5], one.count > 0) for one in found] == [
        ("GitHub token", "ghp_…", True),
        ("GitLab token", "glpa…", True),
    ]
    assert not any(one.secret in repr(found) for one in planted)
    text = everything_in(shared_page(trace, ShareOptions(keep=(found[0].id,)))[0])
    assert planted[0].secret in text
    assert planted[1].secret not in text
    assert [one.kept for one in shared_page(trace, ShareOptions(keep=(found[0].id,), home=False))[1]] == [
        True,
        False,
    ]


def test_own_patterns_are_removed_everywhere(tmp_path):
    records = [
        ("user", {"role": "user"}, "Customer ACME-4711 complains."),
        (
            "assistant",
            {"role": "assistant", "id": "m"},
            [{"type": "text", "text": "About ACME-4711 and ACME-12."}],
        ),
    ]
    trace = traces.load(write_log(tmp_path / "session.jsonl", HOME, records))
    path = traces.share(trace, tmp_path / "shared.html", redact=r"ACME-\d+")
    assert "ACME" not in everything_in(path.read_text())
    found = traces.find_secrets(trace, redact=[r"ACME-\d+"], home=False)
    assert [(one.kind, one.shown, one.count) for one in found] == [
        ("pattern", "ACM… (9 characters)", 2),
        ("pattern", "AC… (7 characters)", 1),
    ]
    with pytest.raises(TraceError, match="regular expression"):
        traces.share(trace, tmp_path / "never.html", redact=["("])
    assert not (tmp_path / "never.html").exists()


def test_a_secret_is_removed_where_nothing_tells_it(tmp_path):
    """Its name occurs once; then only its value."""
    records = [
        ("user", {"role": "user"}, "The value is qWx81nD0pLz7vB3k, use it."),
        (
            "assistant",
            {"role": "assistant", "id": "m"},
            [{"type": "text", "text": "api_key = 'qWx81nD0pLz7vB3k'"}],
        ),
        ("user", {"role": "user"}, f"In base64: {base64.b64encode(b'qWx81nD0pLz7vB3k').decode()}"),
    ]
    page, _ = shared_page(traces.load(write_log(tmp_path / "session.jsonl", HOME, records)), ShareOptions())
    assert not any(form in everything_in(page) for form in encodings("qWx81nD0pLz7vB3k"))


def test_nothing_is_left_of_a_secret_in_which_a_label_ends(tmp_path):
    token = "ghp_zzB2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7Q9"
    read = {
        "type": "tool_use",
        "id": "r",
        "name": "Read",
        "input": {"file_path": f"/srv/{'d' * 170}/{token}"},
    }
    records = [
        ("user", {"role": "user"}, "Read it."),
        ("assistant", {"role": "assistant", "id": "m"}, [read]),
    ]
    page, _ = shared_page(traces.load(write_log(tmp_path / "session.jsonl", HOME, records)), ShareOptions())
    assert token[:8] not in everything_in(page)


def test_home_folders_become_a_tilde_unless_they_stay(tmp_path):
    records = [
        (
            "user",
            {"role": "user"},
            "See /home/margarethe/shop/a.py and C:\\Users\\margarethe\\b.py, says Margarethe.",
        )
    ]
    trace = traces.load(write_log(tmp_path / "session.jsonl", HOME, records))
    assert "See ~/shop/a.py and ~\\\\b.py, says Margarethe." in everything_in(
        shared_page(trace, ShareOptions())[0]
    )
    assert "/home/margarethe/shop/a.py" in everything_in(shared_page(trace, ShareOptions(home=False))[0])


def test_pictures_stay_as_they_are(tmp_path):
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 3).decode()
    use = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": f"{HOME}/a.png"}}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
    records = [
        ("user", {"role": "user"}, "Look."),
        ("assistant", {"role": "assistant", "id": "m"}, [use]),
        ("user", {"role": "user"}, [{"type": "tool_result", "tool_use_id": "t", "content": [image]}]),
    ]
    data = data_of(
        shared_page(traces.load(write_log(tmp_path / "session.jsonl", HOME, records)), ShareOptions())[0]
    )
    assert picture in [block.get("data") for opened in data["opened"] for block in opened["card"]["blocks"]]


@pytest.mark.parametrize("log", LOGS)
def test_every_format_is_shared_with_all_its_steps(log):
    explorer = open_trace(sample(log))
    data = data_of(shared_page(explorer.trace, ShareOptions(home=False))[0])
    assert [row["number"] for row in rows_of(data)] == list(explorer.lines.numbers)
    chips = Counter(data["rows"]["chips"][chip]["key"] for row in rows_of(data) for chip in row["chips"])
    assert [opened["line"] for opened in data["opened"]] == list(range(explorer.size))
    assert all(opened["raw"] == opened["replay"] == opened["link"] == "" for opened in data["opened"])
    assert chips == Counter(key for row in listed(explorer) for key in row["chips"])


def test_the_file_allows_one_script_and_one_style_sheet_by_their_hashes():
    page, _ = shared_page(traces.load(sample(CLAUDE)), ShareOptions())
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    script = page.rpartition('<script type="module">')[2].partition("</script>")[0]
    style = page.partition("<style>")[2].partition("</style>")[0]
    assert policy[1].replace("&#39;", "'").split("; ") == [
        "default-src 'none'",
        f"script-src '{digest(script)}'",
        f"style-src '{digest(style)}'",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    assert page.count("<script") == 2
    assert page.count("</script>") == 2


def digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def test_an_existing_file_is_never_overwritten(tmp_path):
    trace = traces.load(sample("swe-agent/pydicom__pydicom-1458.traj"))
    assert traces.share(trace, tmp_path / "session.html") == tmp_path / "session.html"
    before = (tmp_path / "session.html").read_bytes()
    assert traces.share(trace, tmp_path / "session.html") == tmp_path / "session-1.html"
    assert (tmp_path / "session.html").read_bytes() == before
    with pytest.raises(TraceError, match="No such file"):
        traces.share(trace, tmp_path / "missing" / "session.html")


def test_a_session_of_1000_steps_has_at_most_3_mb(tmp_path):
    """Made of a real session as often as needed, each time with other ids."""
    log = tmp_path / "session.jsonl"
    log.write_text(
        "".join(_renumbered(sample(CLAUDE).read_text(encoding="utf-8"), number) for number in range(9)),
        encoding="utf-8",
    )
    page, _ = shared_page(traces.load(log), ShareOptions())
    assert len(rows_of(data_of(page))) >= STEPS
    assert len(page.encode()) <= MOST_BYTES


def _renumbered(text: str, number: int) -> str:
    """Returns the records with other ids, and other words: repeated ones would compress too well."""
    return "".join(json.dumps(_other(json.loads(line), number)) + "\n" for line in text.splitlines())


def _other(value: Any, number: int, name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _other(part, number, key) for key, part in value.items()}
    if isinstance(value, list):
        return [_other(part, number, name) for part in value]
    if isinstance(value, str) and name in {
        "id",
        "uuid",
        "parentUuid",
        "tool_use_id",
        "requestId",
        "messageId",
    }:
        return f"{value}{number}"
    if isinstance(value, str) and " " in value:
        return re.sub(r"\b[a-z]{4,}\b", lambda word: f"{word[0]}{number}", value)
    return value


def test_long_outputs_are_cut_with_a_note(tmp_path):
    """The sizes of this session, which no budget could hold, come from random words."""
    output = "\n".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(30_000))
    records: list[Any] = [("user", {"role": "user"}, output)]
    for number in range(20):
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": "cat big"}}
        records.append(("assistant", {"role": "assistant", "id": f"m{number}"}, [use]))
        records.append(
            (
                "user",
                {"role": "user"},
                [{"type": "tool_result", "tool_use_id": f"t{number}", "content": output}],
            )
        )
    page, _ = shared_page(traces.load(write_log(tmp_path / "session.jsonl", HOME, records)), ShareOptions())
    assert len(page.encode()) <= MOST_BYTES
    assert "1,929,999" not in page
    assert re.search(r"⋯ [\d,]+ characters left out of this file ⋯", everything_in(page))


def test_a_page_asks_for_a_preview_and_then_for_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    explorer = open_trace(sample(CLAUDE))
    preview = ask(explorer, "share")
    assert preview.path == ""
    assert list(tmp_path.iterdir()) == []
    written = ask(explorer, "share", write=True, home=False)
    assert Path(written.path).parent == tmp_path
    assert Path(written.path).stat().st_size == written.size
    assert "share" in explorer.view().actions


def hostile_records() -> Iterator[Any]:
    texts = (
        "</script><script>alert(1)</script>",
        "<!--<script>",
        "\u2028\u2029",
        "x" * 300_000,
        "\ud800",
        "]]>",
        "<img src=x onerror=alert(1)>",
    )
    for text in texts:
        yield "user", {"role": "user"}, text
        use = {
            "type": "tool_use",
            "id": f"t{len(text)}",
            "name": text[:50],
            "input": {"command": text, "file_path": text[:100]},
        }
        yield "assistant", {"role": "assistant", "id": f"m{len(text)}"}, [use]


def test_a_hostile_log_adds_nothing_to_the_markup(tmp_path):
    page, _ = shared_page(
        traces.load(write_log(tmp_path / "session.jsonl", "/tmp/<script>", hostile_records())), ShareOptions()
    )
    assert page.count("<script") == 2
    assert "alert(1)" not in DATA.sub("", page).replace("&lt;/script&gt;&lt;script&gt;alert(1)", "")
    assert len(page) < 400_000


def test_the_beginning_and_the_end_of_a_shortened_output_have_at_most_the_characters_that_are_allowed() -> (
    None
):
    lines = [[["x" * 10, ""]] for _ in range(200)] + [[[f"{number} {'y' * 300}", ""]] for number in range(30)]
    kept = shortened({"type": "output", "lines": lines}, 3_000)["lines"]
    (gap,) = (at for at, line in enumerate(kept) if "left out" in line[0][0])
    assert kept[:gap] == lines[:gap]
    assert kept[gap + 1 :] == lines[-len(kept[gap + 1 :]) :]
    assert sum(len(line[0][0]) + 1 for line in (*kept[:gap], *kept[gap + 1 :])) <= 3_000
    assert gap > 0
    assert kept[-1] == lines[-1]
