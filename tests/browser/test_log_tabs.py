"""Session logs in tabs of their own: opened from the file browser, compared, restored, and nothing left behind."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal

import pytest_asyncio
from playwright.async_api import expect

from tests.browser.long_log import write_cart_log
from tests.browser.tab import restored
from tests.browser.test_trace import REAL
from tests.waiting import eventually

OPEN = "Open as Agent Trace"
COMPARE = "Compare Agent Traces"
CHUNK = re.compile(r"/explorer\.[0-9a-f]+\.js")
SESSIONS = """() => window.jupyterapp.serviceManager.sessions.refreshRunning().then(
    () => [...window.jupyterapp.serviceManager.sessions.running()].map(({ name, type }) => [name, type]))"""
OURS = [["Agent logs", "console"]]
KERNEL_PROCESS = """async () => {
    const { sessions } = window.jupyterapp.serviceManager;
    const { kernel } = sessions.connectTo({ model: await sessions.findByPath('nbtools-agent-logs') });
    const future = kernel.requestExecute({ code: 'import os; print(os.getpid())', store_history: false });
    return new Promise(resolve => { future.onIOPub = ({ content }) => content.text && resolve(Number(content.text)); });
}"""
ENDED_ELSEWHERE = """async () => {
    const { serverSettings, sessions } = window.jupyterapp.serviceManager;
    const headers = { Authorization: `token ${serverSettings.token}` };
    const ask = (id, more) => fetch(`${serverSettings.baseUrl}api/sessions${id}`, { headers, ...more });
    const model = { path: 'nbtools-agent-logs', name: 'Agent logs', type: 'console', kernel: { name: 'python3' } };
    const { id } = await (await ask('', { method: 'POST', body: JSON.stringify(model) })).json();
    await sessions.refreshRunning();
    await ask(`/${id}`, { method: 'DELETE' });
}"""
WORKSPACE = """() => window.jupyterapp.serviceManager.workspaces.fetch('restored').then(
    ({ data }) => JSON.stringify(data).includes('nbtools-agent-logs'))"""
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
    await lab.evaluate("path => window.jupyterapp.commands.execute('filebrowser:open-path', { path }).then(() => null)", project.name)
    await lab.evaluate("window.jupyterapp.shell.activateById('filebrowser')")
    yield lab
    await lab.evaluate("[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())")
    await lab.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await lab.evaluate("window.jupyterapp.commands.execute('filebrowser:go-to-path', { path: '/' }).then(() => null)")
    await lab.evaluate("window.jupyterapp.shell.collapseLeft()")


async def menu_of(page, name):
    await page.locator(".jp-DirListing-item").filter(has_text=name).first.click(button="right")
    await expect(page.locator(".lm-Menu").first).to_be_visible()


async def choose(page, name, item):
    await menu_of(page, name)
    await page.locator(".lm-Menu").get_by_text(item).click()


def listed(project):
    return sorted(path.name for path in project.iterdir())


async def test_a_log_gets_a_tab_and_leaves_no_notebook(browse, project, screenshots):
    shutil.copy(REAL, project / "my session.jsonl")
    before = listed(project)
    await menu_of(browse, "notes.txt")
    await expect(browse.locator(".lm-Menu").get_by_text(OPEN)).to_be_hidden()
    await browse.keyboard.press("Escape")
    await choose(browse, "my session.jsonl", OPEN)
    tab = LogTab(browse)
    await expect(tab.row("Read")).to_be_visible()
    await expect(browse.locator(".lm-TabBar-tab.jp-mod-current")).to_contain_text("my session.jsonl")
    await eventually(OURS, browse.evaluate, SESSIONS)
    await screenshots(browse, "log-tab")
    await tab.chip("edits").click()
    await tab.row("Edit").click()
    await expect(tab.panel.locator(".nbtools-diff")).to_be_visible()
    await choose(browse, "my session.jsonl", OPEN)
    await expect(browse.locator(".nbtools-log")).to_have_count(1)
    await browse.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await eventually([], browse.evaluate, SESSIONS)
    assert listed(project) == before


async def test_two_selected_logs_are_compared(browse, project, screenshots):
    shutil.copy(REAL, project / "a.jsonl")
    write_cart_log(project / "b.jsonl")
    await browse.locator(".jp-DirListing-item").filter(has_text="a.jsonl").click()
    await browse.locator(".jp-DirListing-item").filter(has_text="b.jsonl").click(modifiers=["Control"])
    await menu_of(browse, "b.jsonl")
    await expect(browse.locator(".lm-Menu").get_by_text(OPEN)).to_be_hidden()
    await browse.locator(".lm-Menu").get_by_text(COMPARE).click()
    tab = LogTab(browse)
    await expect(tab.node).to_contain_text("shared at the beginning")
    await screenshots(browse, "log-compared")
    await tab.node.get_by_role("button", name="b.jsonl").click()
    await expect(LogTab(browse).row("Grep")).to_be_visible()


async def test_a_file_name_is_data(browse, project):
    name = ODD_NAME.encode()[:250].decode(errors="ignore")
    shutil.copy(REAL, project / name)
    await browse.evaluate(
        "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", f"{project.name}/{name}"
    )
    await expect(LogTab(browse).row("Read")).to_be_visible()
    assert not (project / "pwned").exists()
    await LogTab(browse).row("Read").click()
    await expect(LogTab(browse).panel.locator(".nbtools-card")).to_be_visible()


async def test_only_files_that_jupyter_serves_are_opened(browse, project, server):
    outside = server.root.parent / "outside.jsonl"
    shutil.copy(REAL, outside)
    for path in (f"../{outside.name}", str(outside), f"{project.name}/../../{outside.name}", f"{project.name}", "no such.jsonl"):
        await browse.evaluate("path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", path)
        await expect(LogTab(browse).node).to_contain_text("does not exist, or Jupyter does not serve it")
    await eventually([], browse.evaluate, SESSIONS)
    tabs = await browse.locator(".nbtools-log").count()
    await browse.evaluate("window.jupyterapp.commands.execute('nbtools:open-log', { path: 7 }).then(() => null)")
    assert await browse.locator(".nbtools-log").count() == tabs
    await expect(browse.locator(".jp-Dialog")).to_have_count(0)


async def test_a_file_that_is_no_log_says_so(browse, project):
    (project / "other.jsonl").write_text('{"a": 1}\n', encoding="utf-8")
    await choose(browse, "other.jsonl", OPEN)
    tab = LogTab(browse)
    await expect(tab.node).to_contain_text("other.jsonl")
    await expect(tab.node.get_by_role("button", name="Try again")).to_be_visible()
    shutil.copy(REAL, project / "other.jsonl")
    await tab.node.get_by_role("button", name="Try again").click()
    await expect(tab.row("Read")).to_be_visible()


async def test_a_step_runs_again_in_a_notebook_that_the_person_chooses(browse, project):
    write_cart_log(project / "session.jsonl")
    (project / "Untitled.ipynb").write_text("mine", encoding="utf-8")
    await choose(browse, "session.jsonl", OPEN)
    tab = LogTab(browse)
    await tab.row("Grep").click()
    await tab.panel.get_by_role("button", name="Run again in a copy").click()
    await browse.locator(".jp-Dialog").get_by_role("button", name="New Notebook").click()
    notebook = browse.locator(".jp-NotebookPanel:visible")
    await expect(notebook.locator(".nbtools-card .nbtools-status")).to_have_text("Same as recorded")
    assert (project / "Untitled.ipynb").read_text(encoding="utf-8") == "mine"
    made = json.loads((project / "Untitled1.ipynb").read_text(encoding="utf-8"))
    assert made["cells"][1]["source"] or made["cells"][1]["source"] == []


async def test_the_tab_is_restored_after_a_reload_with_the_same_kernel(server, context, project):
    shutil.copy(REAL, project / "session.jsonl")
    page = await context.new_page()
    await page.goto(server.address("lab/workspaces/restored"))
    await restored(page)
    await page.evaluate(
        "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", f"{project.name}/session.jsonl"
    )
    await expect(LogTab(page).row("Read")).to_be_visible()
    await eventually(True, page.evaluate, WORKSPACE)
    await page.reload()
    await restored(page)
    await expect(LogTab(page).row("Read")).to_be_visible()
    await eventually(OURS, page.evaluate, SESSIONS)
    await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await LogTab(page).chip("edits").click()  # the kernel has ended: the log is opened again by another
    await expect(LogTab(page).row("Edit")).to_be_visible()
    await expect(LogTab(page).chip("edits")).to_have_attribute("aria-pressed", "true")
    await eventually(OURS, page.evaluate, SESSIONS)
    await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await page.close()


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


async def test_the_explorer_is_loaded_with_the_first_log_and_says_when_it_is_missing(server, context, project):
    shutil.copy(REAL, project / "session.jsonl")
    page = await context.new_page()
    loads = []

    async def refuse(route):
        loads.append(route.request.url)
        await route.abort()

    await page.route(CHUNK, refuse)
    await page.goto(server.address("lab/workspaces/chunk"))
    await restored(page)
    assert loads == []
    await page.evaluate(
        "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", f"{project.name}/session.jsonl"
    )
    message = page.locator(".nbtools-log-message:visible")
    await expect(message).to_contain_text("could not be loaded")
    assert len(loads) == 1
    await page.unroute(CHUNK)
    await message.get_by_role("button", name="Try again").click()
    await expect(LogTab(page).row("Read")).to_be_visible()
    await page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
    await page.close()


async def test_a_kernel_that_another_page_has_ended_is_not_used(browse, project):
    """The page knows of running kernels what it has asked last."""
    shutil.copy(REAL, project / "session.jsonl")
    await browse.evaluate(ENDED_ELSEWHERE)
    await browse.evaluate(
        "path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", f"{project.name}/session.jsonl"
    )
    await expect(LogTab(browse).row("Read")).to_be_visible()


async def test_a_log_is_opened_while_the_kernel_of_the_last_one_ends(browse, project):
    shutil.copy(REAL, project / "session.jsonl")
    path = f"{project.name}/session.jsonl"
    await browse.evaluate("path => window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null)", path)
    await expect(LogTab(browse).row("Read")).to_be_visible()
    await browse.evaluate(
        """path => {
            window.jupyterapp.shell.currentWidget.dispose();
            return window.jupyterapp.commands.execute('nbtools:open-log', { path }).then(() => null);
        }""",
        path,
    )
    await expect(LogTab(browse).row("Read")).to_be_visible()
    assert await browse.evaluate(SESSIONS) == OURS


async def test_a_kernel_that_does_not_answer_is_replaced(browse, project):
    """Also for the other tabs that it serves."""
    for name in ("first.jsonl", "second.jsonl"):
        shutil.copy(REAL, project / name)
    await choose(browse, "first.jsonl", OPEN)
    await expect(LogTab(browse).row("Read")).to_be_visible()
    os.kill(await browse.evaluate(KERNEL_PROCESS), signal.SIGSTOP)
    await choose(browse, "second.jsonl", OPEN)
    tab = LogTab(browse)
    await expect(tab.node).to_contain_text("Opening second.jsonl… The kernel has not answered for 10 seconds.")
    await tab.node.get_by_role("button", name="Use a new kernel").click()
    await expect(tab.row("Read")).to_be_visible()
    await browse.locator(".lm-TabBar-tab").filter(has_text="first.jsonl").click()
    await LogTab(browse).chip("failed").click()
    await expect(LogTab(browse).node.locator(".nbtools-trace-found")).to_contain_text(" of ")
    await eventually(OURS, browse.evaluate, SESSIONS)


CLOSE = "[...window.jupyterapp.shell.widgets('main')].forEach(widget => widget.dispose())"


async def test_a_tab_that_is_closed_at_once_starts_no_kernel(browse, project):
    shutil.copy(REAL, project / "first.jsonl")
    asked = "/api/contents/" + project.name + "/first.jsonl"

    async def close_first(route):
        await browse.evaluate(CLOSE)
        await route.continue_()

    await browse.route(lambda address: asked in address, close_first)
    async with browse.expect_response(lambda response: asked in response.url):
        await choose(browse, "first.jsonl", OPEN)
    await browse.wait_for_timeout(1000)
    await browse.unroute_all()
    assert await browse.evaluate(SESSIONS) == []
