"""The file of a shared session, opened from disk without a network:
list, search, keys, links, themes, and what must not happen.
"""

from __future__ import annotations

import base64
import json
import re
import zlib

import pytest
import pytest_asyncio
from playwright.async_api import BrowserContext, Page, expect

from nbtools import traces
from nbtools.traces.sharing.page import ShareOptions, shared_page
from tests.browser.accessibility import cut_buttons, is_accessible, without_visible_focus
from tests.browser.conftest import SHOTS
from tests.browser.hostile import CANARY, payloads
from tests.browser.long_log import write_log
from tests.browser.tab import PATIENCE
from tests.traces.explorer.samples import CLAUDE, sample
from tests.traces.submissions.work import submissions
from tests.waiting import eventually

NEXT = """async count => {
    for (let pressed = 0; pressed < count; pressed++) {
        document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true, cancelable: true }));
        await new Promise(requestAnimationFrame);
    }
}"""
"""Goes on by the keyboard, as quickly as the page draws."""
COPY_BUTTONS = {"Copy as %toolc", "Copy link", "Copy as Markdown"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A real session as a file."""
    return traces.share(traces.load(sample(CLAUDE)), tmp_path_factory.mktemp("shared") / "session.html")


@pytest_asyncio.fixture(loop_scope="session")
async def open_file(browser):
    """Opens a file of this machine in a browser that is offline;
    ``asked`` are the addresses that the page asked for besides itself.
    """
    contexts: list[BrowserContext] = []

    async def open_file(path, fragment="", width=1280, scheme="light"):
        context = await browser.new_context(
            viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE)
        page.asked, page.errors = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: message.type == "error" and page.errors.append(message.text))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        await page.goto(path.as_uri() + fragment)
        await expect(page.locator(".nbtools-trace-panel .nbtools-card")).to_be_visible()
        return page

    yield open_file
    for context in contexts:
        await context.close()


def rows(page: Page):
    return page.locator(".nbtools-trace-row:visible")


def selected(page: Page):
    return page.locator(".nbtools-trace-row[aria-selected=true] .nbtools-trace-number")


def is_quiet(page: Page, path) -> None:
    assert [
        url for url in page.asked if not url.startswith(path.as_uri()) and not url.startswith("data:image/")
    ] == []
    assert page.errors == []


async def test_a_step_is_found_opened_linked_and_copied(open_file, shared):
    page = await open_file(shared, "#step-30")
    await expect(selected(page)).to_have_text("30")
    await page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    await page.get_by_role("button", name="Copy link").click()
    await page.wait_for_function("window.copied")
    assert await page.evaluate("window.copied") == f"{shared.as_uri()}#step-30"
    await page.get_by_role("button", name="Copy as Markdown").click()
    await page.wait_for_function("!window.copied.startsWith('file:')")
    text = await page.evaluate("window.copied")
    assert text.startswith("**Step 30 ")
    assert "```" in text
    assert text.endswith("#step-30`\n")
    await page.locator(".nbtools-trace-list").focus()
    await page.keyboard.press("j")
    await expect(selected(page)).to_have_text("31")
    await expect(page).to_have_url(re.compile(r"#step-31$"))
    await page.keyboard.press("/")
    await page.keyboard.type("go vet")
    await expect(page.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^[12]?\d of \d+$"))
    await expect(page.locator(".nbtools-trace")).to_have_attribute(
        "aria-busy", "false"
    )  # until then the list is the unfiltered one
    await page.keyboard.press("ArrowDown")
    await page.keyboard.press("j")
    await expect(page.locator(".nbtools-trace-hits")).to_contain_text("Hit 1 of")
    await page.evaluate("location.hash = '#step-44'")
    await expect(selected(page)).to_have_text("44")
    await expect(page.locator(".nbtools-trace-found")).to_be_empty()
    is_quiet(page, shared)


async def test_chips_menus_and_the_search_find_what_the_kernel_finds(open_file, shared):
    """The search for words, parts of words, quoted texts and code, in texts that are shown."""
    page = await open_file(shared)
    explorer = traces.load(sample(CLAUDE))
    for query in ("vet", '"go vet"', "func main(", "vet go", "estmai"):
        await page.locator(".nbtools-trace-search").fill(query)
        await expect(page.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^[1-9]\d* of \d+$"))
        assert explorer.search(query)
    await page.locator(".nbtools-trace-search").fill("zzzznothing")
    await expect(page.locator(".nbtools-trace-nothing")).to_contain_text("No steps match")
    await page.locator(".nbtools-trace-search").fill("")
    await expect(page.locator(".nbtools-trace-found")).to_be_empty()
    await page.locator(".nbtools-trace-chip").filter(has_text="writes").click()
    await expect(page.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^\d+ of \d+$"))
    await expect(page.locator(".nbtools-trace")).to_have_attribute("aria-busy", "false")
    await rows(page).first.click()
    await expect(page.locator(".nbtools-trace-panel .nbtools-diff").first).to_be_visible()
    await page.locator("select:visible").last.select_option(index=1)
    await expect(page.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^\d+ of \d+$"))
    is_quiet(page, shared)


async def test_only_what_the_file_answers_is_offered_and_the_policy_refuses_what_a_mistake_would_let_in(
    open_file, shared
):
    """Nothing that needs a kernel: other overviews, orders, usage, changes, raw records, following, reviews,
    cells.

    The page's rules hold for scripts, styles, pictures and requests from any source.
    """
    page = await open_file(shared, "#step-30")
    explorer = page.locator(".nbtools-trace")
    outside = explorer.locator(
        "button:visible:not(.nbtools-trace-chip, .nbtools-trace-more, .nbtools-trace-main *)"
    )
    await expect(outside).to_have_text(["first failure", "↑", "↓"])
    menus = explorer.locator("select:visible")
    await eventually(
        ["Tool", "File"], menus.evaluate_all, "menus => menus.map(menu => menu.getAttribute('aria-label'))"
    )
    await expect(page.locator(".nbtools-trace-foot button:visible")).not_to_have_count(0)
    buttons = await page.locator(".nbtools-trace-foot button:visible").all_inner_texts()
    assert set(buttons) <= COPY_BUTTONS
    await expect(page.locator(".nbtools-trace-raw, .nbtools-trace-review")).to_have_count(0)
    for key in "rpfdPnuz1?":
        await page.keyboard.press(key)
    await expect(page.locator(".nbtools-trace-notice")).to_be_empty()
    await expect(selected(page)).to_have_text("30")
    is_quiet(page, shared)
    refused = await page.evaluate("""async () => {
        const blocked = [];
        addEventListener('securitypolicyviolation', event => blocked.push(event.effectiveDirective));
        document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.ran = 1' }));
        document.body.append(Object.assign(document.createElement('img'), { src: 'http://127.0.0.1:1/x.png' }));
        document.body.append(Object.assign(document.createElement('style'), { textContent: 'body { color: red }' }));
        await fetch('http://127.0.0.1:1/').catch(() => 0);
        await new Promise(done => setTimeout(done));
        return [blocked.sort(), window.ran ?? null];
    }""")
    assert refused == [["connect-src", "img-src", "script-src-elem", "style-src-elem"], None]


@pytest.mark.parametrize(("width", "scheme"), [(800, "dark"), (1280, "light")])
async def test_the_page_is_accessible(open_file, shared, width, scheme):
    page = await open_file(shared, "#step-30", width, scheme)
    await expect(page.locator(".nbtools-shared")).to_have_attribute(
        "data-jp-theme-light", str(scheme == "light").lower()
    )
    await page.screenshot(path=SHOTS / f"shared-{width}-{scheme}.png")
    # axe is run beside the page's policy, which forbids any other script.
    await is_accessible(page, ".nbtools-shared")
    assert await without_visible_focus(page, ".nbtools-shared") == []
    assert await cut_buttons(page, ".nbtools-shared") == []
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.get_by_role("button", name="light or dark").click()
    await expect(page.locator(".nbtools-shared")).to_have_attribute(
        "data-jp-theme-light", str(scheme == "dark").lower()
    )


async def test_a_hostile_log_runs_and_loads_nothing(open_file, tmp_path, all_rounds):
    """Each text is in a message, a thought, a call, a result and a file;
    each step is opened, searched and copied.
    """
    path = tmp_path / "shared.html"
    path.write_text(
        shared_page(
            traces.load(write_log(tmp_path / "session.jsonl", "/tmp", hostile_records())), ShareOptions()
        )[0],
        "utf-8",
    )
    page = await open_file(path)
    await page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text; }")
    total = int((await page.locator(".nbtools-trace-row").first.get_attribute("aria-setsize")) or 0)
    assert total > 100
    await page.evaluate(NEXT, total)  # the first selects the step that is open already
    await expect(page.locator(".nbtools-trace-row[aria-selected=true]")).to_have_attribute(
        "aria-posinset", str(total)
    )
    for step in range(1, total, 7 if all_rounds else 35):
        await page.evaluate("step => { location.hash = `#step-${step}`; }", step)
        await expect(selected(page)).to_have_text(str(step))
        await expect(page.locator(".nbtools-trace-foot")).to_contain_text(f"step {step}")
        await page.get_by_role("button", name="Copy as Markdown").click()
    await page.locator(".nbtools-trace-search").fill("script")
    await expect(page.locator(".nbtools-trace-found")).to_have_text(re.compile(r"^[1-9]\d* of"))
    assert await page.evaluate("typeof __pwned === 'undefined' && document.querySelector('.pwned') === null")
    links = await page.evaluate(
        "[...document.querySelectorAll('a')].map(link => new URL(link.href).protocol)"
    )
    assert set(links) <= {"http:", "https:"}
    is_quiet(page, path)


def hostile_records():
    for number, text in enumerate(payloads(CANARY)):
        yield "user", {"role": "user"}, text
        content = [
            {"type": "text", "text": text},
            {"type": "thinking", "thinking": text, "signature": ""},
            {
                "type": "tool_use",
                "id": f"a{number}",
                "name": "Bash",
                "input": {"command": text, "description": text},
            },
            {
                "type": "tool_use",
                "id": f"b{number}",
                "name": "Write",
                "input": {"file_path": f"/tmp/{text[:80]}", "content": text},
            },
            {"type": "tool_use", "id": f"c{number}", "name": text[:80] or "x", "input": {text[:40]: text}},
        ]
        yield "assistant", {"role": "assistant", "id": f"m{number}", "model": text[:60]}, content
        for name in "abc":
            yield (
                "user",
                {"role": "user"},
                [{"type": "tool_result", "tool_use_id": f"{name}{number}", "content": text}],
            )


@pytest.mark.parametrize("total", [-1, 0.5, 2**32])
async def test_a_file_that_announces_other_rows_than_it_has_is_damaged(browser, shared, tmp_path, total):
    html = shared.read_text(encoding="utf-8")
    packed = max(re.findall(r"[A-Za-z0-9+/=]{1000,}", html), key=len)
    log = json.loads(zlib.decompress(base64.b64decode(packed)))
    log["view"]["total"] = log["rows"]["total"] = total
    changed = base64.b64encode(zlib.compress(json.dumps(log).encode())).decode()
    path = tmp_path / "changed.html"
    path.write_text(html.replace(packed, changed), encoding="utf-8")
    page = await browser.new_page()
    await page.goto(path.as_uri())
    await expect(page.locator("body")).to_contain_text("This file is damaged")
    await page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (800, "dark"), (400, "light")])
async def test_the_file_of_a_learner_has_facts_above_the_session(open_file, tmp_path, width, scheme):
    work = submissions(tmp_path)
    found = traces.learners(work, rubric={"explains": "Says why."}, file=tmp_path / "labels.jsonl")
    found.review.label(work / "anna/session.jsonl", "explains")
    path = next(path for path in found.share(tmp_path / "out") if path.stem == "anna")
    page = await open_file(path, width=width, scheme=scheme)
    facts = page.locator(".nbtools-facts")
    await expect(facts).to_contain_text("hw1.ipynb")
    await expect(facts).to_contain_text("Removed from this file")
    await expect(rows(page).first).to_contain_text("Add up the prices.")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await page.screenshot(path=SHOTS / f"learner_{width}_{scheme}.png")
    is_quiet(page, path)
