"""A log with secrets of many kinds in every part of it:
made up, by the rules of their issuers, and different each time.
"""

from __future__ import annotations

import base64
import json
import random
import string
from pathlib import Path
from typing import NamedTuple

from tests.browser.long_log import Record, write_log

HOME = "/home/margarethe/shop"


class Planted(NamedTuple):
    """A text that contains a secret, and the part of it that must not be shared."""

    kind: str
    text: str
    secret: str


class _Maker:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def of(self, alphabet: str, length: int) -> str:
        """Draws a token with at least one digit and one letter, as issuers' tokens have."""
        while True:
            made = "".join(self._random.choices(alphabet, k=length))
            if any(map(str.isdigit, made)) and any(map(str.isalpha, made)):
                return made

    def word(self, length: int) -> str:
        return self.of(string.ascii_letters + string.digits, length)

    def hex(self, length: int) -> str:
        return self.of("0123456789abcdef", length)

    def upper(self, length: int) -> str:
        return self.of(string.ascii_uppercase + string.digits, length)

    def coded(self, length: int) -> str:
        return base64.b64encode(self._random.randbytes(length)).decode()

    def url_safe(self, length: int) -> str:
        return base64.urlsafe_b64encode(self._random.randbytes(length)).decode().rstrip("=")


def secrets(seed: int = 17) -> list[Planted]:
    """Three secrets of each kind."""
    make = _Maker(seed)
    return [
        Planted(kind, template.replace("@", secret), secret)
        for _ in range(3)
        for kind, template, secret in _kinds(make)
    ]


def _kinds(make: _Maker) -> list[tuple[str, str, str]]:
    key = "\n".join(
        [
            f"-----BEGIN RSA {'PRIVATE'} KEY-----",
            make.coded(45),
            make.coded(48),
            f"-----END RSA {'PRIVATE'} KEY-----",
        ]
    )
    login = base64.b64encode(f"margarethe:{make.word(12)}".encode()).decode()
    token = f"eyJ{make.url_safe(24)}.eyJ{make.url_safe(60)}.{make.url_safe(32)}"
    return [
        ("AWS key id", "aws configure set aws_access_key_id @", f"AKIA{make.upper(16)}"),
        ("AWS secret key", "aws_secret_access_key = @", make.coded(30)),
        ("GitHub token", "git clone with @", f"ghp_{make.word(36)}"),
        ("GitHub fine-grained token", "the token @ works", f"github_pat_{make.word(22)}_{make.word(59)}"),
        ("GitLab token", "PRIVATE-TOKEN: @", f"glpat-{make.word(20)}"),
        ("npm token", "//registry.example/:_authToken=@", f"npm_{make.word(36)}"),
        ("PyPI token", "twine upload -p @", f"pypi-AgEIcHlwaS5vcmc{make.url_safe(80)}"),
        ("Slack token", "slack says @", f"xoxb-{make.of(string.digits + 'a', 12)}-{make.word(24)}"),
        (
            "Slack webhook",
            "curl https://hooks.slack.com/services/@",
            f"T{make.upper(8)}/B{make.upper(8)}/{make.word(24)}",
        ),
        ("Stripe key", "stripe.api_key is @", f"sk_live_{make.word(24)}"),
        ("Google key", "maps?key=@", f"AIza{make.word(35)}"),
        ("Google OAuth token", "gcloud printed @", f"ya29.{make.url_safe(60)}"),
        ("Google service account", '{"private_key": "@"}', key.replace("\n", "\\n")),
        (
            "Azure storage key",
            "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey=@;EndpointSuffix=core",
            make.coded(64),
        ),
        ("Azure client secret", "az login -p @", f"{make.word(3)}8Q~{make.word(34)}"),
        ("Anthropic key", "export ANTHROPIC=@", f"sk-ant-api03-{make.url_safe(70)}"),
        ("OpenAI key", "OpenAI(@)", f"sk-proj-{make.url_safe(60)}"),
        ("OpenRouter key", "router @", f"sk-or-v1-{make.hex(64)}"),
        ("Hugging Face token", "huggingface-cli login with @", f"hf_{make.word(34)}"),
        ("JSON web token", "session @ expired", token),
        ("private key", "cat id_rsa\n@\n", key),
        ("bearer header", "curl -H 'Authorization: Bearer @' localhost", make.url_safe(30)),
        ("basic header", "Authorization: Basic @", login),
        ("cookie", "Cookie: sessionid=@; theme=light", make.word(32)),
        (
            "password in an address",
            "postgres://shop:@@db.internal:5432/shop".replace("@@", "@\0"),
            make.word(14),
        ),
        ("connection string", "Server=db;User Id=sa;Password=@;Encrypt=yes", f"{make.word(9)}!x"),
        ("line of .env", "DEBUG=1\nDB_PASSWORD=@\nPORT=80", f"hunter{make.word(4)}"),
        ("short password in code", 'password = "@"', f"{make.word(7)}"),
        ("high-entropy value of a name", '"client_secret": "@"', make.word(32)),
        ("login in a command", "curl -s -u margarethe:@ https://api.example.com/orders", make.word(11)),
        ("option of a command", "deploy --api-token=@ --yes", make.word(20)),
        ("Twilio key", "twilio @", f"SK{make.hex(32)}"),
        ("SendGrid key", "mail with @", f"SG.{make.url_safe(16)}.{make.url_safe(32)}"),
        (
            "Telegram token",
            "bot @ started",
            f"{make.of('123456789a', 9).replace('a', '7')}:AA{make.url_safe(25)[:33]}",
        ),
        ("DigitalOcean token", "doctl auth init -t @", f"dop_v1_{make.hex(64)}"),
        ("escaped in JSON", '{\\"url\\": \\"https:\\/\\/shop:@\\u0040db.internal\\/\\"}', make.word(13)),
    ]


