"""Session logs in tabs of their own: opened from the file browser, followed, compared, restored,
and nothing left behind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal

import pytest_asyncio
from playwright.async_api import expect

from tests.browser.long_log import write_cart_log
from tests.browser.test_samples import write_samples
from tests.browser.test_trace import REAL
from tests.browser.views import DRAWN
from tests.waiting import eventually

OPEN = "Open as Agent Trace"
COMPARE = "Compare Agent Traces"
CHUNK = re.compile(r"/explorer\.[0-9a-f]+\.js")
SESSIONS = """() => window.jupyterapp.serviceManager.sessions.refreshRunning().then(
    () => [...window.jupyterapp.serviceManager.sessions.running()].map(({ name, type }) => [name, type]))"""
OURS = [["Agent logs", "console"]]
NUMBER_IN_KERNEL = """async code => {
    const { sessions } = window.jupyterapp.serviceManager;
    const { kernel } = sessions.connectTo({ model: await sessions.findByPath('nbtools-agent-logs') });
    const future = kernel.requestExecute({ code, store_history: false });
    return new Promise(resolve => { future.onIOPub = ({ content }) => content.text && resolve(Number(content.text)); });
}"""
"""The number that code prints in the kernel of the log tabs."""
PROCESS = "import os; print(os.getpid())"
OPENED = "from nbtools.traces.explorer.registry import EXPLORERS; print(len(EXPLORERS._recent))"
ENDED_ELSEWHERE = """async () => {
    const { serverSettings, sessions } = window.jupyterapp.serviceManager;
    const headers = { Authorization: `token ${serverSettings.token}` };
    const ask = (id, more) => fetch(`${serverSettings.baseUrl}api/sessions${id}`, { headers, ...more });
    const model = { path: 'nbtools-agent-logs', name: 'Agent logs', type: 'console', kernel: { name: 'python3' } };
    const { id } = await (await ask('', { method: 'POST', body: JSON.stringify(model) })).json();
    await sessions.refreshRunning();
    await ask(`/${id}`, { method: 'DELETE' });
}"""
OPEN_PATH = "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)"
CLOSE = "[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())"
CLOSE_AND_OPEN = f"path => {{ {CLOSE}; return ({OPEN_PATH})(path); }}"
LINES = REAL.read_bytes().splitlines(keepends=True)
KEPT = 150
"""Lines of a log that is followed which are there from the start: more steps than fit into the list."""
MISSING = "does not exist, or Jupyter does not serve it"
NOT_SERVED = (
    *(
        "../outside.jsonl",
        "{outside}",
        "{project}/../../outside.jsonl",
        "{project}",
        "{project}/no such.jsonl",
        "no such.jsonl",
    ),
    *("/etc/passwd", "./session:00000000000001", "javascript:window.broken=true", "x" * 4_000),
    "{project}/<img src=x onerror=window.broken=true>.jsonl",
)
ODD_NAME = "it's \"50 %\" $HOME{1}\u2028open('pwned','w')#\x1c ü 日本 %20 " + "x" * 120 + ".jsonl"


class LogTab:
    """The tab in front, which shows a log or a comparison."""

    def __init__(self, page):
        self.page = page
        self.node = page.locator(".nbtools-log:visible")
        self.trace = self.node.locator(".nbtools-trace")
        self.panel = self.node.locator(".nbtools-trace-panel")

    def row(self, text):
        return self.node.locator(".nbtools-trace-row:visible").filter(has_text=text).first

    def chip(self, name):
        return self.node.locator(".nbtools-trace-chip").filter(has_text=name)


@pytest_asyncio.fixture(loop_scope="session")
async def browse(lab, project):
    """JupyterLab's file browser in the project's folder."""
    await lab.bring_to_front()
    await lab.evaluate(
        "path => window.jupyterapp.commands.execute('filebrowser:open-path', { path }).then(() => null)",
        project.name,
    )
    await lab.evaluate("window.jupyterapp.shell.activateById('filebrowser')")
    yield lab
    await lab.evaluate("[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())")
    await lab.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await lab.evaluate(
        "window.jupyterapp.commands.execute('filebrowser:go-to-path', { path: '/' }).then(() => null)"
    )
    await lab.evaluate("window.jupyterapp.shell.collapseLeft()")


async def menu_of(page, name):
    await page.locator(".jp-DirListing-item").filter(has_text=name).first.click(button="right")
    await expect(page.locator(".lm-Menu").first).to_be_visible()


async def choose(page, name, item):
    await menu_of(page, name)
    await page.locator(".lm-Menu").get_by_text(item).click()


def listed(project):
    return sorted(path.name for path in project.iterdir())


async def test_a_log_gets_a_tab_that_follows_it_and_leaves_no_notebook(browse, project, screenshots):
    log = project / "my session.jsonl"
    log.write_bytes(b"".join(LINES[:KEPT]))
    before = listed(project)
    await menu_of(browse, "notes.txt")
    await expect(browse.locator(".lm-Menu").get_by_text(OPEN)).to_be_hidden()
    await browse.keyboard.press("Escape")
    await choose(browse, log.name, OPEN)
    tab = LogTab(browse)
    await expect(tab.row("Read")).to_be_visible()
    await expect(browse.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text(log.name)
    await eventually(OURS, browse.evaluate, SESSIONS)
    await expect(tab.trace.locator(".nbtools-trace-follow")).to_have_text("Following")
    with log.open("ab") as file:
        file.writelines(LINES[KEPT:])
    await expect(tab.trace).to_contain_text("335 records")
    await screenshots(browse, "log-tab")
    await tab.chip("writes").click()
    await tab.row("Edit").click()
    await expect(tab.panel.locator(".nbtools-diff")).to_be_visible()
    await choose(browse, log.name, OPEN)
    await expect(browse.locator(".nbtools-log")).to_have_count(1)
    await browse.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await eventually([], browse.evaluate, SESSIONS)
    assert listed(project) == before


async def test_selected_logs_are_compared_and_a_step_runs_again_in_a_notebook_that_the_person_chooses(
    browse, project, screenshots
):
    shutil.copy(REAL, project / "a.jsonl")
    write_cart_log(project / "b.jsonl")
    (project / "Untitled.ipynb").write_text("mine", encoding="utf-8")
    await browse.locator(".jp-DirListing-item").filter(has_text="a.jsonl").click()
    await browse.locator(".jp-DirListing-item").filter(has_text="b.jsonl").click(modifiers=["Control"])
    await menu_of(browse, "b.jsonl")
    await expect(browse.locator(".lm-Menu").get_by_text(OPEN)).to_be_hidden()
    await browse.locator(".lm-Menu").get_by_text(COMPARE).click()
    tab = LogTab(browse)
    await expect(tab.node).to_contain_text("shared at the beginning")
    await screenshots(browse, "log-compared")
    await tab.node.get_by_role("button", name="Open B in a tab").click()
    await expect(tab.row("Grep")).to_be_visible()
    await browse.evaluate(OPEN_PATH, f"{project.name}/b.jsonl")
    await tab.row("Grep").click()
    await tab.panel.get_by_role("button", name="Run again in a copy").click()
    await browse.locator(".jp-Dialog").get_by_role("button", name="New Notebook").click()
    notebook = browse.locator(".jp-NotebookPanel:visible")
    await expect(notebook.locator(".nbtools-card .nbtools-status")).to_have_text("Same as recorded")
    assert (project / "Untitled.ipynb").read_text(encoding="utf-8") == "mine"
    made = json.loads((project / "Untitled1.ipynb").read_text(encoding="utf-8"))
    assert made["cells"][1]["source"] or made["cells"][1]["source"] == []


async def test_only_logs_that_jupyter_serves_are_opened_and_their_names_are_data(browse, project, server):
    tab = LogTab(browse)

    async def says(path, text):
        await browse.evaluate(OPEN_PATH, path)
        await expect(tab.node).to_contain_text(text)
        await expect(browse.locator(".jp-Dialog")).to_have_count(0)
        assert await browse.evaluate("window.broken") is None

    outside = shutil.copy(REAL, server.root.parent / "outside.jsonl")
    for path in NOT_SERVED:
        await browse.evaluate(CLOSE)
        await says(path.format(outside=outside, project=project.name), MISSING)
    await eventually([], browse.evaluate, SESSIONS)
    tabs = await browse.locator(".nbtools-log").count()
    for path in (7, "x" * 6_000):
        await browse.evaluate(OPEN_PATH, path)
        assert await browse.locator(".nbtools-log").count() == tabs
    for name in ("notes.txt", "other.jsonl"):
        (project / name).write_text('{"a": 1}\n', encoding="utf-8")
        await says(f"{project.name}/{name}", "is not recognised as a session log")
        await expect(tab.node).to_contain_text(name)
    shutil.copy(REAL, project / "other.jsonl")
    await tab.node.get_by_role("button", name="Try again").click()
    await expect(tab.row("Read")).to_be_visible()
    name = ODD_NAME.encode()[:250].decode(errors="ignore")
    shutil.copy(REAL, project / name)
    await browse.evaluate(CLOSE_AND_OPEN, f"{project.name}/{name}")
    await tab.row("Read").click()
    await expect(tab.panel.locator(".nbtools-card")).to_be_visible()
    assert not (project / "pwned").exists()


async def test_a_log_gets_a_tab_in_notebook_7(server, context, project, screenshots):
    shutil.copy(REAL, project / "session.jsonl")
    before = listed(project)
    tree = await context.new_page()
    await tree.goto(server.address("tree", project.name))
    await choose(tree, "session.jsonl", OPEN)
    tab = LogTab(tree)
    await expect(tab.row("Read")).to_be_visible()
    await screenshots(tree, "log-tab-notebook")
    await tree.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await tree.close()
    assert listed(project) == before


async def test_a_kernel_that_ends_or_does_not_answer_is_replaced(browse, project):
    """It may be ended by another page, which this one is not told; or by the last tab;
    and it serves all tabs.
    """
    first, second = (
        f"{project.name}/{shutil.copy(REAL, project / name).name}" for name in ("first.jsonl", "second.jsonl")
    )
    tab = LogTab(browse)
    await browse.evaluate(ENDED_ELSEWHERE)
    await browse.evaluate(OPEN_PATH, first)
    await expect(tab.row("Read")).to_be_visible()
    await browse.evaluate(CLOSE_AND_OPEN, first)
    await expect(tab.row("Read")).to_be_visible()
    assert await browse.evaluate(SESSIONS) == OURS
    await tab.chip("failed").click()
    failed = tab.node.locator('.nbtools-trace-row[data-index="1"]')
    await failed.click()
    chosen = await failed.inner_text()
    os.kill(await browse.evaluate(NUMBER_IN_KERNEL, PROCESS), signal.SIGSTOP)
    await browse.evaluate(OPEN_PATH, second)
    await expect(tab.node).to_contain_text(
        "Opening second.jsonl… The kernel has not answered for 10 seconds."
    )
    await tab.node.get_by_role("button", name="Use a new kernel").click()
    await expect(tab.row("Read")).to_be_visible()
    await browse.locator(".lm-TabBar-tab").filter(has_text="first.jsonl").click()
    await eventually(2, browse.evaluate, NUMBER_IN_KERNEL, OPENED)  # the first log is opened again
    await browse.evaluate(DRAWN)
    await expect(tab.node.locator(".nbtools-trace-found")).to_contain_text(" of ")
    await expect(tab.chip("failed")).to_have_attribute("aria-pressed", "true")
    await expect(tab.node.locator(".nbtools-table-active")).to_have_text(chosen, use_inner_text=True)
    await eventually(OURS, browse.evaluate, SESSIONS)


async def test_a_tab_that_is_closed_at_once_starts_no_kernel(browse, project):
    shutil.copy(REAL, project / "first.jsonl")
    asked = "/api/contents/" + project.name + "/first.jsonl"
    started = []

    async def close_first(route):
        await browse.evaluate(CLOSE)
        await route.continue_()

    def note(request):
        if request.method == "POST" and "/api/sessions" in request.url:
            started.append(request.url)

    await browse.route(lambda address: asked in address, close_first)
    browse.on("request", note)
    async with browse.expect_response(lambda response: asked in response.url):
        await choose(browse, "first.jsonl", OPEN)
    await browse.evaluate(DRAWN)
    await browse.unroute_all()
    assert await browse.evaluate(SESSIONS) == []
    browse.remove_listener("request", note)
    assert started == []


async def test_a_double_click_opens_an_evaluation_and_loads_no_content(browse, project):
    log = write_samples(project / "scores.eval")
    (project / "messages.json").write_text('[{"role": "user", "content": "Hello"}]')
    requests = []
    browse.on("request", lambda request: requests.append(request.url))
    await browse.locator(".jp-DirListing-item").filter(has_text=log.name).first.dblclick()
    tab = LogTab(browse)
    await expect(tab.trace).to_contain_text("accuracy 0.83")
    await expect(browse.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text(log.name)
    loaded = [url for url in requests if "/api/contents/" in url and f"{log.name}?" in url]
    assert loaded
    assert [url for url in loaded if "content=0" not in url] == []
    before = log.read_bytes()
    await browse.evaluate("window.jupyterapp.commands.execute('docmanager:save').then(() => null)")
    assert await browse.locator(".jp-Dialog").all_inner_texts() == []
    assert log.read_bytes() == before
    assert [*project.glob(".ipynb_checkpoints/*")] == []
    await browse.locator(".jp-DirListing-item").filter(has_text=log.name).first.dblclick()
    await choose(browse, log.name, OPEN)
    await expect(browse.locator(".nbtools-log")).to_have_count(1)
    await browse.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await eventually([], browse.evaluate, SESSIONS)
    await browse.locator(".jp-DirListing-item").filter(has_text="messages.json").first.dblclick()
    await expect(browse.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text("messages.json")
    await expect(browse.locator(".nbtools-log")).to_have_count(0)
    await menu_of(browse, "messages.json")
    await browse.locator(".lm-Menu").get_by_text("Open With").hover()
    await browse.locator(".lm-Menu").get_by_text("Agent Trace", exact=True).click()
    await expect(tab.row("Hello")).to_be_visible()
