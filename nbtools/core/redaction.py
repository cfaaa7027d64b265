"""Redacts secrets in displays and in texts for models: ``[redacted: GitHub token]``.

It finds known forms of tokens, private keys, passwords in URLs, random-looking values assigned to names such
as ``api_key``, and the values of variables that commands do not get.  Other secrets are not found: it limits
accidents and is no security boundary.

For speed, a text is first searched for long runs of letters and digits and for names of secrets.  A token's
expression runs only where the token's prefix was found, and all its repetitions are bounded.
"""

from __future__ import annotations

import base64
import json
import math
import operator
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from nbtools.core.errors import Raised
from nbtools.core.message import Message
from nbtools.core.result import (
    CommandOutput,
    FileText,
    LlmContent,
    Markdown,
    Match,
    Matches,
    Media,
    Several,
    TodoList,
    ToolResult,
    ToolResultDisplay,
)

MIN_LENGTH = 8
"""The least characters of a value to redact: shorter ones occur in too many texts."""
_RANDOM_BITS = 3.0
_LONG = 16


class SecretPattern(NamedTuple):
    """The form of a secret, which contains one of ``words``.
    Group 1 of the expression, if there is one, is the secret itself.
    """

    name: str
    words: tuple[str, ...]
    source: str

    @property
    def expression(self) -> re.Pattern[str]:
        """The compiled ``source``.  Few texts have the words of a secret,
        and compiling all expressions takes 10 ms.
        """
        return _compiled(self.source)


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    return re.compile(expression)


def _shape(name: str, words: str, expression: str) -> SecretPattern:
    return SecretPattern(name, tuple(words.split()), expression)


