"""Fixtures of the tests of traces."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels and saved filters of other tests are not there:
    they are stored by session, and tests share samples.
    """
    monkeypatch.setenv("NBTOOLS_STATE", str(tmp_path_factory.mktemp("state")))
