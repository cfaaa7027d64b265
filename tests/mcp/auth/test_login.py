"""Logins to a real service: begun by a person, kept in a keyring, renewed, refused, forgotten."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
import threading
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import keyring
import pytest
import pytest_asyncio
from keyring.backend import KeyringBackend
from keyring.backends import fail
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from nbtools import Policy, Session
from nbtools.core.errors import ToolFailure
from nbtools.mcp.auth.oauth_callback import OAuthCallback
from nbtools.mcp.auth.token_store import LoginStore
from nbtools.mcp.config.entries import Address, parse_server
from tests.mcp.auth.oauth_service import Service, running
from tests.waiting import until


class FileKeyring(KeyringBackend):
    """A keyring in a file, which a test looks into."""

    priority = 5  # type: ignore[assignment]

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    @property
    def content(self) -> dict[str, str]:
        return json.loads(self.path.read_text()) if self.path.exists() else {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.content.get(f"{service} {username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        self.path.write_text(json.dumps({**self.content, f"{service} {username}": password}))

    def delete_password(self, service: str, username: str) -> None:
        self.path.write_text(
            json.dumps({name: text for name, text in self.content.items() if name != f"{service} {username}"})
        )


@pytest.fixture(autouse=True)
def ring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileKeyring]:
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    before = keyring.get_keyring()
    ring = FileKeyring(tmp_path / "ring.json")
    keyring.set_keyring(ring)
    yield ring
    keyring.set_keyring(before)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest_asyncio.fixture
async def url(service: Service) -> AsyncIterator[str]:
    async with running(service) as url:
        yield url


@pytest_asyncio.fixture
async def session(tmp_path: Path, url: str) -> AsyncIterator[Session]:
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([parse_server("locked", {"url": url}, {})])
        yield session


class Browser:
    """Goes where it is sent, and lands where that leads to; ``texts`` are what it shows in the end."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.texts: list[str] = []
        self._threads: list[threading.Thread] = []

    def open(self, page: str) -> None:
        self.pages.append(page)
        self._threads.append(threading.Thread(target=self._go, args=(page,)))
        self._threads[-1].start()

    def _go(self, page: str) -> None:
        with urllib.request.urlopen(page, timeout=60) as shown:
            self.texts.append(shown.read().decode())

    async def close(self) -> None:
        for thread in self._threads:
            await asyncio.to_thread(thread.join)


@pytest_asyncio.fixture
async def browser() -> AsyncIterator[Browser]:
    browser = Browser()
    yield browser
    await browser.close()


def problem(session: Session) -> tuple[str, str]:
    connection = session.mcp.get("locked")
    return connection.state, connection.problem


async def test_a_server_that_needs_a_login_says_so_and_opens_nothing(
    session: Session, service: Service
) -> None:
    await session.mcp.connect()
    assert problem(session) == ("failed", "it requires a login: %tools mcp login locked")
    assert service.clients == {}


async def test_a_login_is_stored_in_the_keyring_and_used_by_the_next_session(
    session: Session, browser: Browser, ring: FileKeyring, tmp_path: Path, url: str
) -> None:
    assert await session.mcp.login("locked", browser.open) == "the system's keyring"
    assert (await session.call("mcp__locked__whoami", {})).llm_content == "somebody who is logged in"
    await browser.close()
    assert "You are logged in to locked" in browser.texts[0]
    assert urlsplit(parse_qs(urlsplit(browser.pages[0]).query)["redirect_uri"][0]).hostname == "127.0.0.1"
    assert list(ring.content) == [f"nbtools mcp locked {url}"]
    assert not list((tmp_path / "state").rglob("*.json"))
    async with Session(tmp_path, policy=Policy(mode="yolo")) as other:
        other.mcp.add([parse_server("locked", {"url": url}, {})])
        await other.mcp.connect()
        assert (await other.call("mcp__locked__whoami", {})).ok


async def test_the_same_name_elsewhere_has_nothing_of_it(
    session: Session, browser: Browser, tmp_path: Path
) -> None:
    await session.mcp.login("locked", browser.open)
    async with running(Service()) as elsewhere, Session(tmp_path) as other:
        other.mcp.add([parse_server("locked", {"url": elsewhere}, {})])
        await other.mcp.connect()
        assert problem(other)[0] == "failed"


