"""An S3-compatible server for corpora: moto, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

SETTINGS = (
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "HTTP_PROXY",
    "http_proxy",
)


@dataclass
class Server:
    """A server that runs, and its address."""

    process: subprocess.Popen[str]
    endpoint: str

    def bucket(self) -> str:
        """Makes a bucket and returns its name."""
        return self.create_bucket(f"bucket-{uuid.uuid4().hex}")

    def create_bucket(self, name: str) -> str:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        opener.open(urllib.request.Request(f"{self.endpoint}/{name}", method="PUT")).close()
        return name

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=30)


@contextmanager
def serve(*arguments: str) -> Iterator[Server]:
    command = [sys.executable, str(Path(__file__).with_name("s3_server.py")), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    server = Server(process, f"http://127.0.0.1:{process.stdout.readline().strip()}")
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="session")
def s3_server() -> Iterator[Server]:
    with serve() as server:
        yield server


def use(server: Server, monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    """Sets the environment for this server."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key-of-the-tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-tests")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("NBTOOLS_STATE", str(state))


@pytest.fixture
def s3(s3_server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """The URL of an empty bucket."""
    use(s3_server, monkeypatch, tmp_path / "state")
    return f"s3://{s3_server.bucket()}"
