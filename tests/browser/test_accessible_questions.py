"""Accessibility of questions: each kind of call, each kind of field, and the editor."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.async_api import expect

from tests.browser.accessibility import cut_buttons, in_all_themes, is_accessible
from tests.browser.conftest import ZOOMED
from tests.browser.test_ask import DATABASE, NAME, SURE, TESTS
from tests.browser.test_editing import CHANGED, LONG
from tests.browser.test_mcp import ADD, CONNECTING
from tests.replay.samples import bash, edit, log, shop
from tests.waiting import eventually

FIELDS = json.dumps([DATABASE, TESTS, NAME, SURE])
SEVERAL = f"""\
from pathlib import Path
Path("long.py").write_text({LONG!r})
hunks = tools.write.background("long.py", {CHANGED!r})
new = tools.write.background("new.md", "# New\\n\\nA file.\\n")
shell = tools.shell.background("python - <<'EOF' | tee ../log.txt\\nimport sys\\nprint(sys.version)\\nEOF")
gone = tools.delete.background("src/items.py")
price = tools.mcp__shop__price.background("pears", count=3)
fields = tools.ask.background(json.loads({FIELDS!r}))"""
KINDS = 6


async def test_each_kind_of_question_and_the_editor(open_cells):
    shop(Path("shop"))
    log(Path("log.jsonl"), edit("price = 1", "price = 3"), bash("cat price.py; touch new", ""))
    tab = await open_cells(f"import json\n{ADD}", SEVERAL, "%trace log.jsonl --replay 3 --in shop")
    await tab.start(1)
    await expect(tab.output(1).get_by_text("connected", exact=True)).to_be_visible(timeout=CONNECTING)
    await tab.done(1)
    await tab.run(2)
    await tab.start(3)
    await tab.wait_for_questions(2, KINDS)
    await tab.wait_for_questions(3)
    await in_all_themes(tab)
    for label in ("value_20", "tee"):
        await tab.modify(tab.question(2).filter(has_text=label))
    await expect(tab.question(2).locator(".nbtools-editor-host :focus")).to_have_count(1)
    await in_all_themes(tab, ".nbtools-modifying")
    await tab.page.set_viewport_size(ZOOMED)
    await is_accessible(tab.page)
    await eventually([], cut_buttons, tab.page)
