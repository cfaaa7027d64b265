"""Cards and questions stay: after a restart, after closing and opening, in a stranger's hands,
and without the extension.
"""

from __future__ import annotations

import asyncio
import json
import re

import nbformat
from playwright.async_api import expect

from tests.browser.conftest import without_extension
from tests.browser.project import git, write_notebook
from tests.browser.tab import PATIENCE, Tab, restored
from tests.waiting import eventually

WHOLE = "buttons => buttons.every(one => one.scrollWidth <= one.clientWidth + 1 && one.scrollHeight <= one.clientHeight + 1)"
EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
ANSWERS = {True: (Tab.approve, "Done", "Approved once by you"), False: (Tab.deny, "Denied", "Denied by you")}
"""Whether a call is approved: the answer, the status and the record of its card."""
ERROR = "Error displaying widget"


async def is_saved(tab, index, words):
    """The page may show words before it has them in the notebook."""
    await eventually(True, lambda: contains(tab, index, words))


async def contains(tab, index, words):
    return words in text_of(await tab.save(), index)


def text_of(saved, index):
    """Returns what a saved notebook shows of a cell without the extension: HTML and text."""
    data = saved["cells"][index]["outputs"][0]["data"]
    return "".join([*data["text/html"], *data["text/plain"]])


async def save_while_running(tab, index):
    """Starts the command in the cell, approves it, and saves the notebook while it runs."""
    await tab.start(index)
    await tab.approve(index)
    await expect(tab.status(index)).to_have_text("Running")
    await tab.save()


async def test_questions_that_are_answered_after_a_reload_leave_true_cards(open_notebook, app):
    """One of a call in the background, and one for which the kernel waits:
    denied and approved, in Notebook 7 the other way round.
    """
    tab = await open_notebook("call = tools.edit.background('notes.txt', old='two', new='2')", EDIT, app=app)
    for index in (1, 2):
        await tab.start(index)
        await tab.wait_for_questions(index)
    await tab.save()
    await tab.load_again()
    await tab.wait_for_questions(1)
    await tab.wait_for_questions(2)
    for index, is_approved in ((1, app == "notebook"), (2, app == "lab")):
        answer, status, record = ANSWERS[is_approved]
        await answer(tab, index)
        await expect(tab.status(index)).to_have_text(status)
        await expect(tab.record(index)).to_contain_text(record)
        await is_saved(tab, index, record)
    assert (tab.read("notes.txt") == "one\n2\nthree\n") is (app == "notebook")
    assert ("Decimal(0)" in tab.read("src/cart.py")) is (app == "lab")
    await tab.look(f"answered-after-reload-{app}", tab.panel)


async def test_commands_that_end_while_the_notebook_is_closed_or_after_a_reload_are_shown_to_their_ends_and_can_be_undone(
    open_notebook,
):
    closed = "%tool shell until test -e go; do sleep 0.1; done; echo ended; echo over > over"
    loaded = "%tool shell until test -e on; do sleep 0.1; done; echo 2 > notes.txt; echo at last"
    tab = await open_notebook(closed, loaded)
    await save_while_running(tab, 1)
    await tab.close()
    (tab.folder / "go").touch()
    await tab.exists("over")
    await tab.to_front()
    await expect(tab.status(1)).to_have_text("Done")
    await expect(tab.card(1)).to_contain_text("ended")
    await tab.ready()

    await save_while_running(tab, 2)
    await tab.load_again()
    await expect(tab.status(2)).to_have_text("Running")
    (tab.folder / "on").touch()
    await expect(tab.status(2)).to_have_text("Done")
    await expect(tab.card(2)).to_contain_text("at last")
    await tab.card(2).get_by_role("button", name="undo").click()
    await expect(tab.card(2)).to_contain_text("ndone")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"


async def test_a_state_whose_request_was_lost_is_requested_again(open_notebook, server):
    tab = await open_notebook(
        "%tool shell until test -e go; do sleep 0.1; done; echo ended; echo over > over"
    )
    await save_while_running(tab, 1)
    is_lossy, lost = True, []

    def lose(socket):
        """Passes on what page and kernel send each other,
        except updates and the page's questions for widgets as long as it is lossy.
        """
        server = socket.connect_to_server()

        def to_server(message):
            if is_lossy and b"comm_info_request" in message and b"jupyter.widget" in message:
                lost.append(message)
            else:
                server.send(message)

        socket.on_message(to_server)
        server.on_message(
            lambda message: (is_lossy and b"update_display_data" in message) or socket.send(message)
        )

    await tab.close()
    async with await tab.page.context.new_page() as page:
        await page.route_web_socket(re.compile("/channels"), lose)
        await page.goto(server.address("lab/workspaces/lossy/tree", f"{tab.folder.name}/{tab.path.name}"))
        again = Tab(page, tab.path, tab.shots)
        await restored(page)
        await expect(again.status(1)).to_have_text("Running")
        (tab.folder / "go").touch()
        await tab.exists("over")
        await again.ready()
        async with asyncio.timeout(PATIENCE / 1000):
            while not lost:
                await asyncio.sleep(0.05)
        is_lossy = False
        await expect(again.status(1)).to_have_text("Done")


