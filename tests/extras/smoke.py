"""Runs what the bare package and each extra promise, in an environment that has nothing else:
``python smoke.py EXTRA SAMPLES``.

``.ci/extras.py`` makes the environments. Each function here is the smoke test of the extra of its name (``-``
is ``_``) and raises where a promise is broken. It runs in an empty folder, with the standard library and what
the extra installs.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOG = "claude-code/external-agents--012dbfb0-86fd-41e2-baf6-29dd614f08e4.jsonl"
SAMPLES = Path()
SERVER = """
from mcp.server import MCPServer
server = MCPServer("echo")

@server.tool()
def echo(text: str) -> str:
    "Returns the text."
    return text

server.run("stdio")
"""


def expect(actual: Any, expected: Any) -> None:
    if actual != expected:
        raise AssertionError(f"{actual!r} instead of {expected!r}")


@contextlib.contextmanager
def workspace(**options: Any) -> Iterator[Any]:
    """A session in which everything that is not denied runs."""
    import nbtools

    with nbtools.Session(".", policy=nbtools.Policy(mode="yolo"), **options).sync() as session:
        yield session


def succeeded(result: Any) -> Any:
    if not result.ok:
        raise AssertionError(str(result.llm_content))
    return result


def run_cells(*cells: str) -> str:
    """Runs cells in a kernel of this environment and returns the text of their outputs."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel()
    seen: list[str] = []

    def hear(message: dict[str, Any]) -> None:
        content = message["content"]
        seen.append(content.get("text", "") or content.get("data", {}).get("text/plain", ""))
        seen.extend(content.get("traceback", ()))

    try:
        for cell in cells:
            reply = client.execute_interactive(cell, timeout=120, output_hook=hear)
            if reply["content"]["status"] != "ok":
                raise AssertionError("\n".join(seen))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return "\n".join(seen)


def bare() -> None:
    """Tools, magics, reading a log, the shared page, the command line."""
    import nbtools
    from nbtools.traces import load, sessions, share

    Path("a.py").write_text("x = 1  # TODO\n", encoding="utf-8")
    with workspace() as session:
        expect(len(succeeded(session.call("grep", {"pattern": "TODO"})).data.matches), 1)
        succeeded(session.call("edit", {"path": "a.py", "old": "x = 1", "new": "x = 2"}))
        expect("2" in str(succeeded(session.call("shell", {"command": "cat a.py"})).llm_content), True)
    expect("a.py" in run_cells("%load_ext nbtools", "%tool grep TODO", "tools.read('a.py')"), True)
    trace = load(SAMPLES / LOG)
    expect(len(trace.calls) > 1, True)
    expect(share(trace, "shared.html").stat().st_size > 10_000, True)
    nbtools.to_notebook(trace, "log.ipynb")
    expect(len(list(sessions(folders=[SAMPLES]))) > 1, True)
    expect(nbtools.__version__ != "", True)
    for arguments in (["--help"], ["doctor"], ["trace", str(SAMPLES / LOG)]):
        subprocess.run(
            [Path(sys.executable).with_name("nbtools"), *arguments], check=True, stdout=subprocess.DEVNULL
        )


def lab() -> None:
    """JupyterLab finds the extension."""
    labextension = [str(Path(sys.executable).with_name("jupyter")), "labextension", "list"]
    listed = subprocess.run(labextension, check=True, capture_output=True, text=True)
    [line] = [line for line in (listed.stdout + listed.stderr).splitlines() if "nbtools-agent" in line]
    expect("enabled" in line and "OK" in line, True)


def sandbox() -> None:
    """A command runs in bubblewrap and cannot write outside of the workspace."""
    from nbtools import Settings

    outside = Path.home() / "outside"
    with workspace(settings=Settings(sandbox="required")) as session:
        succeeded(session.call("shell", {"command": f"echo hello > inside; touch {outside} || true"}))
    expect((Path("inside").exists(), outside.exists()), (True, False))


def traces() -> None:
    """SQL, tables and a corpus."""
    from nbtools.traces import Corpus, load

    trace = load(SAMPLES / LOG)
    expect(trace.sql("select 1").fetchall(), [(1,)])
    expect(trace.sql("select count(args), count(result) from calls").fetchall()[0][0], len(trace.calls))
    expect(trace.calls.to_arrow().num_rows, len(trace.calls))
    corpus = Corpus("corpus")
    expect(len(corpus.ingest([SAMPLES / LOG]).read), 1)
    expect(corpus.sql("select count(*) from calls").fetchall(), [(len(trace.calls),)])
    expect(corpus.search("import", limit=1) != [], True)


