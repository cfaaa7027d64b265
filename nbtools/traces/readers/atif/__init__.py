"""Reads ATIF 1.x, the Agent Trajectory Interchange Format of Harbor.

A trajectory is one JSON document, with results in the step of their calls.

The format has no flag for errors, no durations and no diffs: they are read from ``extra`` where a producer stored them there
(``atif_extra`` defines our fields). Some producers omit call ids, write ``id`` and ``name``, or put results into a step of their own.
Sub-agents are embedded or in separate files, and a trajectory may be continued in another file; embedded trajectories are not counted in
facts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from nbtools.core.result import Media
from nbtools.traces.atif_extra import CallExtra, ResultExtra, extra_of
from nbtools.traces.display_builders import detail_of
from nbtools.traces.display_json import diffs_of, display_from_json
from nbtools.traces.json_access import mapping, mappings, text_of
from nbtools.traces.model import Call, Detail, Origin, Ref, Row
from nbtools.traces.reader import Head
from nbtools.traces.readers.atif.links import Links, images_in, linked_files
from nbtools.traces.readers.atif.trajectory import arguments_in, native_of, results_in_later_step, results_of, trajectory
from nbtools.traces.source import Source


class Atif:
    name = "atif"
    tells_errors = False

    def recognises(self, head: Head) -> bool:
        return b'"ATIF-v' in head.start and head.has("schema_version", "steps")

    def files(self, path: Path) -> Sequence[Path]:
        return linked_files(path)

    def read(self, source: Source, origin: Origin) -> Iterator[Row]:
        links, first = Links(source), 0
        for file in range(len(source.files)):
            text = source.read_file(file)
            first = yield from trajectory(text, Ref(0, len(text), file=file), origin, links, counted=file == 0, first=first)

    def detail(self, source: Source, call: Call) -> Detail:
        """Finds the call in its step by its number, which is the end of the call's id."""
        step = mapping(source.record(call.ref))
        calls = mappings(step.get("tool_calls"))
        position = int(call.id.rpartition(".")[2])
        recorded = calls[position] if position < len(calls) else {}
        native = native_of(recorded)
        if call.result_ref in {call.ref, Ref(0, 0)}:
            results = results_of(step, native) or results_of(step, "")
        else:
            results = results_in_later_step(mapping(source.record(call.result_ref)), native)
        content = [one.get("content") for one in results]
        media = tuple(images_in(content, source.files[call.ref.file].parent))
        detail = detail_of(call, arguments_in(recorded), "\n".join(map(text_of, content)), media)
        recorded_display = extra_of(results[0], ResultExtra) if results else ResultExtra()
        return _with_recorded_display(replace(detail, cwd=extra_of(recorded, CallExtra).cwd or detail.cwd), recorded_display)


def _with_recorded_display(detail: Detail, recorded: ResultExtra) -> Detail:
    """Returns the detail with the display that was recorded, where there is one."""
    if recorded.plain:
        return replace(detail, display=detail.result)
    if recorded.display is None:
        return detail
    display = display_from_json(recorded.display, detail.result)
    media = (display,) if isinstance(display, Media) else detail.media
    return replace(detail, display=display, changes=diffs_of(display) or detail.changes, media=media)