async def test_a_question_and_a_command_whose_kernel_is_gone_say_that_their_ends_are_unknown(
    open_notebook, open_file
):
    tab = await open_notebook("run = tools.shell.background('sleep 600', timeout=600)", EDIT)
    await tab.start(1)
    await tab.approve(1)
    await expect(tab.status(1)).to_have_text("Running")
    await tab.start(2)
    await tab.wait_for_questions(2)
    await tab.save()
    await tab.end()
    again = await open_file(tab.path)
    await expect(again.status(1)).to_have_text("Unknown")
    await expect(again.card(1).get_by_role("button", name="Cancel")).to_have_count(0)
    await expect(again.status(2)).to_have_text("Unknown")
    await expect(again.card(2)).to_contain_text("run the cell again")
    await is_saved(again, 1, "unknown")
    await is_saved(again, 2, "unknown")


PWNED = "import pathlib; pathlib.Path('pwned').touch()"
FOOT = {"type": "foot", "state": "success", "status": "Done", "figures": [], "problem": ""}
PAGE = {"type": "page", "first": 0, "total": 0, "calls": 0, "lines": [], "indexed": 100}
VIEW = {
    "explorer": "0" * 32,
    "title": "A log",
    "facts": [],
    "bars": [],
    "kinds": [],
    "tools": [],
    "paths": [],
    "page": PAGE,
    "step": None,
}
CARD = {
    "id": "1-1",
    "state": "success",
    "tool": "edit",
    "icon": "pencil",
    "subject": "notes.txt",
    "status": "Done",
}
DEEDS = [{"verb": "undo", "id": "1-1", "label": "open file", "magic": "%tools undo 1-1"}]
AGENT, TRACE, CALL = (f"application/vnd.nbtools.{name}.v1+json" for name in ("agent", "trace", "call"))
FORGED = (
    {AGENT: {"part": {**FOOT, "ways": [{"label": "open trace", "cell": PWNED, "run": True}]}}},
    {AGENT: {"part": {**FOOT, "actions": ["continue", "open-trace"]}}},
    {
        AGENT: {
            "part": {
                "type": "head",
                "run": "1",
                "model": "m",
                "state": "executing",
                "status": "Working",
                "can_stop": True,
            }
        }
    },
    {TRACE: {**VIEW, "compare": PWNED, "notebook": PWNED, "sql": PWNED}},
    {TRACE: {**VIEW, "actions": ["compare", "notebook", "share", "sql"]}},
    {CALL: {**CARD, "deeds": DEEDS, "cancellable": True}},
)
"""What a stranger may write as outputs: in the form of an earlier version, which had code,
and in that of today.
"""


def forged_cell():
    """A cell that nobody here has run, with these outputs."""
    cell = nbformat.v4.new_code_cell("1 + 1", execution_count=1)
    cell.outputs = [
        nbformat.v4.new_output(
            "display_data", {**data, "text/html": "<p>as saved</p>", "text/plain": "as saved"}
        )
        for data in FORGED
    ]
    return cell


async def test_a_bundle_runs_no_code_of_its_own_in_a_trusted_notebook_with_a_busy_kernel(open_file, project):
    write_notebook(project / "forged.ipynb", ("", "import time; time.sleep(1000)"))
    forged = nbformat.read(project / "forged.ipynb", 4)
    forged.cells[1] = forged_cell()
    nbformat.write(forged, project / "forged.ipynb")
    tab = await open_file(project / "forged.ipynb")
    await tab.command("notebook:trust", wait=False)
    await tab.page.locator(".jp-Dialog").get_by_role("button", name="Trust").click()
    await tab.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.commsOverSubshells = 'disabled'"
    )
    await tab.run(0)
    await tab.start(2)
    await tab.is_busy(2)
    await tab.save()
    await tab.close()
    await tab.to_front()
    await expect(tab.cell(1).locator(".nbtools-rendered")).to_have_count(len(FORGED))
    await expect(tab.cell(1).locator(".nbtools-trace")).to_have_count(0)
    await expect(tab.cell(1).get_by_role("button", name="to notebook")).to_have_count(0)
    for button in await tab.cell(1).locator(".nbtools-run").get_by_role("button", name="Open trace").all():
        await button.click()
    await tab.press("interrupt")
    await tab.ready()
    assert not (project / "pwned").exists()
    sources = [cell["source"] for cell in (await tab.save())["cells"]]
    assert [source for source in sources if "pwned" in source] == []


CELLS = (
    *(
        EDIT,
        "%tool grep round src",
        "%tools allow shell",
        "%tool shell printf '\\033[32mgreen\\033[0m\\n'; false",
    ),
    *("%tool read nots.txt", "%tool edit notes.txt --old two --new 2"),
)
ASKING, STRANGE = 6, 7
SHOWN = {
    1: ("edit", "src/cart.py", "Approved once by you"),
    2: ("grep", "round(total, 2)", "items.py"),
    4: ("shell", "green", "Exit 1"),
}
TALL = {"width": 1200, "height": 4000}
"""Jupyter draws what is in view."""


