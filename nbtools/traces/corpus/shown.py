"""What a corpus and an ingest are in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from nbtools.traces.model import Problem

_MOST = 20
_QUERY = "select name, count(*) as n from calls group by name order by n desc"


def corpus_html(folder: Path, facts: Mapping[str, str], unread: Sequence[tuple[str, str]]) -> str:
    asked = f"corpus.sql({_QUERY!r})", "corpus.search('words or.code(')", "corpus.open(session_id)"
    cells = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in facts.items())
    ways = "<br>".join(f"<code>{html.escape(way)}</code>" for way in asked)
    return f"<p><b>Corpus</b> {html.escape(str(folder))}</p><table><tbody>{cells}</tbody></table><p>{ways}</p>{problems_html(unread)}"


def problems_html(problems: Sequence[tuple[str, str]]) -> str:
    """Paths and why they could not be read, folded."""
    if not problems:
        return ""
    listed = _listed(f"{html.escape(path)}: {html.escape(why)}" for path, why in problems[:_MOST])
    more = f"<p>{len(problems) - _MOST:,} more</p>" if len(problems) > _MOST else ""
    return f"<details><summary>{len(problems):,} not readable</summary>{listed}{more}</details>"


def ingested_html(summary: str, problems: Mapping[str, Problem], gone: Sequence[str]) -> str:
    left = _listed(map(html.escape, gone[:_MOST])) if gone else ""
    more = f"<p>{len(gone) - _MOST:,} more</p>" if len(gone) > _MOST else ""
    went = f"<details><summary>{len(gone):,} gone</summary>{left}{more}</details>" if gone else ""
    return f"<p>{html.escape(summary)}</p>{problems_html([(path, problem.why) for path, problem in problems.items()])}{went}"


def _listed(lines: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"