def prices() -> None:
    """A log's requests are priced."""
    from nbtools.traces import load

    expect(load(SAMPLES / LOG).cost(prices=True).total > 0, True)


def cluster() -> None:
    """A corpus is made on a cluster."""
    import distributed

    from nbtools.traces import Corpus

    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        corpus = Corpus("corpus")
        expect(len(corpus.ingest([SAMPLES / LOG], client=client).read), 1)
        expect(corpus.sql("select count(*) from sessions").fetchall(), [(1,)])


def tutorials() -> None:
    """Rows become data frames of both kinds, and a corpus is made on a cluster."""
    from nbtools.traces import load

    trace = load(SAMPLES / LOG)
    expect((len(trace.calls.to_pandas()), len(trace.calls.to_polars())), (len(trace.calls), len(trace.calls)))
    expect(trace.sql("select count(*) as n from calls").to_pandas()["n"].item(), len(trace.calls))
    cluster()


def mcp() -> None:
    """A tool of a server over stdio is called; logins are kept; the own server starts."""
    from nbtools.mcp.auth.token_store import LoginStore
    from nbtools.mcp.config.entries import parse_server

    Path("server.py").write_text(SERVER, encoding="utf-8")
    with workspace() as session:
        session.session.mcp.add(
            [parse_server("echo", {"command": sys.executable, "args": ["server.py"]}, {})]
        )
        session.run(session.session.mcp.connect())
        result = succeeded(session.call("mcp__echo__echo", {"text": "hello"}))
        expect("hello" in str(result.llm_content), True)
    LoginStore("server", "account").delete()
    own = subprocess.run(
        [Path(sys.executable).with_name("nbtools"), "mcp"],
        check=False,
        capture_output=True,
        text=True,
        input="",
        timeout=60,
    )
    expect((own.returncode, own.stderr), (0, own.stderr))


def agents() -> None:
    """An agent runs with a model of the library, and the default provider's model can be named."""
    from nbtools import Agent, Session, model_named

    async def run() -> str:
        async with Session(".", tools=[]) as session:
            return str((await Agent(session, "test").run("hello")).text)

    expect(asyncio.run(run()) != "", True)
    model_named("openai:gpt-5")
    import openai  # the library of the default provider

    expect(openai.__name__, "openai")


def documents() -> None:
    """A page of a PDF document is read."""
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length 37>>stream\nBT /F 20 Tf 20 100 Td (hello) Tj ET\nendstream",
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    document, places = b"%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(document))
        document += b"%d 0 obj%s endobj\n" % (number, content)
    start = len(document)
    document += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(
        b"%010d 00000 n \n" % place for place in places
    )
    document += b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % start
    Path("a.pdf").write_bytes(document)
    with workspace() as session:
        session.session.workspace.draws_pages = True  # as in a notebook
        shown = succeeded(session.call("read", {"path": "a.pdf", "pages": "1"})).return_display
    expect((shown.text.splitlines()[-1], len(shown.pages)), ("hello", 1))


def notebooks() -> None:
    """A cell of a notebook file runs in a kernel."""
    import nbformat

    cell = nbformat.v4.new_code_cell("print(6 * 7)", id="a")
    metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=metadata), "a.ipynb")
    with workspace() as session:
        result = succeeded(session.call("cells", {"path": "a.ipynb", "action": "run", "id": "a"}))
        expect("42" in str(result.llm_content), True)


def wrappers() -> None:
    """Retries, a cache and a rate limit around a function."""
    from nbtools import tool
    from nbtools.wrappers import cached, rate_limited, retrying

    calls: list[int] = []

    @tool(kind="read")
    async def double(number: int) -> int:
        """Doubles a number."""
        calls.append(number)
        return number * 2

    with workspace(
        tools=cached(retrying(rate_limited([double], 100, per=1)), seconds=60).values()
    ) as session:
        for _ in range(2):
            expect(succeeded(session.call("double", {"number": 21})).data, 42)
    expect(calls, [21])


def all_() -> None:
    for check in (lab, sandbox, traces, prices, mcp, agents, documents, notebooks, wrappers):
        check()


CHECKS = {
    "bare": bare,
    "all": all_,
    "lab": lab,
    "sandbox": sandbox,
    "traces": traces,
    "prices": prices,
    "cluster": cluster,
    "tutorials": tutorials,
    "mcp": mcp,
    "agents": agents,
    "documents": documents,
    "notebooks": notebooks,
    "wrappers": wrappers,
}

if __name__ == "__main__":
    SAMPLES = Path(sys.argv[2])
    CHECKS[sys.argv[1]]()
