"""A workspace with a text and a picture, and a person who does not want it changed."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from nbtools import Session
from nbtools.testing import CANCEL, ScriptedConfirmer, temporary_workspace

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
REASON = "that is generated: change its template"


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    with temporary_workspace({"a.py": "one = 1\n", "pixel.png": base64.b64decode(PIXEL)}) as root:
        async with Session(root, confirmer=ScriptedConfirmer(replace(CANCEL, reason=REASON))) as opened:
            yield opened