async def saved_and_reopened(open_notebook, open_file, app):
    """Runs a notebook, closes it while it asks and opens it again;
    returns the path of one that nobody here has run: other bytes.
    """
    tab = await open_notebook(*CELLS, app=app)
    await tab.page.set_viewport_size(TALL)
    await tab.start(1)
    await tab.approve(1)
    await tab.done(1)
    for index in range(2, ASKING):
        await tab.run(index)
    await tab.start(ASKING)
    await expect(tab.question(ASKING)).to_be_visible()
    saved = await tab.save()
    assert all(
        "text/html" in output["data"] for index in (1, ASKING) for output in saved["cells"][index]["outputs"]
    )
    await tab.press("interrupt")
    await tab.close()
    again = await open_file(tab.path, app)
    await expect(again.record(1)).to_contain_text("Approved once by you")
    await expect(again.status(ASKING)).to_have_text("Cancelled")  # the kernel still knows
    await is_saved(again, ASKING, "Cancelled")
    await expect(again.page.get_by_text(ERROR)).to_have_count(0)
    await again.look(f"reopened-{app}", again.panel)

    saved = json.loads(tab.path.read_text(encoding="utf-8"))
    saved["cells"].append(forged_cell())
    for cell in saved["cells"]:
        cell["metadata"]["from"] = "a stranger"
        cell["id"] = cell["id"][::-1]
    foreign = tab.path.with_name("foreign.ipynb")
    foreign.write_text(json.dumps(saved), encoding="utf-8")
    return foreign


async def shows_its_cards_and_nothing_to_press(open_file, path):
    """In an untrusted notebook."""
    foreign = await open_file(path)
    assert (
        await foreign.page.evaluate(
            "window.jupyterapp.shell.currentWidget.content.widgets.some(cell => cell.model.trusted)"
        )
        is False
    )
    for index, words in SHOWN.items():
        for word in words:
            await expect(foreign.card(index)).to_contain_text(word)
    await foreign.look("untrusted", foreign.panel)
    strange = foreign.cell(STRANGE)
    await expect(strange.locator(".nbtools-rendered")).to_have_count(len(FORGED))
    await foreign.run(0)
    await expect(strange).to_contain_text("Saved view")
    await expect(
        strange.locator(".nbtools-rendered").get_by_role("button").filter(visible=True)
    ).to_have_count(0)
    await foreign.look("forged", foreign.panel)


async def test_a_saved_notebook_has_its_records_reopened_untrusted_and_without_the_extension(
    open_notebook, open_file, server, context
):
    path = await saved_and_reopened(open_notebook, open_file, "lab")
    await shows_its_cards_and_nothing_to_press(open_file, path)
    folder = path.parent
    git(folder, "checkout", "--quiet", ".")
    async with without_extension(context) as page:
        await page.goto(server.address("lab/workspaces/reopening/tree", f"{folder.name}/{path.name}"))
        await works_without_the_extension(Tab(page, path, folder))


async def test_a_saved_notebook_has_its_records_reopened_in_notebook_7(open_notebook, open_file):
    await saved_and_reopened(open_notebook, open_file, "notebook")


async def works_without_the_extension(plain):
    """Shows the same as HTML; cells ask by the widgets of the page."""
    page, folder = plain.page, plain.folder
    await plain.ready()
    await expect(plain.card(1)).to_have_count(0)
    for index, words in SHOWN.items():
        for word in words:
            await expect(plain.output(index)).to_contain_text(word)
    await plain.look("without-extension-untrusted", plain.panel)
    await plain.command("notebook:trust", wait=False)
    await page.locator(".jp-Dialog").get_by_role("button", name="Trust").click()
    await plain.look("without-extension-trusted", plain.panel)
    await plain.run(0)
    await plain.start(1)
    await expect(plain.cell(1).get_by_role("button", name="Deny")).to_be_focused()
    await page.evaluate("window.jupyterapp.shell.collapseLeft()")
    for width in (380, 1280):
        await page.set_viewport_size({"width": width, "height": 800})
        buttons = plain.question(1).locator(".nbtools-buttons button")
        await expect(buttons).to_have_count(5)
        await eventually(True, buttons.evaluate_all, WHOLE)
        for part in (*await buttons.all(), plain.question(1).locator(".nbtools-head")):
            await part.scroll_into_view_if_needed()
            await expect(part).to_be_in_viewport()
        await plain.look(f"without-extension-asking-{width}")
    await plain.approve(1)
    await plain.done(1)
    await expect(plain.output(1)).to_contain_text("Approved once by you")
    assert "Decimal(0)" in (folder / "src/cart.py").read_text()
    await plain.cell(2).locator(".cm-content").fill("%tool ask 'Which name?'")
    await plain.start(2)
    await plain.cell(2).get_by_role("textbox", name="Which name?").fill("money")
    await plain.cell(2).get_by_role("button", name="Answer").click()
    await plain.done(2)
    await expect(plain.output(2)).to_contain_text("→ money")
