"""No reader raises, whatever it is given:
pieces of real logs of any agent, cut, with wrong bytes, glued to one another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbtools.traces.reader import Format
from nbtools.traces.readers import FORMATS
from tests.examples import examples
from tests.traces.readers.damage import read_whole, spoilt
from tests.traces.recorded import LOGS, SAMPLES

LARGEST = 12_000


def piece(log: str) -> bytes:
    """Its first lines; of a document its beginning, which is then cut short."""
    data = (SAMPLES / log).read_bytes()
    short = [line for line in data.splitlines(keepends=True) if len(line) < LARGEST // 3]
    return data if len(data) < LARGEST else b"".join(short[:20])[:LARGEST] or data[:LARGEST]


PIECES = {log: piece(log) for log in LOGS}


@st.composite
def mangled(draw: st.DrawFn, name: str) -> bytes:
    """Mostly of the reader's own agent."""
    own = [log for log in LOGS if log.partition("/")[0] == name] or LOGS
    first = draw(spoilt(PIECES[draw(st.sampled_from(own))]))
    return first + draw(st.just(b"") | st.sampled_from(LOGS).flatmap(lambda log: spoilt(PIECES[log])))


@pytest.mark.parametrize("known", FORMATS, ids=lambda known: known.name)
@settings(
    max_examples=examples(25),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_reader_raises(
    known: Format, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder: Path = tmp_path_factory.mktemp("log")
    path = folder / "log.jsonl"
    path.write_bytes(data.draw(mangled(known.name)))
    read_whole(path, known)
