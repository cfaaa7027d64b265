"""The panel Agents, the status-bar item and notifications:
what a person sees of all notebooks, and does from there.
"""

from __future__ import annotations

import json
import re

import pytest
from playwright.async_api import Locator, expect

from tests.browser.project import CART, write_notebook
from tests.browser.questions import QuestionButtons
from tests.browser.tab import Tab

EDIT = "%tool edit src/cart.py --old 'total = 0' --new 'total = Decimal(0)'"
OTHER = "%tool edit notes.txt --old two --new zwei"


class Agents(QuestionButtons[str]):
    """The panel in a page.  A question is found by a text of its row."""

    def __init__(self, tab: Tab) -> None:
        self.page = tab.page
        self.tab = tab
        self.node = tab.page.locator("#nbtools-agents")

    async def open(self) -> None:
        await self.page.evaluate("window.jupyterapp.shell.activateById('nbtools-agents')")
        await expect(self.node).to_be_visible()

    def section(self, name: str) -> Locator:
        return self.node.locator(f'[data-section="{name.lower()}"]')

    @property
    def waiting(self) -> Locator:
        return self.node.locator(".nbtools-waiting")

    def question(self, place: str) -> Locator:
        return self.waiting.filter(has_text=place)

    def head(self, name: str) -> Locator:
        return self.node.locator(".lm-AccordionPanel-title", has_text=name)

    async def expand(self, name: str) -> None:
        if await self.head(name).get_attribute("aria-expanded") != "true":
            await self.head(name).click()
        await expect(self.section(name)).to_be_visible()


@pytest.fixture
def open_agents():
    async def open_agents(tab: Tab) -> Agents:
        agents = Agents(tab)
        await agents.open()
        return agents

    return open_agents


@pytest.fixture
def open_second(open_file, project):
    """Opens a second notebook beside the first one, in front of it."""

    async def open_second(*cells: str) -> Tab:
        path = project / "second.ipynb"
        write_notebook(path, cells)
        tab: Tab = await open_file(path)
        await tab.run(0)
        return tab

    return open_second


async def is_settled(agents: Agents) -> None:
    """Waits for the time in which a new row ignores clicks."""
    await agents.tab.keys_pass()


async def test_a_question_is_notified_once_it_waits_unseen_and_not_while_it_is_in_view(
    open_notebook, open_second
):
    tab = await open_notebook(EDIT)
    second = await open_second("1 + 1")
    await tab.page.evaluate("window.jupyterapp.shell.collapseLeft()")
    toast = tab.page.locator(".Toastify__toast", has_text="story.ipynb asks")
    async with tab.setting("notifyAfter", 1):
        await tab.to_front()
        await tab.start(1)
        await tab.wait_for_questions(1)
        since = await tab.page.evaluate("performance.now()")
        await tab.page.wait_for_function(
            "since => performance.now() - since > 2200", arg=since
        )  # it is looked at twice
        await expect(toast).to_have_count(0)
        await second.to_front()
        await expect(toast).to_have_count(1)
    await expect(tab.page).to_have_title(re.compile(r"^\(1\) "))
    await tab.look("panel-notification")
    await tab.deny(toast)
    await expect(toast).to_have_count(0)
    await expect(tab.page).not_to_have_title(re.compile(r"^\(1\) "))


async def test_a_question_is_approved_from_the_panel_while_another_notebook_is_in_front(
    open_notebook, open_second, open_agents
):
    tab = await open_notebook(EDIT)
    agents = await open_agents(tab)
    await expect(agents.section("Waiting")).to_contain_text("Nothing waits")
    await tab.start(1)
    second = await open_second("1 + 1")
    await expect(agents.waiting).to_have_count(1)
    await expect(agents.waiting).to_contain_text("story.ipynb")
    await expect(agents.head("Waiting")).to_contain_text("(1)")
    await expect(agents.waiting.locator(".nbtools-diff")).to_be_visible()
    await is_settled(agents)
    await tab.look("panel-waiting")
    await agents.approve("src/cart.py")
    await expect(agents.waiting).to_have_count(0)
    await second.exists("src/cart.py")
    await expect(agents.section("Changes")).to_contain_text("cart.py")
    assert "Decimal(0)" in second.read("src/cart.py")
    await tab.look("panel-changed")


