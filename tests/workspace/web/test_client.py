"""The web client: the addresses that it connects to, and the responses that it accepts."""

import asyncio
import gzip
import ipaddress
import os
import shutil
import ssl
import subprocess
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbtools.core.errors import ErrorCode, ToolFailure
from nbtools.workspace.web.address import parse_web_address
from nbtools.workspace.web.client import WebClient, _tls_context
from tests.examples import examples
from tests.workspace.web_server import reply, web_server


@pytest.fixture
async def server():
    async with web_server() as it:
        yield it


async def get(server, path, seconds=5, **settings):
    return await WebClient(**{"allowed": [server.place], **settings}).get(
        parse_web_address(server.url(path)), seconds
    )


async def failure(server, path, seconds=5, **settings):
    with pytest.raises(ToolFailure) as caught:
        await get(server, path, seconds, **settings)
    return caught.value


async def test_a_page(server):
    server.pages["/x?y=%C3%A4"] = reply(b"hello", "text/plain; charset=utf-8")
    answer = await get(server, "/x?y=ä")
    assert (answer.status, answer.body, answer.content_type) == (200, b"hello", "text/plain; charset=utf-8")
    assert f"Host: {server.place}\r\n" in server.asked[0]
    assert "authorization" not in server.asked[0].lower()
    assert "cookie" not in server.asked[0].lower()


async def test_an_error_is_an_answer_too(server):
    answer = await get(server, "/none")
    assert (answer.status_line, answer.body) == ("404 Not Found", b"nothing here")


async def test_redirects_are_followed(server):
    server.pages["/a"] = reply(status="302 Found", location="/b")
    server.pages["/b"] = reply(status="308 Permanent Redirect", location=server.url("/c"))
    server.pages["/c"] = reply(b"end")
    answer = await get(server, "/a")
    assert (str(answer.address), answer.body) == (server.url("/c"), b"end")


async def test_a_redirect_loop_ends(server):
    server.pages["/a"] = reply(status="302 Found", location="/a")
    why = await failure(server, "/a")
    assert why.code is ErrorCode.WEB_FETCH_PROCESSING_ERROR
    assert "more than 10 redirects" in why.message
    assert len(server.asked) == 11


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "LOCALHOST.", "127.1"],
)
async def test_a_redirect_to_another_port_of_an_allowed_host_is_refused(server, host):
    async with web_server() as other:
        server.pages["/a"] = reply(status="302 Found", location=f"http://{host}:{other.port}/secret")
        other.pages["/secret"] = reply(b"secret")
        why = await failure(server, "/a")
        assert other.asked == []
    assert why.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED
    assert "not on the public internet" in why.message


@pytest.mark.parametrize(
    "host", ["other.example", "www.first.example", "sub.first.example", "first.example.other.example"]
)
async def test_a_redirect_to_another_host_is_reported_and_not_followed(server, host):
    async def resolve(host, port):
        return ("127.0.0.1",)

    web = WebClient(allowed=[f"first.example:{server.port}", f"{host}:{server.port}"], resolve=resolve)
    there = f"http://{host}:{server.port}/in?token=x"
    server.pages["/a"] = reply(status="302 Found", location="/b")
    server.pages["/b"] = reply(status="302 Found", location=there)
    server.pages["/in?token=x"] = reply(b"in")
    with pytest.raises(ToolFailure) as caught:
        await web.get(parse_web_address(f"http://first.example:{server.port}/a"), 5)
    assert caught.value.code is ErrorCode.WEB_FETCH_PROCESSING_ERROR
    assert there in caught.value.message
    assert [head.split(" ", 2)[1] for head in server.asked] == ["/a", "/b"]
    assert (await web.get(parse_web_address(there), 5)).body == b"in"


async def test_capitals_and_a_dot_at_the_end_make_no_other_host(server):
    async def resolve(host, port):
        return ("127.0.0.1",)

    server.pages["/a"] = reply(status="302 Found", location=f"http://FIRST.example.:{server.port}/b")
    server.pages["/b"] = reply(b"end")
    web = WebClient(allowed=[f"first.example:{server.port}"], resolve=resolve)
    assert (await web.get(parse_web_address(f"http://first.example:{server.port}/a"), 5)).body == b"end"


async def test_a_very_long_address_of_another_host_is_not_shown(server):
    server.pages["/a"] = reply(status="302 Found", location=f"http://other.example/{'x' * 5_000}")
    why = await failure(server, "/a")
    assert "other.example" in why.message
    assert len(why.message) < 1_000


@pytest.mark.parametrize(
    "location", ["file:///etc/passwd", "http://me:pw@127.0.0.1/", "javascript:1", "gopher://x"]
)
async def test_a_redirect_to_an_invalid_address_is_an_error(server, location):
    server.pages["/a"] = reply(status="302 Found", location=location)
    assert "redirects to an address that cannot be fetched" in (await failure(server, "/a")).message


async def test_one_private_address_among_public_ones_is_enough():
    async def resolve(host, port):
        return ("1.1.1.1", "10.0.0.1")

    with pytest.raises(ToolFailure) as caught:
        await WebClient(resolve=resolve).get(parse_web_address("http://mixed.example/"), 5)
    assert caught.value.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED


