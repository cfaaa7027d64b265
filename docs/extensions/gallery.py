"""Sphinx extension: the gallery's one-file pages, the site's root page and ``llms.txt``;
cards in tutorials without links to files.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

from nbtools.traces import Trace, load, share
from nbtools.traces.explorer.summary import summary_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx

SAMPLES = Path(__file__).resolve().parents[2] / "tests/traces/samples"
SESSIONS = {
    "claude-code": ("Claude Code", "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl"),
    "codex": ("Codex", "codex/external-agents--019dc116-c183-74f3-8f98-b4e5bd8eddfa.jsonl"),
    "gemini-cli": ("Gemini CLI", "gemini-cli/session-2025-12-24T21-37-2ccb51c5.json"),
    "swe-agent": ("SWE-agent", "swe-agent/pydicom__pydicom-1458.traj"),
    "openhands": ("OpenHands", "openhands/openhands_trajectory.json"),
    "mini-swe-agent": ("mini-SWE-agent", "mini-swe-agent/github_issue.traj.json"),
    "inspect": ("Inspect", "inspect/2025-02-11T15-18-04-05-00_popularity_mj7khqpMM4GBCfVQozKgzB.eval"),
    "otlp": ("OpenTelemetry spans", "otlp/otlp-json--agento-module1.json"),
}
"""Name of each page: the agent, and the sample log, whose licence ``SOURCES.md`` names."""
_SUMMARY = (
    "The tools of coding agents in a Jupyter notebook, with approvals, diffs and undo, and an explorer for"
    " agents' session logs."
)
_ROOT_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>nbtools</title>
<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">nbtools</a></html>
"""
_COUNT = re.compile(r"\b(?:records?|calls?|failed|changed)\b")
_SPACE = re.compile(r"[\s⏎]+")
_MARKUP = {ord(sign): f"\\{sign}" for sign in "\\`*_[]|<>"}
_FILE_LINK = re.compile(r"""<a\b[^>]*?\bhref=["']?(?!https?:|#)[^>]*>(.*?)</a>""", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_FIRST_SENTENCE = re.compile(r"^(?![#`|<>!:*\-{(\[]|\d+\.)(.+?\.)(?:\s|$)", re.MULTILINE)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", _fill)
    app.connect("doctree-read", _unlink)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}


@cache
def _session(name: str) -> Trace:
    """Reads the log once, for the table and for its page."""
    return load(SAMPLES / SESSIONS[name][1])


def _fill(_: Sphinx, page: str, source: list[str]) -> None:
    if page == "docs/gallery":
        source[0] = source[0].replace("<!-- table of sessions -->", "\n".join(_table()))


def _unlink(app: Sphinx, tree: nodes.document) -> None:
    """Makes the links of saved cards plain text:
    they lead to files of the project, which the site does not have.
    """
    if app.env.current_document.docname.startswith("notebooks/"):
        for raw in tree.findall(nodes.raw):
            raw[:] = [nodes.Text(_FILE_LINK.sub(r"\1", raw.astext()))]


def _table() -> Iterator[str]:
    """A row for each session, with the counts that its page shows."""
    yield "| session of | task | holds |\n| --- | --- | --- |"
    for name, (agent, path) in SESSIONS.items():
        summary = summary_of(_session(name))
        counts = ", ".join(fact.text for fact in summary.facts if _COUNT.search(fact.text))
        title = _SPACE.sub(" ", summary.title.removesuffix(Path(path).name).translate(_MARKUP))
        yield f'| <a href="gallery/{name}.html">{html.escape(agent)}</a> | {title} | {counts} |'


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    output = Path(app.outdir)
    (output / "index.html").write_text(_ROOT_PAGE, encoding="utf-8")
    gallery = output / "docs/gallery"
    gallery.mkdir(parents=True, exist_ok=True)
    for name in SESSIONS:
        target = gallery / f"{name}.html"
        target.unlink(missing_ok=True)
        share(_session(name), target)
    (output / "llms.txt").write_text("\n".join(_llms(app)), encoding="utf-8")


def _llms(app: Sphinx) -> Iterator[str]:
    """The site's pages with their first sentences, as https://llmstxt.org describes it."""
    yield f"# nbtools\n\n> {_SUMMARY}\n"
    for part, pages in _parts(app).items():
        yield f"## {part}\n"
        for page in pages:
            text = (
                Path(app.env.doc2path(page)).read_text(encoding="utf-8")
                if not page.startswith("notebooks/")
                else ""
            )
            about = _FIRST_SENTENCE.search(text)
            sentence = f": {_LINK.sub(lambda link: link[1], about[1])}" if about else ""
            yield f"- [{app.env.titles[page].astext()}]({page}.html){sentence}"
        yield ""


def _parts(app: Sphinx) -> dict[str, list[str]]:
    """The pages by the entry of the start page that leads to them."""
    children = app.env.toctree_includes
    return {app.env.titles[top].astext(): [top, *_below(children, top)] for top in children["docs/index"]}


def _below(children: dict[str, list[str]], page: str) -> Iterator[str]:
    for child in children.get(page, ()):
        yield child
        yield from _below(children, child)