async def test_show_goes_to_the_question_and_deny_answers_it(open_notebook, open_second, open_agents):
    tab = await open_notebook(EDIT)
    await tab.start(1)
    await open_second("1 + 1")
    agents = await open_agents(tab)
    await agents.waiting.get_by_role("button", name="Show", exact=True).click()
    await expect(tab.page.locator(".nbtools-asking :focus")).to_have_count(1)
    await expect(tab.question(1)).to_be_visible()
    await is_settled(agents)
    await agents.deny("src/cart.py")
    await expect(tab.status(1)).to_have_text("Denied")
    await expect(agents.waiting).to_have_count(0)


async def test_the_status_bar_goes_to_the_question(open_notebook, open_second):
    tab = await open_notebook(EDIT)
    status = tab.page.locator(".nbtools-status-button")
    await tab.start(1)
    second = await open_second("1 + 1")
    await expect(status).to_contain_text("1 waiting")
    await status.click()
    await expect(tab.page.locator(".nbtools-asking :focus")).to_have_count(1)
    await second.to_front()
    await second.cell(1).locator(".cm-content").click()
    await status.click()  # the question is drawn already
    await expect(tab.page.locator(".nbtools-asking :focus")).to_have_count(1)


async def test_a_form_is_reached_from_the_panel_and_its_first_field_has_the_focus(
    open_notebook, open_second, open_agents
):
    questions = json.dumps(
        [{"text": "Which name?", "header": "Name"}, {"text": "Which place?", "header": "Place"}]
    )
    tab = await open_notebook("import json", f"tools.ask(json.loads({questions!r})).data.answers")
    await tab.run(1)
    await tab.start(2)
    await open_second("1 + 1")
    agents = await open_agents(tab)
    await expect(agents.waiting.get_by_role("button", name="Approve once")).to_have_count(0)
    await tab.look("panel-form")
    await agents.waiting.get_by_role("button", name="Go to form").click()
    await expect(tab.question(2).get_by_role("textbox", name="Which name?")).to_be_focused()
    await tab.keys_pass()
    await tab.page.keyboard.type("money")
    await tab.page.keyboard.press("Tab")
    await tab.page.keyboard.type("Rome")
    await tab.answer(2, "Answer")
    await expect(agents.waiting).to_have_count(0)
    await expect(tab.output(2).last).to_have_text("('money', 'Rome')")


async def test_the_panel_has_what_waits_in_its_own_notebook(open_notebook, open_agents):
    """A question that its cell answers, a long one, which is approved after its details are open,
    and one whose name is hostile.
    """
    long = "tools.write(path='long.txt', content='\\n'.join(f'line {i}' for i in range(300)))"
    tab = await open_notebook(
        EDIT, long, "tools.write(path='<img src=x onerror=window.harm=1>.txt', content='x')"
    )
    agents = await open_agents(tab)
    approve = agents.approve_button(agents.waiting)
    await tab.start(1)
    await expect(agents.waiting).to_have_count(1)
    await tab.deny(1)
    await expect(agents.waiting).to_have_count(0)

    await tab.start(2)
    await expect(approve).to_have_attribute("aria-disabled", "true")
    await is_settled(agents)
    await approve.click(force=True)
    await expect(agents.waiting).to_have_count(1)
    await agents.waiting.get_by_role("button", name="Details", exact=True).click()
    await expect(agents.waiting.locator(".nbtools-card")).to_contain_text("line 3")
    await approve.click()
    await expect(agents.waiting).to_have_count(0)
    await tab.exists("long.txt")

    await tab.start(3)
    await expect(agents.waiting).to_contain_text("<img src=x")
    await is_settled(agents)
    await approve.click()
    await expect(agents.section("Changes")).to_contain_text("<img src=x")
    assert await tab.page.evaluate("window.harm === undefined")
    assert await agents.node.locator("img").count() == 0


