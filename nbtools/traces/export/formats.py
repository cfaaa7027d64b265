"""The formats in which a session is exported, with what each loses."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from nbtools.core.errors import TraceError
from nbtools.core.message import did_you_mean
from nbtools.traces.export.atif import write_atif
from nbtools.traces.export.claude_code import write_claude_code
from nbtools.traces.export.removal import Patterns
from nbtools.traces.export.tables import write_csv, write_parquet
from nbtools.traces.reviews.exchange import write_scout_csv
from nbtools.traces.reviews.visible_labels import visible_labels
from nbtools.traces.trace import Trace

FormatName: TypeAlias = Literal["atif", "claude", "scout", "csv", "parquet"]


@dataclass(frozen=True, slots=True)
class ExportOptions:
    """``redact`` are regular expressions of further secrets, ``keep`` the ids of secrets that stay.

    ``home``: home folders become ``~``. ``notes``: with the labels of the review, where the format has a
    place for them.
    """

    redact: Patterns = ()
    keep: Collection[str] = ()
    home: bool = True
    notes: bool = False


@dataclass(frozen=True, slots=True)
class ExportFormat:
    """A format: ``ending`` is that of the file's name, empty for a folder; ``about`` says what it is and what
    it loses. ``write`` returns the path.
    """

    name: FormatName
    label: str
    ending: str
    about: str
    write: Callable[[Trace, Path, ExportOptions], Path]
    has_notes: bool = False


def _atif(trace: Trace, path: Path, options: ExportOptions) -> Path:
    return write_atif(
        trace, path, labels=options.notes, redact=options.redact, keep=options.keep, home=options.home
    )


def _claude(trace: Trace, path: Path, options: ExportOptions) -> Path:
    return write_claude_code(trace, path, redact=options.redact, keep=options.keep, home=options.home)


def _scout(trace: Trace, path: Path, _: ExportOptions) -> Path:
    if not any(label.kind in {"label", "code"} for label in visible_labels(trace)[0]):
        raise TraceError("The session has no labels to export. Apply some in the review first.")
    return write_scout_csv(trace, path)


def _csv(trace: Trace, path: Path, options: ExportOptions) -> Path:
    return write_csv(trace, path, redact=options.redact, keep=options.keep, home=options.home)


def _parquet(trace: Trace, path: Path, options: ExportOptions) -> Path:
    return write_parquet(trace, path, redact=options.redact, keep=options.keep, home=options.home)


FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        "atif",
        "ATIF 1.8 (Harbor)",
        ".atif.json",
        "One JSON file with all steps and sub-agents. nbtools reads it back with the same calls, statuses,"
        " times, diffs and total tokens. Lost: the tokens of single requests.",
        _atif,
        has_notes=True,
    ),
    ExportFormat(
        "claude",
        "Claude Code's layout",
        ".jsonl",
        "JSON lines that Claude Code can resume, with a file for each sub-agent in a folder beside it. Lost:"
        " all tokens and costs, and of a status anything but whether the call failed.",
        _claude,
    ),
    ExportFormat(
        "scout",
        "Inspect Scout (labels as CSV)",
        ".scout.csv",
        "A validation set: one row for each reviewed session, with its id and a column for each of your"
        " labels. Lost: everything else; it has no text of the session.",
        _scout,
    ),
    ExportFormat(
        "csv",
        "Tables as CSV",
        "",
        "A folder with a file for each table of SQL that has rows: sessions, events, calls, file_changes,"
        " usage, context. Lists and objects are JSON. Lost: diffs and pictures, and the types of columns.",
        _csv,
    ),
    ExportFormat(
        "parquet",
        "Tables as Parquet",
        "",
        "A folder with a file for each table of SQL that has rows, with its types, for DuckDB, pandas and"
        " polars (needs pyarrow). Lost: diffs and pictures.",
        _parquet,
    ),
)
NAMES = get_args(FormatName)


def export_format(name: str) -> ExportFormat:
    """Returns the format of a name. Raises ``TraceError`` for an unknown one."""
    found = next((one for one in FORMATS if one.name == name), None)
    if found is None:
        near = did_you_mean(name, NAMES)
        raise TraceError(f"{name!r} is no format of an export.{near} Formats: {', '.join(NAMES)}.")
    return found


def write_export(trace: Trace, name: str, target: str | Path, options: ExportOptions | None = None) -> Path:
    """Writes the trace in the format ``name``, to ``target`` or, where that exists, to the next free name
    beside it; in a folder, under a name made from that of the log. Returns the path. Secrets are removed.

    Raises ``TraceError`` for an unknown format, where the trace has several sessions and the format holds
    one, and where the file cannot be written.
    """
    chosen, path = export_format(name), Path(target).expanduser()
    is_folder = path.is_dir() and (chosen.ending != "" or path.name in {"", ".."})  # no name to add 1 to
    if not is_folder:
        path = _free(path)
    elif name != "claude":  # which is named after the session in a folder, as Claude Code does
        path = _free(path / default_name(trace, name))
    try:
        return chosen.write(trace, path, options or ExportOptions())
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error


def default_name(trace: Trace, name: str) -> str:
    """Returns the name of the file or folder that an export of a log has."""
    chosen, stem = export_format(name), trace.readings[0].source.path.stem
    return f"{stem}{chosen.ending}" if chosen.ending else f"{stem}-{name}"


def _free(target: Path) -> Path:
    """Returns the first name at which there is neither a file nor a folder that goes with it."""
    name, dot, ending = target.name.partition(".")
    others = (target.with_name(f"{name}-{number}{dot}{ending}") for number in count(1))
    paths = chain((target,), others)
    return next(path for path in paths if not path.exists() and not path.with_suffix("").exists())