_PRIVATE_KEY = (
    r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-)){0,10000}(?:-----END [A-Z"
    r" ]{0,40}-----)?"
)
SECRET_PATTERNS = (
    _shape("AWS key", "AKIA ASIA", r"(?<![A-Z0-9])A[KS]IA[0-9A-Z]{16}(?![A-Z0-9])"),
    _shape("GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[opurs]_[A-Za-z0-9]{36,255}"),
    _shape("GitHub token", "github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
    _shape(
        "GitLab token",
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glagent- glffct- glimt- gloas-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|agent|ffct|imt|oas)-[A-Za-z0-9_\-]{20,300}(?:\.[0-9a-z]{9})?",
    ),
    _shape(
        "Slack token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xapp-",
        r"(?:xox[abeprs]|xapp)-[A-Za-z0-9\-]{10,300}",
    ),
    _shape(
        "Slack address", "hooks.slack.com/services/", r"hooks\.slack\.com/services/([A-Za-z0-9/]{20,100})"
    ),
    _shape("Stripe key", "_live_ _test_", r"(?<![A-Za-z0-9])[rsp]k_(?:live|test)_[0-9A-Za-z]{16,250}"),
    _shape("Google key", "AIza", r"AIza[0-9A-Za-z_\-]{35}"),
    _shape("Google token", "ya29. GOCSPX-", r"(?:ya29\.|GOCSPX-)[0-9A-Za-z_\-]{20,2000}"),
    _shape("Anthropic key", "sk-ant-", r"sk-ant-[A-Za-z0-9_\-]{20,300}"),
    _shape(
        "OpenAI key",
        "sk-",
        r"(?<![A-Za-z0-9_\-])sk-(?!ant-)(?:(?:proj|svcacct|admin)-[A-Za-z0-9_\-]{20,300}|[A-Za-z0-9]{32,200})",
    ),
    _shape("Hugging Face token", "hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,100}"),
    _shape("npm token", "npm_", r"npm_[A-Za-z0-9]{36,100}"),
    _shape("PyPI token", "pypi-AgE", r"pypi-AgE[A-Za-z0-9_\-]{50,500}"),
    _shape("SendGrid key", "SG.", r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}"),
    _shape("DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    _shape("Shopify token", "shpat_ shpss_ shpca_ shppa_", r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{32}"),
    _shape(
        "Grafana token",
        "glsa_ glc_",
        r"(?<![A-Za-z0-9])(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|glc_[A-Za-z0-9+/]{32,400}={0,3})",
    ),
    _shape("Linear key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}"),
    _shape("Databricks token", "dapi", r"(?<![A-Za-z0-9])dapi[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _shape("Sentry token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_]{60,500}"),
    _shape("Square token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[A-Za-z0-9_\-]{22,43}"),
    _shape("New Relic key", "NRAK-", r"NRAK-[A-Z0-9]{27}"),
    _shape("Vault token", "hvs. hvb.", r"(?<![A-Za-z0-9])hv[sb]\.[A-Za-z0-9_\-]{24,300}"),
    _shape("Terraform token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,70}"),
    _shape("Doppler token", "dp.pt.", r"dp\.pt\.[A-Za-z0-9]{43}"),
    _shape("Postman key", "PMAK-", r"PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _shape("Atlassian token", "ATATT3", r"ATATT3[A-Za-z0-9_\-=]{60,300}"),
    _shape("1Password token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9+/]{100,2000}={0,3}"),
    _shape("age key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    _shape("Brevo key", "xkeysib-", r"xkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    _shape("Groq key", "gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,80}"),
    _shape("Replicate token", "r8_", r"(?<![A-Za-z0-9])r8_[A-Za-z0-9]{37}"),
    _shape("xAI key", "xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{60,100}"),
    _shape("Perplexity key", "pplx-", r"(?<![A-Za-z0-9])pplx-[A-Za-z0-9]{48}"),
    _shape("LangSmith key", "lsv2_", r"lsv2_(?:pt|sk)_[a-f0-9]{32}_[a-f0-9]{10}"),
    _shape("Supabase token", "sbp_", r"(?<![A-Za-z0-9])sbp_[a-f0-9]{40}"),
    _shape("PlanetScale token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-]{32,64}"),
    _shape("Pulumi token", "pul-", r"(?<![A-Za-z0-9])pul-[a-f0-9]{40}"),
    _shape("RubyGems key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    _shape("Tailscale key", "tskey-", r"tskey-[a-z]{3,10}-[A-Za-z0-9]{10,30}-[A-Za-z0-9]{20,50}"),
    _shape("Figma token", "figd_", r"(?<![A-Za-z0-9])figd_[A-Za-z0-9_\-]{38,50}"),
    _shape("Notion token", "ntn_", r"(?<![A-Za-z0-9])ntn_[0-9]{11}[A-Za-z0-9]{35}"),
    _shape("Netlify token", "nfp_", r"(?<![A-Za-z0-9])nfp_[A-Za-z0-9]{36,50}"),
    _shape("Dynatrace token", "dt0c01.", r"dt0c01\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{64}"),
    _shape("Discord address", "/api/webhooks/", r"/api/webhooks/\d{17,20}/([A-Za-z0-9_\-]{60,80})"),
    _shape("Docker token", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_\-]{20,100}"),
    _shape(
        "JSON web token",
        "eyJ",
        r"(?<![A-Za-z0-9_\-])eyJ[A-Za-z0-9_\-]{8,4000}\.eyJ[A-Za-z0-9_\-]{8,8000}(?:\.[A-Za-z0-9_\-]{0,2000})?",
    ),
    _shape("private key", "PRIVATE", _PRIVATE_KEY),
    _shape("password", "://", r"(?<=://)[^\s/:@\"'<>]{0,200}:(?![$<{*%\[])([^\s/@\"'<>]{1,200})@"),
)
_STARTS = ("AKIA", "ASIA", "AIza", "eyJ", "dapi", "ATATT3")
"""Prefixes of tokens that are one run of letters and digits; all others have a separator before the run."""
_RUN, _JOINT = b"w" * 12, 0x2D
_RUNS = bytes(
    0x77 if chr(byte).isalnum() and byte < 0x80 else _JOINT if byte in b"-_./+" else 0x20
    for byte in range(256)
)
_BEFORE, _INTO = 80, 4
"""How many characters before such a run, and at its beginning, are searched for the prefix."""
_VALUE = r"""\\?["']?\s{0,3}(?::|=>?)\s{0,3}\\?["']?(?!\$)([^\s"'\\,;()<>{}\[\]&|]{12,500})"""
_NAMED = r"(?:passw(?:or)?d|secret|token|key)" + _VALUE
_BEARER = r"bearer\s{1,3}([a-z0-9._~+/=\-]{16,4000})"
_KINDS = "api secret access account private signing encryption auth client consumer master storage"
_FILE = r"(?:~|\.{0,2})/(?:[\w.\-]+/){0,20}[\w\-]+\.[a-z]{2,5}"
_NAMES = ("passw", "secret", "token", "key", "bearer ")
_KEYS = tuple(f"{kind}{gap}" for kind in _KINDS.split() for gap in ("_", "-", ""))


def secret_kind(value: str) -> str:
    """Returns the kind of secret in ``value``, such as ``GitHub token``; empty where there is none."""
    found = (
        shape.name
        for shape in SECRET_PATTERNS
        if any(word in value for word in shape.words) and shape.expression.search(value)
    )
    return next(found, "")


@dataclass(frozen=True, slots=True)
class Redactor:
    """Redacts secrets.  ``values`` are the known secrets as pairs of name and value."""

    values: tuple[tuple[str, str], ...] = ()

    @staticmethod
    def of(secrets: Mapping[str, str]) -> Redactor:
        """Creates a redactor for secrets by name.
        Short values and ordinary words are ignored; the longest values come first.
        """
        names_by_value = {
            encoded: name
            for name, value in secrets.items()
            if _is_worth_hiding(value)
            for encoded in encodings(value)
        }
        return Redactor(
            tuple(
                sorted(
                    ((name, value) for value, name in names_by_value.items()), key=lambda one: -len(one[1])
                )
            )
        )

    def text(self, text: str) -> str:
        """Redacts a text and keeps its number of lines.
        Returns ``text`` itself where there is nothing to redact.
        """
        if len(text) < MIN_LENGTH:
            return text
        if isinstance(text, Message):
            redacted = text.mapped(self.text)
            return text if redacted == text else redacted
        for name, value in self.values:
            if value in text:
                text = text.replace(value, f"[redacted: value of {name}]" + "\n" * value.count("\n"))
        if "@" in text and "://" in text:
            text = _redact_shape(text, _PASSWORD)
        if "PRIVATE KEY" in text or "glpat-" in text or _may_hold_token(text):
            for shape in SECRET_PATTERNS:
                if any(word in text for word in shape.words):
                    text = _redact_shape(text, shape)
        return _redact_named(text)

    def content(self, content: LlmContent) -> LlmContent:
        """Redacts the texts of content for a model."""
        if isinstance(content, str):
            return self.text(content)
        parts = tuple(
            {**part, "text": self.text(part["text"])} if isinstance(part.get("text"), str) else part
            for part in content
        )
        return content if parts == content else parts

    def display(self, display: ToolResultDisplay) -> ToolResultDisplay:
        """Redacts texts, output, lines of files, matches and items.
        Diffs and images stay unchanged, as a person approves them.
        """
        match display:
            case str():
                return self.text(display)
            case CommandOutput():
                text, note = self.text(display.text), self.text(display.note)
                return (
                    display
                    if text is display.text and note is display.note
                    else replace(display, text=text, note=note)
                )
            case FileText():
                lines = "\n".join(display.lines)
                text = self.text(lines)
                return display if text is lines else replace(display, lines=tuple(text.split("\n")))
            case Matches():
                return self._matches(display)
            case TodoList() | Markdown() | Several() | Media():
                return self._mixed(display)
        return display

    def _mixed(self, display: TodoList | Markdown | Several | Media) -> TodoList | Markdown | Several | Media:
        if isinstance(display, Media):
            text = self.text(display.text)
            return (
                display if text is display.text else replace(display, text=text, pages=())
            )  # the pictures show the secret too
        if isinstance(display, Markdown):
            text = self.text(display.text)
            return display if text is display.text else Markdown(text)
        if isinstance(display, TodoList):
            items = tuple(replace(item, text=self.text(item.text)) for item in display.items)
            return display if items == display.items else TodoList(items)
        redacted = tuple(map(self.display, display.shown))
        return display if all(map(operator.is_, redacted, display.shown)) else Several(redacted)

    def _matches(self, display: Matches) -> Matches:
        """Redacts matching lines; a redacted line loses its ranges, which no longer fit."""
        lines = "\n".join(one.text for one in display.matches)
        text = self.text(lines)
        if text is lines:
            return display
        return replace(display, matches=tuple(self._match(one) for one in display.matches))

    def _match(self, one: Match) -> Match:
        text = self.text(one.text)
        return one if text is one.text else replace(one, text=text, ranges=())

    def result(self, result: ToolResult) -> ToolResult:
        """Redacts a result, of its data only a traceback: the others are for programs.
        Returns ``result`` where nothing is to redact.
        """
        content, display, error, summary, data = (
            result.llm_content,
            result.return_display,
            result.error,
            result.summary,
            result.data,
        )
        content = self.text(content) if isinstance(content, str) else self.content(content)
        display = self.text(display) if isinstance(display, str) else self.display(display)
        if summary is not None:
            summary = self.text(summary)
        if error is not None and (message := self.text(error.message)) is not error.message:
            error = replace(error, message=message)
        if isinstance(data, Raised) and (text := self.text(data.traceback)) is not data.traceback:
            data = Raised(text)
        same_texts = (
            content is result.llm_content and display is result.return_display and summary is result.summary
        )
        if same_texts and error is result.error and data is result.data:
            return result
        return ToolResult(content, display, error, summary, data, result.notes)


_PASSWORD = SECRET_PATTERNS[-1]
_MARKS = "|".join(re.escape(word) for shape in SECRET_PATTERNS[:-1] for word in shape.words)


def encodings(value: str) -> set[str]:
    """Returns the value as it is, URL-encoded, in JSON,
    and in base64 as far as that does not depend on the text after it.
    """
    raw = value.encode("utf-8", "replace")
    coded = base64.b64encode(raw[: len(raw) // 3 * 3]).decode()
    return {value, quote(value, safe=""), json.dumps(value, ensure_ascii=False)[1:-1]} | (
        {coded} if len(coded) >= _LONG else set()
    )


def _is_worth_hiding(value: str) -> bool:
    plain_word = value.isalpha() and (value.islower() or value.istitle())
    return len(value) >= (_LONG if plain_word or value.isdigit() else MIN_LENGTH) and not value.isspace()


def _may_hold_token(text: str) -> bool:
    """Whether the text has a long run of letters and digits that may belong to a token."""
    runs = text.encode("latin-1", "replace").translate(_RUNS)
    start = runs.find(_RUN)
    while start >= 0:
        if text.startswith(_STARTS, start):
            return True
        if start and runs[start - 1] == _JOINT:
            word = max(runs.rfind(b" ", 0, start) + 1, start - _BEFORE)
            if _compiled(_MARKS).search(text, word, start + _INTO):
                return True
        start = runs.find(_RUN, start + len(_RUN))
    return False


def _redact_shape(text: str, shape: SecretPattern) -> str:
    group = 1 if shape.expression.groups else 0
    return _redact_spans(text, [found.span(group) for found in shape.expression.finditer(text)], shape.name)


def _redact_named(text: str) -> str:
    """Redacts random-looking values after a name such as ``api_key``."""
    low = text.lower()
    if not ("key" in low or "token" in low or "secret" in low or "passw" in low or "bearer " in low) or len(
        low
    ) != len(text):
        return text  # lower() changed the length, so positions would not agree
    found = [
        span
        for word in _NAMES
        if word in low
        for span in _named_values(low, word)
        if looks_random(text[slice(*span)])
    ]
    return _redact_spans(text, sorted(found), "secret") if found else text


def _named_values(low: str, word: str) -> Iterator[tuple[int, int]]:
    expression = _compiled(_BEARER if word == "bearer " else _NAMED)
    at = low.find(word)
    while at >= 0:
        found = expression.match(low, at) if word != "key" or low.endswith(_KEYS, 0, at) else None
        if found:
            yield found.span(1)
        at = low.find(word, found.end() if found else at + len(word))


def _redact_spans(text: str, spans: list[tuple[int, int]], name: str) -> str:
    pieces: list[str] = []
    position = 0
    for start, end in spans:
        if start >= position:
            pieces += [text[position:start], f"[redacted: {name}]", "\n" * text.count("\n", start, end)]
            position = end
    return "".join((*pieces, text[position:])) if pieces else text


def looks_random(value: str) -> bool:
    """Whether the value mixes letters and digits with few repetitions, unlike a word, a path,
    a call or a number.
    """
    if value.startswith("redacted:") or not any(map(str.isdigit, value)) or not any(map(str.isalpha, value)):
        return False
    if _compiled(_FILE).fullmatch(value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _RANDOM_BITS
