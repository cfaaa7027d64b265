"""Questions that want an answer in words: what a person sees, fills in and gets back."""

from __future__ import annotations

import json

from playwright.async_api import expect

DATABASE = {
    "text": "Which database?",
    "header": "Database",
    "choices": [
        {"label": "SQLite", "description": "one file"},
        {"label": "PostgreSQL", "description": "a server"},
    ],
}
TESTS = {
    "text": "Tests for what?",
    "header": "Tests",
    "choices": [{"label": "cart"}, {"label": "items"}],
    "several": True,
}
NAME = {"text": "Which name?", "header": "Name", "placeholder": "e.g. money"}
SURE = {"text": "Really?", "kind": "yesno"}


def ask(*questions):
    return f"tools.ask(json.loads({json.dumps(json.dumps(questions))})).data.answers"


async def story(opens, *cells):
    return await opens("import json", *cells)


async def test_a_choice_is_answered_by_clicks(open_cells):
    tab = await story(open_cells, ask(DATABASE))
    await tab.run(1)
    await tab.start(2)
    form = tab.question(2)
    await expect(form.get_by_role("radiogroup", name="Which database?")).to_be_visible()
    await expect(form.get_by_role("button", name="Answer")).to_be_disabled()
    await tab.look("ask", tab.cell(2))
    await form.get_by_text("PostgreSQL").click()
    await tab.answer(2, "Answer")
    await tab.done(2)
    await expect(tab.output(2).last).to_have_text("('PostgreSQL',)")
    await expect(tab.record(2)).to_contain_text("Answered by you")
    await expect(tab.card(2)).to_contain_text("Which database?→ PostgreSQL")
    await tab.look("answered", tab.cell(2))


async def test_other_words_take_the_place_of_a_choice(open_cells):
    tab = await story(open_cells, ask(DATABASE))
    await tab.run(1)
    await tab.start(2)
    form = tab.question(2)
    await form.get_by_text("SQLite").click()
    await form.get_by_placeholder("Something else").fill("a text file")
    await expect(form.get_by_role("radio", checked=True)).to_have_count(0)
    await tab.answer(2, "Answer")
    await tab.done(2)
    await expect(tab.output(2).last).to_have_text("('a text file',)")


async def test_several_questions_are_answered_by_the_keyboard_alone_and_shown_in_a_reopened_notebook(
    open_notebook, open_file
):
    """The first field has the focus, letters and arrows stay in the form,
    and Enter sends all that was typed.
    """
    tab = await story(open_notebook, ask(TESTS, SURE, DATABASE, NAME))
    await tab.run(1)
    await tab.start(2)
    form = tab.question(2)
    await expect(form.get_by_role("checkbox", name="cart")).to_be_focused()
    await tab.keys_pass()
    for key in (
        "d",
        "d",
        "x",
        "Tab",
        "Space",
        "Tab",
        "Tab",
        "Space",
        "ArrowDown",
        "Tab",
        "Space",
        "Tab",
        "Tab",
    ):
        await tab.page.keyboard.press(key)
    await expect(form.get_by_role("textbox", name="Which name?")).to_be_focused()
    await expect(form.get_by_role("checkbox", name="items")).to_be_checked()
    await expect(form.get_by_role("radio", name="No")).to_be_checked()
    await expect(form.get_by_role("radio", name="SQLite")).to_be_checked()
    await tab.page.keyboard.type("money and cents")
    await tab.page.keyboard.press("Enter")
    await tab.done(2)
    await expect(tab.output(2).last).to_have_text("('items', 'no', 'SQLite', 'money and cents')")
    await expect(tab.panel.locator(":focus")).not_to_have_count(0)
    saved = await tab.save()
    page = "".join(saved["cells"][2]["outputs"][0]["data"]["text/html"])
    assert "Which database?" in page
    assert "SQLite" in page
    await tab.close()
    again = await open_file(tab.path)
    for words in ("Which database?", "→ SQLite", "Which name?", "→ money and cents"):
        await expect(again.card(2)).to_contain_text(words)
    await again.look("ask-reopened", again.cell(2))


async def test_escape_preserves_the_typed_text_and_then_skips(open_cells):
    tab = await story(open_cells, f"%tool ask '{json.dumps(NAME)}'", "%tool ask 'Really?'")
    await tab.run(1)
    await tab.start(2)
    field = tab.question(2).get_by_role("textbox")
    await expect(field).to_be_focused()
    await tab.keys_pass()
    await tab.page.keyboard.type("mo")
    await tab.page.keyboard.press("Escape")
    await expect(tab.question(2).get_by_role("button", name="Skip")).to_be_focused()
    await expect(field).to_have_value("mo")
    await tab.page.keyboard.press("Escape")
    await tab.done(2)
    await expect(tab.status(2)).to_have_text("Skipped")
    await expect(tab.record(2)).to_contain_text("by you")
    await tab.look("ask-skipped", tab.cell(2))


async def test_two_forms_are_answered_one_after_the_other(open_cells):
    tab = await story(
        open_cells, "first, second = (tools.ask.background([{'text': text}]) for text in ('One?', 'Two?'))"
    )
    await tab.run(1)
    await tab.run(2)
    await tab.wait_for_questions(2, 2)
    for text in ("One?", "Two?"):
        field = tab.question(2).get_by_role("textbox", name=text)
        await field.click()
        await tab.page.keyboard.type(f"to {text}")
        await tab.page.keyboard.press("Enter")
        await expect(field).to_have_count(0)
    await expect(tab.status(2)).to_have_text(["Answered", "Answered"])
    await expect(tab.card(2).nth(0)).to_contain_text("→ to One?")
    await expect(tab.card(2).nth(1)).to_contain_text("→ to Two?")


async def test_a_change_of_mind_counts(open_cells):
    """Choices and text entered bit by bit, while the cell waits, arrive in their final state."""
    tab = await story(open_cells, ask(DATABASE, NAME))
    await tab.run(1)
    await tab.start(2)
    form = tab.question(2)
    for choice in ("SQLite", "PostgreSQL", "SQLite", "PostgreSQL"):
        await form.get_by_text(choice).click()
    await form.get_by_role("textbox", name="Which name?").click()
    await tab.page.keyboard.type("monney")
    for _ in range(3):
        await tab.page.keyboard.press("Backspace")
    await tab.page.keyboard.type("ey")
    await tab.answer(2, "Answer")
    await tab.done(2)
    await expect(tab.output(2).last).to_have_text("('PostgreSQL', 'money')")
