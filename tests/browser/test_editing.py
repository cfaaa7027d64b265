"""Changes of a proposal: hunks taken or left in the question's diff, and the editor of the Modify button."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from tests.browser.accessibility import is_accessible

LONG = "".join(f"value_{number} = {number}\n" for number in range(40))
CHANGED = (
    LONG.replace("value_3 = 3\n", "value_3 = 'three'\n")
    .replace("value_20 = 20\n", "")
    .replace("value_36 = 36\n", "value_36 = 36\nmore = 1\n")
)
WRITE = (
    f"from pathlib import Path\nPath('long.py').write_text({LONG!r})\ntools.write('long.py', {CHANGED!r}).ok"
)


async def test_hunks_are_left_out_in_the_diff_of_the_question(open_cells):
    tab = await open_cells(WRITE)
    await tab.start(1)
    await tab.wait_for_questions(1)
    boxes = tab.question(1).get_by_role("checkbox", name="Change")
    await expect(boxes).to_have_count(3)
    approve = tab.question(1).locator("button.nbtools-approve")
    await expect(approve).to_contain_text("Approve once")
    await boxes.nth(1).uncheck()
    await expect(boxes.nth(1)).to_be_focused()
    await expect(approve).to_contain_text("Approve 2 of 3 changes")
    await expect(tab.question(1).locator("button.nbtools-always")).to_be_disabled()
    for width in (1280, 800, 380):
        await tab.page.set_viewport_size({"width": width, "height": 800})
        await tab.look(f"hunks-{width}", tab.question(1))
    await tab.page.set_viewport_size({"width": 1280, "height": 800})
    await boxes.nth(0).uncheck()
    await boxes.nth(2).press("Space")
    await expect(boxes.nth(2)).not_to_be_checked()
    await expect(approve).to_be_disabled()
    await boxes.nth(0).check()
    await boxes.nth(2).check()
    assert tab.read("long.py") == LONG
    await approve.click()
    await tab.done(1)
    await expect(tab.record(1)).to_contain_text("with your changes")
    assert tab.read("long.py") == CHANGED.replace("value_19 = 19\n", "value_19 = 19\nvalue_20 = 20\n")


async def test_modify_opens_an_editor_at_the_first_change(open_notebook):
    tab = await open_notebook(WRITE)
    await tab.start(1)
    await tab.modify(1)
    editor = tab.question(1).locator(".nbtools-merge .cm-content")
    await expect(editor).to_be_focused()
    await expect(tab.question(1).locator(".cm-deletedChunk").first).to_contain_text("value_3 = 3")
    for width in (1280, 800, 380):
        await tab.page.set_viewport_size({"width": width, "height": 800})
        await tab.look(f"editor-{width}", tab.question(1))
    await tab.page.set_viewport_size({"width": 1280, "height": 800})
    cells = await tab.panel.locator(".jp-Cell").count()
    await editor.focus()
    await tab.page.keyboard.type("dd y a x ")  # at the caret; none of it answers, cuts or deletes
    await expect(tab.panel.locator(".jp-Cell")).to_have_count(cells)
    await expect(editor).to_contain_text("dd y a x value_3 = 'three'")
    await tab.page.keyboard.press("Control+f")
    await expect(tab.question(1).locator(".cm-search")).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(tab.question(1).locator(".cm-search")).to_have_count(0)
    await expect(editor).to_be_visible()
    await tab.page.keyboard.press("Escape")
    await expect(editor).to_have_count(0)
    await expect(tab.question(1).locator("button.nbtools-modify")).to_be_focused()
    assert tab.read("long.py") == LONG


async def test_a_change_left_out_in_the_editor_is_not_written(open_cells):
    tab = await open_cells(WRITE)
    await tab.start(1)
    await tab.modify(1)
    editor = tab.question(1).locator(".nbtools-merge .cm-content")
    await expect(editor).to_be_focused()
    await tab.question(1).get_by_role("button", name="Leave out").first.click()
    await expect(editor).not_to_contain_text("three")
    await editor.focus()
    await tab.page.keyboard.press("Control+Enter")
    await expect(tab.question(1)).to_contain_text("With your changes")
    await expect(tab.question(1).locator(".nbtools-merge")).to_have_count(0)
    await tab.question(1).get_by_role("button", name="Show what you changed").click()
    await expect(tab.question(1).locator(".nbtools-changed .nbtools-diff")).to_contain_text("'three'")
    await tab.look("your-changes", tab.question(1))
    await tab.approve(1)
    await tab.done(1)
    await expect(tab.record(1)).to_contain_text("with your changes")
    assert tab.read("long.py") == CHANGED.replace("value_3 = 'three'", "value_3 = 3")


@pytest.mark.parametrize("end", ["\\r\\n", "\\n"])
async def test_line_ends_stay_as_they_are(open_cells, end):
    code = f"from pathlib import Path\nPath('a.txt').write_bytes(b'one{end}two{end}')\ntools.write('a.txt', 'one{end}zwei{end}').ok"
    tab = await open_cells(code)
    await tab.start(1)
    await tab.modify(1)
    await expect(tab.question(1).locator(".nbtools-merge .cm-content")).to_be_focused()
    await tab.page.keyboard.type("x")
    await tab.page.keyboard.press("Control+Enter")
    await tab.approve(1)
    await tab.done(1)
    assert (tab.folder / "a.txt").read_bytes() == f"one{end}xzwei{end}".encode().decode(
        "unicode_escape"
    ).encode()


async def test_code_in_a_here_document_is_shown_as_code(open_cells):
    code = "tools.shell(\"python - <<'EOF' | tail -1\\nimport sys\\nprint('code', 3)\\nEOF\").ok"
    tab = await open_cells(code)
    await tab.start(1)
    await tab.wait_for_questions(1)
    await expect(tab.question(1).locator(".nbtools-command")).to_contain_text("python - <<'EOF'")
    await expect(tab.question(1).locator(".nbtools-command")).not_to_contain_text("import")
    await expect(tab.question(1).locator(".nbtools-code")).to_contain_text("import sys")
    await expect(tab.question(1).locator(".nbtools-code .nbtools-title")).to_have_text("python runs")
    await tab.look("here-document", tab.question(1))
    await tab.approve(1)
    await tab.done(1)
    await expect(tab.card(1)).to_contain_text("code 3")


PATCH = """\
*** Begin Patch
*** Update File: long.py
@@
-value_3 = 3
+value_3 = 'three'
@@
 value_36 = 36