async def test_changes_are_named_undone_redone_and_shown_as_a_diff(open_notebook, open_agents):
    patch = "".join(f"*** Add File: made/{letter}.txt\\n+x\\n" for letter in "abcde")
    tab = await open_notebook(
        f"%tools mode auto_edit\n{EDIT}\n{OTHER}", f"tools.patch('*** Begin Patch\\n{patch}*** End Patch\\n')"
    )
    agents = await open_agents(tab)
    await tab.run(1)
    changes = agents.section("Changes").locator(".nbtools-row")
    await expect(changes).to_have_count(2)
    await expect(changes.first).to_contain_text("notes.txt")
    await changes.last.get_by_role("button", name="Undo the change of src/cart.py").click()
    await expect(changes.last).to_contain_text("undone")
    assert "Decimal(0)" not in tab.read("src/cart.py")
    await changes.last.get_by_role("button", name="Redo the change of src/cart.py").click()
    await expect(changes.last).not_to_contain_text("undone")
    assert "Decimal(0)" in tab.read("src/cart.py")
    await changes.last.get_by_role("button", name="Undo to the change of src/cart.py").click()
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text("Undo 2 changes?")
    await expect(dialog.get_by_role("button", name="Cancel")).to_be_focused()
    await tab.look("panel-undo-to-here")
    await dialog.get_by_role("button", name="Undo", exact=True).click()
    await expect(changes.first).to_contain_text("undone")
    assert tab.read("notes.txt") == "one\ntwo\nthree\n"
    await tab.run(2)
    await expect(changes.first.locator(".nbtools-what")).to_have_text("made/a.txt and 4 more")
    await expect(changes.first.locator(".nbtools-plus")).to_have_text("+5")
    await changes.last.get_by_role("button", name="Diff of src/cart.py").click()
    await expect(tab.page.locator(".nbtools-diff-tab .nbtools-diff")).to_be_visible()
    await tab.look("panel-diff")


async def test_background_commands_are_stopped_a_grant_is_revoked_and_the_mode_is_set_in_the_panel(
    open_notebook, open_agents
):
    """A looser mode is confirmed, a stricter one is not."""
    background = "handle = tools.shell.background('sleep 300')"
    tab = await open_notebook(
        f"%tools mode yolo\n{background}",
        "%tool shell --background sleep 600",
        "%tools mode default\n%tools allow 'shell(git status:*)'",
        "%tools allow 'shell(git log:*)'",
    )
    agents = await open_agents(tab)
    await agents.expand("Rules")
    rules = agents.section("Rules")
    running = agents.section("Running").locator(".nbtools-row")
    for index, command in enumerate(("sleep 300", "sleep 600"), 1):
        await tab.run(index)
        await expect(running).to_contain_text(command)
        await expect(running).to_contain_text("in the background")
        await expect(running.locator(".nbtools-time")).to_have_text(re.compile(r"[1-9]\d* s"))
        await tab.look(f"panel-running-{index}")
        await tab.run(4)
        await rules.get_by_role("button", name="Revoke shell(git log:*)").click()
        await expect(rules).to_contain_text("Nothing yet")
        await expect(running).to_contain_text(command)
        await running.get_by_role("button", name=f"Stop shell {command}").click()
        await expect(running).to_have_count(0)
        await expect(agents.section("Running")).to_contain_text("Nothing runs")

    await tab.run(3)
    await rules.get_by_role("button", name="Revoke shell(git status:*)").click()
    await expect(rules).to_contain_text("Nothing yet")
    assert await tab.value("tools._runtime.session.grants") == "()"

    mode = rules.get_by_label("Mode")
    await expect(mode).to_have_value("default")
    await mode.select_option("yolo")
    dialog = tab.page.locator(".jp-Dialog")
    await expect(dialog).to_contain_text("Every call runs without approval")
    await tab.look("panel-mode")
    await dialog.get_by_role("button", name="Cancel").click()
    await expect(mode).to_have_value("default")
    await mode.select_option("plan")
    await expect(mode).to_have_value("plan")
    await expect(tab.page.locator(".nbtools-status-button")).to_have_text("plan mode")
    assert await tab.value("tools._runtime.session.mode.value") == "plan"