async def test_a_name_that_becomes_private_is_refused(server):
    """A name is looked up once a connection, and what was looked up is what is connected to."""
    answers = iter([("127.0.0.1",), ("127.0.0.1",), ("169.254.169.254",)])

    async def resolve(host, port):
        return next(answers)

    server.pages["/a"] = reply(status="302 Found", location=f"http://turning.example:{server.port + 1}/b")
    web = WebClient(allowed=[f"turning.example:{server.port}"], resolve=resolve)
    with pytest.raises(ToolFailure) as caught:
        await web.get(parse_web_address(f"http://turning.example:{server.port}/a"), 5)
    assert caught.value.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED
    assert len(server.asked) == 1


async def test_the_next_address_is_tried(server):
    async def resolve(host, port):
        return ("127.0.0.2", "::1", "127.0.0.1")

    server.pages["/"] = reply(b"here")
    web = WebClient(allowed=[f"many.example:{server.port}"], resolve=resolve)
    assert (await web.get(parse_web_address(f"http://many.example:{server.port}/"), 5)).body == b"here"


async def test_no_such_host():
    async def resolve(host, port):
        raise OSError("none")

    with pytest.raises(ToolFailure, match=r"The host nowhere\.example could not be resolved"):
        await WebClient(resolve=resolve).get(parse_web_address("http://nowhere.example/"), 5)


async def test_a_proxy_is_used_only_when_it_is_given_and_sees_no_private_address(server, monkeypatch):
    async def resolve(host, port):
        if host == "private.example":
            return ("10.0.0.1",)
        raise OSError("only the proxy knows")

    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    server.pages["/direct"] = reply(b"direct")
    assert (await get(server, "/direct")).body == b"direct"
    server.pages["http://far.example/x"] = reply(b"through")
    web = WebClient(proxy=f"http://{server.place}", resolve=resolve)
    assert (await web.get(parse_web_address("http://far.example/x"), 5)).body == b"through"
    with pytest.raises(ToolFailure) as caught:
        await web.get(parse_web_address("http://private.example/x"), 5)
    assert caught.value.code is ErrorCode.WEB_FETCH_FALLBACK_FAILED
    assert len(server.asked) == 2


async def test_a_body_that_never_ends_in_time(server):
    stopped = asyncio.Event()

    async def drip(writer):
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        try:
            while not writer.is_closing():
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            stopped.set()

    server.pages["/"] = drip
    why = await failure(server, "/", seconds=0.2)
    assert why.code is ErrorCode.TIMEOUT
    assert "longer than 0.2 seconds" in why.message
    await asyncio.wait_for(stopped.wait(), 60)


async def test_cancelled_it_hangs_up(server):
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        await writer.drain()
        begun.set()
        while not writer.is_closing():
            writer.write(b"x" * 1000)
            try:
                await writer.drain()
            except ConnectionError:
                break
            await asyncio.sleep(0.01)
        ended.set()

    server.pages["/"] = wait
    task = asyncio.create_task(get(server, "/", seconds=60))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(ended.wait(), 30)


@pytest.mark.parametrize("declared", [True, False])
async def test_a_huge_body_is_refused_at_its_limit(server, declared):
    sent = 0

    async def pour(writer):
        nonlocal sent
        writer.write(
            b"HTTP/1.1 200 OK\r\n" + (b"content-length: 999999999\r\n" if declared else b"") + b"\r\n"
        )
        while sent < 100_000_000 and not writer.is_closing():
            writer.write(b"x" * 10_000)
            sent += 10_000
            await writer.drain()

    server.pages["/"] = pour
    assert "more than 100,000 bytes" in (await failure(server, "/", most_bytes=100_000)).message
    assert sent < 20_000_000


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate"])
async def test_packed_bodies(server, coding):
    text = b"some text " * 100
    packer = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "raw deflate": -15}[coding])
    packed = packer.compress(text) + packer.flush()
    server.pages["/"] = reply(packed, content_encoding=coding.split()[-1])
    assert (await get(server, "/")).body == text


async def test_a_bomb_is_not_unpacked(server):
    server.pages["/"] = reply(gzip.compress(bytes(200_000_000), 9), content_encoding="gzip")
    assert "more than 1,000,000 bytes" in (await failure(server, "/", most_bytes=1_000_000)).message


@pytest.mark.parametrize("coding", ["br", "gzip, gzip", "gzip"])
async def test_a_body_that_cannot_be_decompressed_is_an_error(server, coding):
    server.pages["/"] = reply(b"no gzip at all", content_encoding=coding)
    message = (await failure(server, "/")).message
    assert "content encoding" in message or "invalid compressed data" in message


async def test_a_server_that_does_not_speak_http_is_an_error(server):
    async def mumble(writer):
        writer.write(b"SSH-2.0-OpenSSH_9\r\n")
        await writer.drain()

    server.pages["/"] = mumble
    assert "could not be fetched" in (await failure(server, "/")).message


