"""HTML displays of a corpus and of an ingest result."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nbtools.traces.model import Problem

_MAX_LISTED = 20
_QUERY = "select name, count(*) as n from calls group by name order by n desc"


def corpus_html(folder: Path, facts: Mapping[str, str], unread: Sequence[tuple[str, str]]) -> str:
    examples = f"corpus.sql({_QUERY!r})", "corpus.search('words or.code(')", "corpus.open(session_id)"
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items())
    example_lines = "<br>".join(f"<code>{html.escape(example)}</code>" for example in examples)
    return (
        f"<p><b>Corpus</b> {html.escape(str(folder))}</p><table><tbody>{cells}</tbody></table><p>{example_lines}</p>{problems_html(unread)}"
    )


def problems_html(problems: Sequence[tuple[str, str]]) -> str:
    """Returns a collapsed list of paths and why they could not be read."""
    if not problems:
        return ""
    listed = _list(f"{html.escape(path)}: {html.escape(why)}" for path, why in problems[:_MAX_LISTED])
    more = f"<p>{len(problems) - _MAX_LISTED:,} more</p>" if len(problems) > _MAX_LISTED else ""
    return f"<details><summary>{len(problems):,} not readable</summary>{listed}{more}</details>"


def ingested_html(summary: str, problems: Mapping[str, Problem], gone: Sequence[str]) -> str:
    paths = _list(map(html.escape, gone[:_MAX_LISTED])) if gone else ""
    more = f"<p>{len(gone) - _MAX_LISTED:,} more</p>" if len(gone) > _MAX_LISTED else ""
    removed = f"<details><summary>{len(gone):,} removed</summary>{paths}{more}</details>" if gone else ""
    return f"<p>{html.escape(summary)}</p>{problems_html([(path, problem.why) for path, problem in problems.items()])}{removed}"


def _list(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"