async def test_without_a_keyring_a_login_is_stored_in_a_private_file(
    session: Session, browser: Browser, tmp_path: Path
) -> None:
    keyring.set_keyring(fail.Keyring())
    where = await session.mcp.login("locked", browser.open)
    (kept,) = (tmp_path / "state" / "mcp-logins").iterdir()
    assert where == f"{kept}, which only you can read (the system's keyring is not available)"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    await session.mcp.logout("locked")
    assert not kept.exists()


def test_a_login_in_the_keyring_leaves_none_in_the_file(ring: FileKeyring) -> None:
    store = LoginStore("moved", "https://moved.example/mcp")
    keyring.set_keyring(fail.Keyring())
    store.write("old")
    keyring.set_keyring(ring)
    store.write("new")
    assert store.read() == "new"
    keyring.set_keyring(fail.Keyring())
    assert store.read() is None


async def test_an_expired_login_is_renewed_in_another_session(
    session: Session, browser: Browser, service: Service, tmp_path: Path, url: str
) -> None:
    service.seconds = 1
    await session.mcp.login("locked", browser.open)
    service.seconds = 3600
    service.access.clear()
    async with Session(tmp_path, policy=Policy(mode="yolo")) as other:
        other.mcp.add([parse_server("locked", {"url": url}, {})])
        await other.mcp.connect()
        assert (await other.call("mcp__locked__whoami", {})).ok
    assert service.renewed >= 1
    assert len(browser.pages) == 1


async def test_two_sessions_renew_once(
    session: Session, browser: Browser, service: Service, tmp_path: Path, url: str
) -> None:
    await session.mcp.login("locked", browser.open)
    async with Session(tmp_path, policy=Policy(mode="yolo")) as other:
        other.mcp.add([parse_server("locked", {"url": url}, {})])
        await other.mcp.connect()
        service.access.clear()
        answers = await asyncio.gather(
            *(one.call("mcp__locked__whoami", {}) for one in (session, other) for _ in range(3))
        )
    assert all(answer.ok for answer in answers)
    assert service.renewed == 1


async def test_a_revoked_login_requires_a_new_one(
    session: Session, browser: Browser, service: Service
) -> None:
    await session.mcp.login("locked", browser.open)
    service.access.clear()
    service.refresh.clear()
    refused = await session.call("mcp__locked__whoami", {})
    assert refused.error is not None
    assert "it requires a login: %tools mcp login locked" in refused.error.message
    assert len(browser.pages) == 1
    await session.mcp.login("locked", browser.open)
    assert (await session.call("mcp__locked__whoami", {})).ok


async def test_logging_out_forgets(session: Session, browser: Browser, ring: FileKeyring) -> None:
    await session.mcp.login("locked", browser.open)
    await session.mcp.logout("locked")
    assert ring.content == {}
    await session.mcp.connect()
    assert problem(session)[0] == "failed"


async def test_a_wrong_state_is_turned_away_and_the_right_one_still_taken(
    session: Session, browser: Browser
) -> None:
    def meddle(page: str) -> None:
        back = parse_qs(urlsplit(page).query)["redirect_uri"][0]
        with pytest.raises(ToolFailure, match="is not the answer to this login"):
            session.mcp.complete_login("locked", f"{back}?code=stolen&state=guessed")
        browser.open(page)

    await session.mcp.login("locked", meddle)
    assert (await session.call("mcp__locked__whoami", {})).ok


async def test_an_answer_before_the_login_page_is_known_is_turned_away() -> None:
    callback = OAuthCallback("locked", "http://127.0.0.1:7/callback")
    for query in ("code=stolen", "code=stolen&state=", "error=denied"):
        with pytest.raises(ToolFailure, match="is not the answer to this login"):
            callback.accept(f"{callback.address}?{query}")


async def test_closing_the_page_is_not_a_login(session: Session, ring: FileKeyring) -> None:
    pages: list[str] = []
    with pytest.raises(ToolFailure, match=r"Nobody logged in to locked in 0\.2 seconds"):
        await session.mcp.login("locked", pages.append, 0.2)
    assert ring.content == {}
    opened = len(pages)
    task = asyncio.create_task(session.mcp.login("locked", pages.append))
    await until(lambda: len(pages) > opened)
    with pytest.raises(ToolFailure, match="is already running"):
        await session.mcp.login("locked", pages.append)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    with pytest.raises(ToolFailure, match="No login to locked is running"):
        session.mcp.complete_login("locked", "http://127.0.0.1/callback?code=a&state=b")
    back = urlsplit(parse_qs(urlsplit(pages[1]).query)["redirect_uri"][0])
    with pytest.raises(OSError, match=r"refused|Connect"):
        await asyncio.open_connection(back.hostname, back.port)