def write_planted_log(path: Path, planted: list[Planted]) -> Path:
    """Each secret goes to one of: what the person says, the agent's words, thinking, a command, its output,
    a diff, a path, nested JSON.
    """
    records: list[Record] = [("user", {"role": "user"}, "Please look at the configuration.")]
    for number, one in enumerate(planted):
        text = one.text.replace("\0", "@")
        use = ("tool_use", number)
        match number % 8:
            case 0:
                records.append(("user", {"role": "user"}, f"Here it is:\n{text}\nThanks."))
            case 1:
                records.append(
                    _assistant(number, [{"type": "text", "text": f"I found:\n\n```\n{text}\n```"}])
                )
            case 2:
                records.append(
                    _assistant(
                        number,
                        [{"type": "thinking", "thinking": f"The file says\n{text}\nso", "signature": "x"}],
                    )
                )
            case 3:
                records += _call(number, "Bash", {"command": f"echo start && {text}"}, "start")
            case 4:
                records += _call(
                    number, "Bash", {"command": "cat config"}, f"{'first line' * 9}\n{text}\nlast line"
                )
            case 5:
                change = {
                    "file_path": f"{HOME}/settings.py",
                    "old_string": "a = 1\n",
                    "new_string": f"a = 1\n{text}\nb = 2\n",
                }
                records += _call(number, "Edit", change, "The file has been updated.")
            case 6:
                if "\n" in text or "/" in one.secret:
                    records += _call(
                        number, "Write", {"file_path": f"{HOME}/new.txt", "content": text}, "File created."
                    )
                else:
                    records += _call(
                        number, "Read", {"file_path": f"{HOME}/{text}/file.txt"}, f"     1\tin {text}"
                    )
            case _:
                records += _call(
                    number,
                    "mcp__shop__send",
                    {"body": json.dumps({"nested": json.dumps({"text": text})})},
                    f"sent {json.dumps(text)}",
                )
        assert use
    return write_log(path, HOME, records)


def _assistant(number: int, content: list[dict[str, object]]) -> Record:
    return "assistant", {"role": "assistant", "id": f"m{number}", "model": "claude-opus-4-5"}, content


def _call(number: int, name: str, arguments: dict[str, str], result: str) -> list[Record]:
    use: dict[str, object] = {"type": "tool_use", "id": f"t{number}", "name": name, "input": arguments}
    answer = [{"type": "tool_result", "tool_use_id": f"t{number}", "content": result}]
    return [_assistant(number, [use]), ("user", {"role": "user"}, answer)]