+more = 1
*** Add File: new.md
+# New
*** Delete File: notes.txt
*** Update File: README.md
*** Move to: docs/README.md
*** End Patch
"""
PATCHED = f"from pathlib import Path\nPath('long.py').write_text({LONG!r})\ntools.patch({PATCH!r}).ok"


async def test_files_and_hunks_of_a_patch_are_chosen_and_a_text_is_modified(open_cells):
    tab = await open_cells(PATCHED)
    await tab.start(1)
    await tab.wait_for_questions(1)
    question = tab.question(1)
    titles = question.locator(".nbtools-diff .nbtools-title")
    await expect(titles).to_have_count(4)
    for number, text in enumerate(("long.py", "new file", "deleted", "moved from README.md")):
        await expect(titles.nth(number)).to_contain_text(text)
    for width in (1280, 800, 380):
        await tab.page.set_viewport_size({"width": width, "height": 800})
        await tab.look(f"patch-{width}", question)
    await tab.page.set_viewport_size({"width": 1280, "height": 800})
    await is_accessible(tab.page)
    approve = question.locator("button.nbtools-approve")
    whole = question.get_by_role("checkbox", name="Apply the change of long.py")
    await question.get_by_role("checkbox", name="Change 1 of 2").uncheck()
    await expect(whole).to_be_checked()
    await question.get_by_role("checkbox", name="Change 2 of 2").uncheck()
    await expect(whole).not_to_be_checked()  # nothing of the file is left
    await question.get_by_role("checkbox", name="Change 2 of 2").check()
    await expect(whole).to_be_checked()
    gone = question.get_by_role("checkbox", name="Apply the change of notes.txt")
    await gone.focus()
    await tab.page.keyboard.press("Space")
    await expect(gone).not_to_be_checked()
    await expect(gone).to_be_focused()
    await expect(approve).to_contain_text("Approve 3 of 5 changes")
    await expect(question.locator("button.nbtools-always").first).to_be_disabled()
    await question.get_by_role("button", name="Modify new.md…").click()
    await expect(question.locator(".nbtools-merge .cm-content")).to_be_focused()
    await tab.page.keyboard.type("mine ")
    await tab.page.keyboard.press("Control+Enter")
    await expect(question.locator(".nbtools-merge")).to_have_count(0)
    await expect(titles).to_have_count(3)
    await expect(question).to_contain_text("left out the deletion of notes.txt")
    await expect(question).to_contain_text("mine # New")
    await tab.approve(1)
    await tab.done(1)
    assert tab.read("new.md") == "mine # New\n"
    assert tab.read("long.py") == LONG.replace("value_36 = 36\n", "value_36 = 36\nmore = 1\n")
    assert (tab.folder / "notes.txt").exists()
    assert (tab.folder / "docs" / "README.md").exists()
    await expect(tab.record(1)).to_contain_text("with your changes")