async def test_a_refusal_gives_its_reason(session: Session, browser: Browser, service: Service) -> None:
    service.refuses = True
    with pytest.raises(ToolFailure, match="The login to locked was refused: You said no"):
        await session.mcp.login("locked", browser.open)


async def test_a_browser_on_another_machine_pastes_where_it_landed(session: Session) -> None:
    def far(page: str) -> None:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, req, fp, code, msg, headers, newurl):
                session_loop.call_soon_threadsafe(session.mcp.complete_login, "locked", newurl)

        def go() -> None:
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.build_opener(Stay).open(page, timeout=60)

        threading.Thread(target=go).start()

    session_loop = asyncio.get_running_loop()
    await session.mcp.login("locked", far)
    assert (await session.call("mcp__locked__whoami", {})).ok


async def test_a_registered_client_asks_for_its_scopes(
    tmp_path: Path, url: str, service: Service, browser: Browser
) -> None:
    service.clients["me"] = OAuthClientInformationFull(
        client_id="me",
        client_secret="my secret",
        redirect_uris=[AnyUrl("http://localhost:18417/callback")],
        token_endpoint_auth_method="client_secret_basic",
        scope="read write",
    )
    entry = {
        "url": url,
        "auth": {"CLIENT_ID": "me", "CLIENT_SECRET": "${SECRET}", "scopes": ["read", "write"]},
    }
    claude = {
        "url": url,
        "oauth": {
            "clientId": "me",
            "clientSecret": "${SECRET}",
            "callbackPort": 18417,
            "scopes": "read write",
        },
    }
    assert parse_server("locked", entry, {"SECRET": "my secret"}).transport.login.client_secret == "my secret"
    server = parse_server("locked", claude, {"SECRET": "my secret"})
    assert "my secret" not in repr(server)
    async with Session(tmp_path, policy=Policy(mode="yolo")) as session:
        session.mcp.add([server])
        await session.mcp.login("locked", browser.open)
        assert (await session.call("mcp__locked__whoami", {})).ok
    assert service.wanted == [["read", "write"]]
    assert list(service.clients) == ["me"]


async def test_tokens_are_in_no_log_and_no_repr(
    session: Session,
    browser: Browser,
    service: Service,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    await session.mcp.login("locked", browser.open)
    service.access.clear()
    assert (await session.call("mcp__locked__whoami", {})).ok
    shown = (
        caplog.text
        + repr(session.mcp.get("locked"))
        + repr(session.mcp.get("locked").server)
        + "".join(capfd.readouterr())
    )
    assert not [token for token in (*service.access, *service.refresh) if token in shown]


async def test_a_header_of_the_settings_that_is_not_taken_is_named(tmp_path: Path, url: str) -> None:
    async with Session(tmp_path) as session:
        session.mcp.add(
            [parse_server("locked", {"url": url, "headers": {"authorization": "Bearer old"}}, {})]
        )
        await session.mcp.connect()
        assert problem(session) == ("failed", "it rejected the Authorization header from its settings")


async def test_tokens_are_not_sent_in_the_open(tmp_path: Path) -> None:
    async with Session(tmp_path) as session:
        session.mcp.add(
            [
                parse_server("open", {"url": "http://example.com/mcp"}, {}),
                parse_server("here", {"command": "true"}, {}),
            ]
        )
        with pytest.raises(ToolFailure, match="over https only"):
            await session.mcp.login("open", print)
        with pytest.raises(ToolFailure, match="here is a local program and has no login"):
            await session.mcp.login("here", print)


@pytest.mark.parametrize("grant", [{"clientId": "me"}, {"clientId": "me", "clientSecret": "s"}])
def test_a_client_of_its_own_says_whose_it_is(grant: dict[str, str]) -> None:
    with pytest.raises(
        ToolFailure, match="client_credentials needs clientId, issuer, and clientSecret or privateKey"
    ):
        parse_server(
            "a", {"url": "https://a.b/mcp", "oauth": {**grant, "grantType": "client_credentials"}}, {}
        )


def test_gemini_writes_it_so() -> None:
    entry = {
        "httpUrl": "https://a.b/mcp",
        "oauth": {"enabled": True, "clientId": "me", "redirectUri": "http://localhost:7777/oauth/callback"},
    }
    transport = parse_server("a", entry, {}).transport
    assert isinstance(transport, Address)
    assert (transport.login.client_id, transport.login.redirect) == (
        "me",
        "http://localhost:7777/oauth/callback",
    )
