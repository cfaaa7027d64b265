"""Measures a verdict in the explorer of a log with 100,000 calls, with 2,000 records in the label file.

python bench/review.py [calls]

In the kernel: the first answer of an opened explorer, and verdicts, each on the disk when it is answered.
Bar: 150 ms for a verdict, of which the page needs the rest.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report import Figure, table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from nbtools import open_trace
from nbtools.traces.explorer.explorer import Explorer
from nbtools.traces.explorer.reviewing.review_messages import TraceReviewParams
from nbtools.traces.explorer.row_messages import TraceExplorerParams
from nbtools.traces.reviews.review import new_record, review
from tests.browser.long_log import write_long_log

CALLS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
RECORDS = 2_000
VERDICTS = 50


def milliseconds(explorer: Explorer, **params: Any) -> tuple[float, float]:
    """Returns the time of a request about the review, and of the lines of its chips, which follow."""
    started = time.perf_counter()
    explorer.methods.review(TraceReviewParams(explorer=explorer.id, **params))
    answered = time.perf_counter()
    explorer.methods.facets(TraceExplorerParams(explorer=explorer.id)).model_dump_json()
    return 1000 * (answered - started), 1000 * (time.perf_counter() - answered)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NBTOOLS_STATE"] = folder
        explorer = open_trace(write_long_log(Path(folder) / "long.jsonl", CALLS))
        mine = review(explorer.trace)
        targets = [mine.anchors.target(call) for call in explorer.trace.calls[: RECORDS * 3 : 3]]
        mine.file.append(new_record("verdict", target, "pass", "somebody") for target in targets)
        explorer = open_trace(Path(folder) / "long.jsonl")
        first, _ = milliseconds(explorer, action="read")
        signals = time.perf_counter()
        _ = review(explorer.trace).signals
        found = [time.perf_counter() - signals]
        step = explorer.size // VERDICTS
        verdicts = [
            milliseconds(explorer, action="verdict", line=line * step, value="fail")
            for line in range(VERDICTS)
        ]
        answers, chips = zip(*verdicts, strict=True)
    table(
        f"{CALLS:,} calls, {RECORDS:,} records",
        [
            Figure("first answer", [first], "ms"),
            Figure("signals, in a thread", found, "s"),
            Figure("a verdict", answers, "ms", "≤ 150 ms"),
            Figure("the slowest verdict", [max(answers)], "ms", "≤ 150 ms"),
            Figure("the lines of its chips", chips, "ms"),
        ],
    )


if __name__ == "__main__":
    main()
