"""The search for secrets before a session is shared finds tokens and leaves other texts."""

from __future__ import annotations

import base64
import itertools
import json
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools.core.secret_search import SecretSearch, patterns_by_word
from tests.traces.recorded import SAMPLES
from tests.traces.sharing.planted import secrets

SEARCH = SecretSearch()
HARMLESS = (
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id: 123e4567-e89b-12d3-a456-426614174000",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "max_tokens=4096, tokens: 1234567",
    "token = get_token(request)",
    'password = os.environ["DB_PASSWORD"]',
    "api_key: str = Field(default=None)",
    "export API_TOKEN=$(cat token.txt)",
    "PASSWORD=${PASSWORD}",
    'client_secret: "<your secret here>"',
    "the password must have eight characters",
    "next_page_token",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ8m1Yr7r3zHgZr2sQ4F2m1v1a5Vw6Xo7bYw8kKJ0Tq1 me@host",
    "Basic usage of bearer tokens",
    "https://user@example.com/path?key=value",
    "secret_name: my-secret",
    'tokens = {"input": 10}',
    "AWS_SECRET_ACCESS_KEY_FILE=/run/secrets/aws",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_stay(text):
    assert SEARCH.find(text) == []


@pytest.mark.parametrize("planted", secrets(5), ids=lambda one: one.kind)
def test_each_kind_is_found_where_it_is(planted):
    text = planted.text.replace("\0", "@")
    covered = "".join(text[start:end] for _, start, end in SEARCH.find(text))
    assert planted.secret in covered


@pytest.mark.parametrize(
    "pattern",
    {pattern.expression: pattern for _, pattern in patterns_by_word("run")}.values(),
    ids=lambda one: one.name,
)
@settings(max_examples=4, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_each_form_of_a_token_is_found_between_other_words(pattern, data):
    """Words of tokens are looked for in runs of certain characters only:
    no form may have another character, or be shorter.
    """
    token = data.draw(
        st.from_regex(
            pattern.expression, fullmatch=True, alphabet=st.characters(min_codepoint=33, max_codepoint=126)
        )
    )
    text = f"one two\n{token}\n; three"
    secret = pattern.expression.search(text)
    assert secret
    start, end = secret.span(pattern.expression.groups)
    assert any(one.start <= start and end <= one.end for one in SEARCH.find(text))


def test_escapes_hide_nothing():
    """JSON within JSON, as in the arguments of a tool that sends JSON."""
    text = 'url = "postgres://shop:b4tt3rystaple@db/shop"'
    for _ in range(4):
        text = json.dumps(text)
        assert any("b4tt3rystaple" in text[start:end] for _, start, end in SEARCH.find(text))
    text = r"https:\/\/shop:b4tt3ry\u0040db"
    assert [text[start:end] for _, start, end in SEARCH.find(text)] == ["b4tt3ry"]


def test_own_patterns_find_a_group_or_everything():
    search = SecretSearch((re.compile(r"ACME-\d+"), re.compile(r"badge (\w+)")))
    text = "ACME-17 and badge blue"
    assert [text[start:end] for _, start, end in search.find(text)] == ["ACME-17", "blue"]


@given(st.text(alphabet=st.sampled_from("ab1 :=/\\\"'\nu0041@key-_PASSWORD."), max_size=300))
def test_spans_are_in_order_and_inside(text):
    found = SEARCH.find(text)
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert all(one.end <= other.start for one, other in itertools.pairwise(found))


@pytest.mark.parametrize(
    "unit",
    ["a=", "password", "-----BEGIN ", "\\u0041", "://a:", 'key: "', "cookie: a=", "eyJ", "A" * 50 + "\n"],
)
def test_no_text_takes_long(unit):
    """The expressions are bounded: one that runs away would meet the time limit of tests."""
    text = unit * (200_000 // len(unit))
    assert all(one.end <= len(text) for one in SEARCH.find(text))


@pytest.mark.parametrize("width", [20, 64, 100])
def test_lines_of_a_certificate_beside_a_key_do_not_take_long(width):
    text = f"{'PRIVATE'} " + ("A" * width + "\n") * (200_000 // width)
    began = time.process_time()
    assert SEARCH.find(text) == []
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    "lines", ["A1b2" * 16 + "\nA1b2A1b2==\n", "A1b2" * 400 + "\n", "A1b2" * 5 + "\n" + "A1b2" * 16 + "\n"]
)
def test_the_end_of_a_key_is_found(lines):
    text = f"[...]\n{lines}-----END RSA {'PRIVATE'} KEY-----\n"
    assert [text[start:end] for _, start, end in SEARCH.find(text)] == [text[6:-1]]


def test_published_logs_have_no_false_alarm():
    """Some of them quote the beginnings of keys; none has a real one."""
    logs = [
        path
        for path in SAMPLES.rglob("*")
        if path.suffix in {".json", ".jsonl", ".traj"} and path.name != "facts.json"
    ]
    found = [
        (path.name, text[one.start : one.end])
        for path in logs
        for text in texts(path.read_text())
        for one in SEARCH.find(text)
    ]
    assert len(logs) > 30
    assert found == []


def texts(log: str) -> Iterator[str]:
    """Every string of a log: of one document, or of each line."""
    try:
        yield from strings(json.loads(log))
    except json.JSONDecodeError:
        for line in log.splitlines():
            try:
                yield from strings(json.loads(line))
            except json.JSONDecodeError:
                yield line


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.mark.parametrize(
    "between",
    ["\u200b", "\u00ad", "\ufeff", "\r", "\x1b[31m", "\x1b]8;;http://x\x07", "\n", "\n    ", "\r\n"],
)
def test_a_token_in_two_pieces_is_found_whole(between: str) -> None:
    text = f"the token is {TOKEN[:20]}{between}{TOKEN[20:]} and more"
    assert [text[one.start : one.end].replace(between, "") for one in SEARCH.find(text)] == [TOKEN]
    coded = json.dumps(text)
    assert [
        json.loads(f'"{coded[one.start : one.end]}"').replace(between, "") for one in SEARCH.find(coded)
    ] == [TOKEN]


@pytest.mark.parametrize("code", [base64.b64encode, base64.urlsafe_b64encode])
@pytest.mark.parametrize("text", [TOKEN, f"export GITHUB_TOKEN={TOKEN}\n"])
def test_a_token_in_base64_is_found(text: str, code: Callable[[bytes], bytes]) -> None:
    coded = code(text.encode()).decode()
    line = f"data: {coded}"
    assert [line[one.start : one.end] for one in SEARCH.find(line)] == [coded]


def test_the_word_in_the_next_line_does_not_belong_to_a_token() -> None:
    text = f"{TOKEN}\nnext line"
    assert [text[one.start : one.end] for one in SEARCH.find(text)] == [TOKEN]


@pytest.mark.parametrize("width", [20, 57, 64, 76])
@pytest.mark.parametrize("indent", ["", "    "])
@pytest.mark.parametrize(
    ("before", "after"), [("", ""), ("data: ", "\n"), ("", "\n\nthe end"), ("", "\nend")]
)
def test_a_token_in_wrapped_base64_is_found(width: int, indent: str, before: str, after: str) -> None:
    coded = base64.b64encode(f"first=1\nexport GITHUB_TOKEN={TOKEN}\nlast=2 {'x' * 40}\n".encode()).decode()
    wrapped = f"\n{indent}".join(coded[at : at + width] for at in range(0, len(coded), width))
    text = f"{before}{wrapped}{after}"
    found = [text[one.start : one.end] for one in SEARCH.find(text)]
    assert any(wrapped in one for one in found)


@pytest.mark.parametrize(
    "code",
    [
        lambda one: f"&#{ord(one)};",
        lambda one: f"&#x{ord(one):x};",
        lambda one: "&lowbar;" if one == "_" else one,
    ],
)
def test_a_token_in_entities_of_html_is_found(code: Callable[[str], str]) -> None:
    coded = "".join(map(code, TOKEN))
    for text in (f"<p>the token is {coded} and more</p>", json.dumps(f'a "{coded}"')):
        assert [text[one.start : one.end] for one in SEARCH.find(text)] == [coded]


def test_an_unknown_entity_is_text() -> None:
    assert SEARCH.find("a &nothing; b &#0; c &amp;amp; d " * 50) == []