async def test_a_closed_port(server):
    place = f"127.0.0.1:{server.port}"
    async with web_server() as gone:
        place = gone.place
    with pytest.raises(ToolFailure, match="could not be fetched"):
        await WebClient(allowed=[place]).get(parse_web_address(f"http://{place}/"), 5)


async def test_ten_pages_a_host_and_minute(server):
    now = 0.0
    web = WebClient(allowed=[server.place], clock=lambda: now)
    for _ in range(10):
        await web.get(parse_web_address(server.url("/")), 5)
        now += 1
    with pytest.raises(ToolFailure, match="Wait 50 seconds"):
        await web.get(parse_web_address(server.url("/")), 5)
    now = 60.5
    await web.get(parse_web_address(server.url("/")), 5)
    assert len(server.asked) == 11


@pytest.fixture
def certificate(tmp_path, monkeypatch):
    """Makes a certificate of secure.example, signed by itself;
    the system trusts it for the time of the test, and the key is beside it.
    """
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    out = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    name = ["-subj", "/CN=secure.example", "-addext", "subjectAltName=DNS:secure.example"]
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *out, *name],
        check=True,
        capture_output=True,
    )
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    _tls_context.cache_clear()
    yield tmp_path / "cert.pem", tmp_path / "key.pem"
    _tls_context.cache_clear()


async def test_a_certificate_is_checked_against_the_requested_name(certificate):
    async def resolve(host, port):
        return ("127.0.0.1",)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    async with web_server(context) as secure:
        secure.pages["/"] = reply(b"safe")
        web = WebClient(
            allowed=[f"secure.example:{secure.port}", f"other.example:{secure.port}"], resolve=resolve
        )
        assert (await web.get(parse_web_address(f"https://secure.example:{secure.port}/"), 5)).body == b"safe"
        with pytest.raises(ToolFailure, match=r"could not be fetched: .*certificate"):
            await web.get(parse_web_address(f"https://other.example:{secure.port}/"), 5)
    assert len(secure.asked) == 1


PRIVATE = st.sampled_from(
    ["127.0.0.0/8", "10.0.0.0/8", "192.168.0.0/16", "169.254.0.0/16", "172.16.0.0/12", "0.0.0.0/8"]
).flatmap(lambda network: st.ip_addresses(v=4, network=network))
PART = st.sampled_from(["{}", "0{:o}", "0x{:x}", "0X{:X}", "00{:o}"])
DOT = st.sampled_from([".", "。", "．", "｡"])


@st.composite
def spellings(draw):
    """One of the many ways to write a private address that some program or other understands."""
    number = int(draw(PRIVATE))
    four = number.to_bytes(4, "big")
    dotted, high, low = ".".join(map(str, four)), number >> 16, number & 0xFFFF
    forms = [
        draw(PART).format(number),
        f"{draw(PART).format(four[0])}{draw(DOT)}{draw(PART).format(number & 0xFFFFFF)}",
        draw(DOT).join(draw(PART).format(part) for part in (four[0], four[1], low)),
        draw(DOT).join(draw(PART).format(part) for part in four) + draw(st.sampled_from(["", "."])),
        f"[::ffff:{dotted}]",
        f"[0:0:0:0:0:FFFF:{high:x}:{low:X}]",
        f"[::{dotted}]",
        f"[64:ff9b::{high:x}:{low:x}]",
        f"[2002:{high:x}:{low:x}::]",
    ]
    return draw(st.sampled_from(forms))


@settings(max_examples=examples(300), deadline=None)
@given(host=spellings())
def test_no_spelling_of_a_private_address_is_fetched(host):
    async def attempt():
        async with web_server() as it:
            with pytest.raises(ToolFailure) as caught:
                await WebClient().get(parse_web_address(f"http://{host}:{it.port}/"), 5)
            assert it.asked == []
            return caught.value

    why = asyncio.run(attempt())
    assert "could not be fetched" not in why.message, "a connection was tried"
    assert why.code in (
        ErrorCode.WEB_FETCH_FALLBACK_FAILED,
        ErrorCode.INVALID_TOOL_PARAMS,
        ErrorCode.WEB_FETCH_PROCESSING_ERROR,
    )


@pytest.mark.parametrize("host", ["localhost", "LocalHost", "localhost.", os.uname().nodename])
async def test_names_of_this_machine_are_refused(server, host):
    with pytest.raises(ToolFailure):
        await WebClient().get(parse_web_address(f"http://{host}:{server.port}/"), 5)
    assert server.asked == []
    assert not ipaddress.ip_address("127.0.0.1").is_global


async def test_plainly_private_names_are_refused_without_a_lookup():
    web = WebClient(allowed=["127.0.0.1:8000"])
    for url in ("http://10.0.0.1/", "http://[::1]/", "http://localhost/", "http://127.0.0.1:8001/"):
        with pytest.raises(ToolFailure):
            web.check_not_private([parse_web_address(url)])
    web.check_not_private(
        [parse_web_address("http://127.0.0.1:8000/"), parse_web_address("http://10.0.0.1/")]
    )
    web.check_not_private([parse_web_address("https://example.com/")])
