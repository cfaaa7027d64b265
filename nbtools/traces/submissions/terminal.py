"""Prints the work of learners: ``nbtools trace --learners``."""

from __future__ import annotations

import json
from argparse import Namespace

from msgspec.structs import asdict

from nbtools.core.errors import TraceError
from nbtools.traces.export.removal import patterns_in
from nbtools.traces.submissions.learner_set import learners
from nbtools.traces.submissions.table import learners_text

_OTHERS = (
    *("search", "totals", "notebook", "follow", "html", "export", "check", "baseline"),
    *("agent", "since", "limit", "all", "paths", "left_out"),
)
"""Options of logs and lists."""


def learners_output(options: Namespace) -> str:
    """Returns the learners as a table or as JSON, or the paths of the files that were written for them.
    Raises ``TraceError``.
    """
    stray = next((name for name in _OTHERS if getattr(options, name)), None)
    if stray is not None:
        raise TraceError(f"--learners takes no --{stray.replace('_', '-')}.")
    if options.redact and not options.share:
        raise TraceError("With --learners, --redact is for the files that --share FOLDER writes.")
    if options.log:
        raise TraceError(f"--learners takes one folder; {options.log[0]!r} is one name too many.")
    found = learners(options.learners, rubric=options.rubric)
    if options.share:
        return "\n".join(map(str, found.share(options.share, redact=patterns_in(options.redact))))
    if options.json:
        parts = {
            "learners": found.records(),
            "overlaps": [asdict(one) for one in found.overlaps],
            "left_out": [asdict(one) for one in found.left_out],
        }
        return json.dumps(parts, indent=2, default=str)
    return learners_text(found)
