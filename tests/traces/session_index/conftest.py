"""A home folder of its own for each test."""

from __future__ import annotations

import pytest

from nbtools.traces.session_index.listing import SessionCatalog
from tests.traces.session_index.home import OVERRIDES, make_home


@pytest.fixture
def empty_home(tmp_path, monkeypatch):
    for name in OVERRIDES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("NBTOOLS_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def home(empty_home):
    make_home(empty_home)
    return empty_home


@pytest.fixture
def catalog(empty_home):
    catalog = SessionCatalog()
    yield catalog
    catalog.close()