async def test_the_panel_follows_a_reload_a_restart_and_the_end_of_the_kernel(open_notebook, open_agents):
    """After the reload, the panel answers the questions of a cell that the kernel still executes.

    A call that asks during the restart changes nothing, and asks again when its cell is run again.
    """
    both = "later = tools.edit.background('README.md', old='# Cart', new='# The cart')\n%tool edit notes.txt --old three --new drei"
    tab = await open_notebook(f"%tools mode auto_edit\n{OTHER}\n%tools mode default", EDIT, both)
    await tab.run(1)
    await tab.start(3)
    await tab.wait_for_questions(3, 2)
    await tab.save()
    await tab.load_again()
    agents = await open_agents(tab)
    await expect(agents.section("Changes")).to_contain_text("notes.txt")
    await expect(agents.waiting).to_have_count(2)
    await is_settled(agents)
    await agents.deny("README.md")
    await expect(agents.waiting).to_have_count(1)
    await is_settled(agents)
    await agents.approve("notes.txt")
    await expect(agents.waiting).to_have_count(0)
    await expect(tab.status(3)).to_have_text(["Denied", "Done"])
    assert tab.read("notes.txt") == "one\nzwei\ndrei\n"
    assert tab.read("README.md").startswith("# Cart\n")

    await tab.start(2)
    await expect(tab.question(2)).to_be_visible()
    await expect(agents.waiting).to_have_count(1)
    await tab.restart()
    await expect(agents.section("Waiting")).to_contain_text("No notebook with nbtools")
    await expect(tab.page.locator(".nbtools-status-button")).to_be_hidden()
    await expect(tab.cell(2).locator(".jp-InputPrompt")).not_to_have_text("[*]:")
    await expect(tab.status(2)).to_have_text(
        re.compile("Cancelled|Unknown")
    )  # as far as the kernel came before it ended
    assert tab.read("src/cart.py") == CART
    await expect(tab.page.get_by_text("Error displaying widget")).to_have_count(0)
    await tab.look("restarted", tab.panel)
    await tab.run(0)
    await expect(agents.section("Waiting")).to_contain_text("Nothing waits")
    await tab.look("panel-empty")
    await tab.start(2)
    await tab.approve(2)
    await tab.done(2)
    assert "Decimal(0)" in tab.read("src/cart.py")
    await tab.page.evaluate(
        "window.jupyterapp.shell.currentWidget.sessionContext.shutdown().then(() => null)"
    )
    await expect(agents.section("Waiting")).to_contain_text("No notebook with nbtools")


async def test_questions_of_a_closed_notebook_count_and_are_reached_and_answered_after_it_is_opened_again(
    open_notebook, open_file, project, open_agents
):
    """At the end of a long notebook, where nothing is drawn when it is opened;
    one in the panel, the other in its cell.
    """
    both = f"later = tools.edit.background('notes.txt', old='two', new='zwei')\n{EDIT}"
    fillers = [f"# {number}" for number in range(80)]
    last = len(fillers) + 1
    tab = await open_notebook(*fillers, both)
    await tab.run_all()
    status = tab.page.locator(".nbtools-status-button")
    await expect(status).to_contain_text("2 waiting")
    await tab.command("docmanager:save")
    await tab.page.evaluate("window.jupyterapp.shell.currentWidget.dispose()")
    await expect(status).to_contain_text("2 waiting")
    await status.click()
    agents = await open_agents(tab)
    await expect(agents.waiting).to_have_count(2)
    await expect(agents.waiting.first).to_contain_text("story.ipynb")
    await tab.look("magics-closed-notebook", themes=("light",))
    again = await open_file(project / "story.ipynb")
    await expect(status).to_contain_text("2 waiting")
    await status.click()
    await expect(again.page.locator(".nbtools-asking :focus")).to_have_count(1)
    await expect(again.question(last).locator(":focus")).to_be_in_viewport()
    await is_settled(agents)
    await agents.approve("notes.txt")
    await expect(status).to_contain_text("1 waiting")
    await expect(again.question(last)).to_have_count(1)
    await is_settled(agents)
    await again.approve(last)
    await expect(agents.waiting).to_have_count(0)
    await expect(status).not_to_contain_text("waiting")
    await expect(again.status(last)).to_have_text(["Done", "Done"])
    assert "Decimal(0)" in again.read("src/cart.py")
    assert again.read("notes.txt") == "one\nzwei\nthree\n"
