"""Secrets are taken out of what is shown; everything else stays as it is."""

from __future__ import annotations

import base64
import random
import string
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, Raised, ToolError
from nbtools.core.redaction import Redactor
from nbtools.core.result import (
    CommandOutput,
    DiffStat,
    FileDiff,
    FileText,
    Match,
    Matches,
    Media,
    ToolResult,
    failed,
)
from nbtools.core.secret_patterns import secret_kind

DICE = random.Random(7)


def some(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(DICE.choices(alphabet, k=count))


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


HEX = "0123456789abcdef"
KEY_BODY = "\n".join(some(64) for _ in range(20))
PRIVATE_KEY = f"-----BEGIN OPENSSH {'PRIVATE'} KEY-----\n{KEY_BODY}\n-----END OPENSSH {'PRIVATE'} KEY-----"
# Put together here, so that nobody's scanner takes this file for a leak.
SECRETS = [
    ("AWS key", "AK" + "IA" + some(16, string.ascii_uppercase + string.digits)),
    ("GitHub token", "gh" + "p_" + some(36)),
    ("GitHub token", "github" + "_pat_" + some(22) + "_" + some(59)),
    ("GitLab token", "gl" + "pat-" + some(20)),
    ("Slack token", "xo" + "xb-123456789012-123456789012-" + some(24)),
    ("Stripe key", "sk_" + "live_" + some(24)),
    ("Google key", "AI" + "za" + some(35)),
    ("Google token", "ya" + "29." + some(120)),
    ("Anthropic key", "sk-" + "ant-api03-" + some(93)),
    ("OpenAI key", "sk-" + "proj-" + some(120)),
    ("OpenAI key", "sk-" + some(48)),
    ("Hugging Face token", "hf" + "_" + some(34)),
    ("npm token", "np" + "m_" + some(36)),
    ("PyPI token", "py" + "pi-AgEIcHlwaS5vcmc" + some(120)),
    ("SendGrid key", "SG" + "." + some(22) + "." + some(43)),
    ("Docker token", "dckr" + "_pat_" + some(27)),
    ("GitLab token", "gl" + "pat-" + some(27) + ".01" + some(7, "0123456789abcdef")),
    ("DigitalOcean token", "dop" + "_v1_" + some(64, HEX)),
    ("Shopify token", "shp" + "at_" + some(32, HEX)),
    ("Grafana token", "gl" + "sa_" + some(32) + "_" + some(8, HEX)),
    ("Linear key", "lin" + "_api_" + some(40)),
    ("Databricks token", "da" + "pi" + some(32, HEX)),
    ("Sentry token", "sn" + "tryu_" + some(64, HEX)),
    ("Square token", "sq0" + "atp-" + some(22)),
    ("New Relic key", "NR" + "AK-" + some(27, string.ascii_uppercase + string.digits)),
    ("Vault token", "hv" + "s." + some(90)),
    ("Terraform token", some(14) + ".atlas" + "v1." + some(67)),
    ("Doppler token", "dp" + ".pt." + some(43)),
    ("Postman key", "PM" + "AK-" + some(24, HEX) + "-" + some(34, HEX)),
    ("Atlassian token", "ATA" + "TT3" + some(180)),
    ("1Password token", "ops" + "_eyJ" + some(250)),
    ("age key", "AGE-SECRET" + "-KEY-1" + some(58, string.ascii_uppercase + string.digits)),
    ("Brevo key", "xkey" + "sib-" + some(64, HEX) + "-" + some(16)),
    ("Groq key", "gs" + "k_" + some(52)),
    ("Replicate token", "r" + "8_" + some(37)),
    ("xAI key", "xa" + "i-" + some(80)),
    ("Perplexity key", "pp" + "lx-" + some(48)),
    ("LangSmith key", "lsv" + "2_pt_" + some(32, HEX) + "_" + some(10, HEX)),
    ("Supabase token", "sb" + "p_" + some(40, HEX)),
    ("PlanetScale token", "psc" + "ale_tkn_" + some(43)),
    ("Pulumi token", "pu" + "l-" + some(40, HEX)),
    ("RubyGems key", "ruby" + "gems_" + some(48, HEX)),
    ("Tailscale key", "ts" + "key-auth-" + some(17) + "-" + some(32)),
    ("Figma token", "fi" + "gd_" + some(40)),
    ("Notion token", "nt" + "n_" + some(11, string.digits) + some(35)),
    ("Netlify token", "nf" + "p_" + some(36)),
    ("Dynatrace token", "dt0" + "c01." + some(24) + "." + some(64)),
    ("JSON web token", ".".join((b64('{"alg":"HS256","typ":"JWT"}'), b64('{"sub":"1234567890"}'), some(43)))),
    ("private key", PRIVATE_KEY),
]
AROUND = [
    "{}",
    "token: {}\n",
    "export A={}",
    'x = "{}";',
    "a\n{}\nb",
    "({})",
    "Authorization: Bearer {}",
    "--key={} --more",
]


@pytest.mark.parametrize("surroundings", AROUND)
@pytest.mark.parametrize(("name", "secret"), SECRETS, ids=[name for name, _ in SECRETS])
def test_tokens_are_taken_out_wherever_they_stand(name: str, secret: str, surroundings: str) -> None:
    text = surroundings.format(secret)
    clean = Redactor().text(text)
    assert secret not in clean
    assert secret[-12:] not in clean
    assert "[redacted: " in clean
    assert clean.count("\n") == text.count("\n")
    assert secret_kind(secret) == name


NAMED = [
    ('password = "hT7$k!pQ2xZ9w"', 'password = "[redacted: secret]"'),
    ("DB_PASSWORD=x8f7G6h5j4K3", "DB_PASSWORD=[redacted: secret]"),
    ("api_key: 9f8a7b6c5d4e3f2a1b0c", "api_key: [redacted: secret]"),
    ('{"client_secret":"q1w2e3r4t5y6u7"}', '{"client_secret":"[redacted: secret]"}'),
    ('{\\"token\\": \\"q1w2e3r4t5y6u7\\"}', '{\\"token\\": \\"[redacted: secret]\\"}'),
    (
        "curl -H 'Authorization: Bearer q1w2e3r4t5y6u7i8o9'",
        "curl -H 'Authorization: Bearer [redacted: secret]'",
    ),
    ("postgres://me:s3cret@db/x", "postgres://me:[redacted: password]@db/x"),
    (
        "AccountName=a;AccountKey=q1w2e3r4t5y6u7i8o9p0==;EndpointSuffix=core",
        "AccountName=a;AccountKey=[redacted: secret];EndpointSuffix=core",
    ),
    ("https://:pw@host", "https://:[redacted: password]@host"),
]


@pytest.mark.parametrize(("text", "clean"), NAMED)
def test_values_behind_a_name_and_passwords_in_addresses(text: str, clean: str) -> None:
    assert Redactor().text(text) == clean


HARMLESS = [
    "password = getpass.getpass()",
    "token = tokenizer.next_token(position1)",
    "api_key = os.environ['API_KEY']",
    "password: str | None = None",
    "secret = ${{ secrets.DEPLOY_TOKEN_1 }}",
    "max_tokens=40960000000000",
    "key=lambda item: item.name_of_it_1",
    "sort_key = by_name_and_number_12",
    "commit 3f5b591a9c0d4e1f2b3c4d5e6f708192a3b4c5d6",
    "550e8400-e29b-41d4-a716-446655440000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "https://user@host/path and https://host:8080/a@b",
    "https://user:$PASSWORD@host, https://user:<password>@host, https://u:***@host",
    "task-management-sk-learn-something-really-long-name-2",
    "test_the_password_is_hidden_from_everybody_who_looks_12",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0\n-----END PUBLIC KEY-----",
    "keyboard: us, monkey=patch",
    "private_key: /etc/ssl/private/server1.pem, client_key=./certs/client2.key",
    "CACHE_KEY=v1-linux-3f5b591a9c0d4e1f2b3c",
    "gsk_something_short, r8_loop, xai-1, pul-request-12, dapi32, hvs.name.of.it",
    "https://registry.npmjs.org/a-b/-/a-b-1.0.12.tgz#3f5b591a9c0d4e1f2b3c4d5e6f708192a3b4c5d6",
    "golang.org/x/sys v0.1.0 h1:kunALQeHf1/185U1i0GOB/fy1IPRDDpuoOOqRReG57U=",
    "İ token=q",
]


@pytest.mark.parametrize("text", HARMLESS)
def test_text_that_is_not_a_secret_stays(text: str) -> None:
    assert Redactor().text(text) is text


def test_values_that_commands_do_not_get() -> None:
    redactor = Redactor.of(
        {
            "A": "correct-horse",
            "B": "correct-horse-battery",
            "C": "short",
            "D": "postgres",
            "E": "12345678",
            "F": "two\nlines here",
        }
    )
    assert redactor.text("x correct-horse-battery y") == "x [redacted: value of B] y"
    assert redactor.text("x correct-horse y") == "x [redacted: value of A] y"
    assert redactor.text("two\nlines here!") == "[redacted: value of F]\n!"
    coded = Redactor.of({"A": 'a"b/c d-e f+g'})
    for spelled in (
        "a%22b%2Fc%20d-e%20f%2Bg",
        'a\\"b/c d-e f+g',
        base64.b64encode(b'a"b/c d-e f+g').decode(),
    ):
        assert "[redacted: value of A]" in coded.text(f"x{spelled} y")
    plain = "a short postgres 12345678"
    assert redactor.text(plain) is plain


def test_a_value_of_eight_characters_is_redacted_and_a_shorter_one_is_not() -> None:
    redactor = Redactor.of({"A": "hunter-2", "B": "hunter2"})
    assert redactor.text("x hunter-2 y") == "x [redacted: value of A] y"
    assert redactor.text("hunter-2") == "[redacted: value of A]"
    assert redactor.text("x hunter2 y") == "x hunter2 y"


TOKEN = SECRETS[1][1]


def test_results_are_cleaned_and_their_data_are_not() -> None:
    redactor = Redactor()
    result = ToolResult(
        f"a {TOKEN}", CommandOutput(f"\x1b[1m{TOKEN}\x1b[0m", 1, 0, note=TOKEN), None, TOKEN, data=TOKEN
    )
    clean = redactor.result(result)
    assert TOKEN not in repr((clean.llm_content, clean.return_display, clean.summary))
    assert clean.data == TOKEN
    parts = redactor.result(
        ToolResult(({"text": TOKEN}, {"inline_data": {"mime_type": "image/png", "data": "eyJ"}}), "")
    )
    assert parts.llm_content == (
        {"text": "[redacted: GitHub token]"},
        {"inline_data": {"mime_type": "image/png", "data": "eyJ"}},
    )
    error = redactor.result(failed(ToolError(ErrorCode.EXECUTION_FAILED, f"no {TOKEN}"))).error
    assert error is not None
    assert TOKEN not in error.message
    raised = failed(ToolError(ErrorCode.UNHANDLED_EXCEPTION, "it failed"), Raised(f"ValueError: {TOKEN}"))
    assert TOKEN not in redactor.result(raised).traceback, "cards show it"


def test_displays_keep_their_lines_and_changes_are_shown_as_they_are() -> None:
    redactor = Redactor()
    lines = ("a", *PRIVATE_KEY.split("\n"), "b")
    shown = redactor.display(FileText("k", 1, lines, len(lines)))
    assert isinstance(shown, FileText)
    assert len(shown.lines) == len(lines)
    assert (shown.lines[0], shown.lines[-1]) == ("a", "b")
    hit = redactor.display(
        Matches((Match("f", 1, f"x {TOKEN}", ((0, 1),)), Match("f", 2, "x", ((0, 1),))), 2, 1)
    )
    assert isinstance(hit, Matches)
    assert [one.ranges for one in hit.matches] == [(), ((0, 1),)]
    diff = FileDiff(f"+{TOKEN}", "f", None, TOKEN, DiffStat())
    assert redactor.display(diff) is diff


def test_the_text_of_a_document_is_redacted() -> None:
    clean = Redactor().display(Media("a.pdf", "application/pdf", b"%PDF", text=f"a {TOKEN}"))
    assert clean == Media("a.pdf", "application/pdf", b"%PDF", text="a [redacted: GitHub token]")


def test_a_value_without_secrets_is_the_same_object() -> None:
    result = ToolResult(
        "hello, nothing here", FileText("a", 1, ("hello, nothing", "here"), 2), None, "2 lines of it"
    )
    assert Redactor().result(result) is result


@given(
    st.text(st.sampled_from("ab1 _-.:/@=\n'\"kKey tokenPRIVATE KEY-----BEGINghp_sk-eyJAKIA{}$"), max_size=400)
)
def test_lines_stay_lines_and_a_second_time_changes_nothing(text: str) -> None:
    redactor = Redactor.of({"A": "ab1_ab1_"})
    clean = redactor.text(text)
    assert clean.count("\n") == text.count("\n")
    assert redactor.text(clean) == clean


@given(st.text(max_size=300), st.sampled_from(SECRETS), st.text(max_size=300))
def test_no_text_around_a_token_hides_it(before: str, secret: tuple[str, str], after: str) -> None:
    clean = Redactor().text(f"{before} {secret[1]} {after}")
    assert secret[1] not in clean


HOSTILE = [
    "://",
    "://a:",
    "sk-",
    "sk-ant-",
    "eyJ",
    "eyJaaaaaaaaa.eyJ",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN ",
    "token=",
    "token ",
    "key: ",
    "a" * 50 + ".",
    "ghp_a1",
    "passw",
    "w1" * 6 + "_",
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_four_times_the_text_takes_about_four_times_as_long(piece: str) -> None:
    """The least of several times is compared: the law is about the work, not about the machine."""

    def least(size: int) -> float:
        text = (piece * (size // len(piece) + 1))[:size] + "@ ://"
        times = []
        for _ in range(5):
            began = time.process_time()
            Redactor().text(text)
            times.append(time.process_time() - began)
        return min(times)

    assert least(80_000) < 10 * least(20_000) + 0.02
