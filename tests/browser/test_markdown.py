"""Markdown of models, drawn: code in colour, never markup as text."""

from __future__ import annotations

import json
import re

import nbformat
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.async_api import expect

from nbtools.cards.card_model import MIME
from tests.browser.canary import Canary
from tests.browser.explorer import Explorer
from tests.notebook.agent.scripts import PLAYING

TEXT = """\
Code in several languages, fenced:

```python
def total(items: list[Item]) -> Decimal:
    \"\"\"Sums <b>prices</b>.\"\"\"
    return sum(item.price for item in items)  # exact
```

```json
{"a": [1, true, null]}
```

~~~js
const one = `${1 + 1}`; // two
~~~

```no-such-language
<span class="x">kept</span>
```

3. three
   - nested **bold**

     ```bash
     git log --oneline | head -5
     ```
4. four

- [x] done
- [ ] open

| name | price |
|---|--:|
| `x` | 1 |

<span class="\u037c1">raw</span> <input type="checkbox" disabled onclick="__pwned=1">
"""
MARKUP = re.compile(r"<span class=\"\u037c[0-9a-z]+\">(?!raw)")


async def scrolls_by_keyboard(box):
    """Whether a browser scrolls boxes by the keyboard of its own accord makes no difference."""
    await expect(box).to_have_attribute("tabindex", "0")
    await box.evaluate("box => box.focus({ focusVisible: true })")
    await expect(box).to_be_focused()
    await expect(box).to_have_css("outline-style", "solid")


async def is_drawn(place):
    """The text above, in one of the places where Markdown is drawn."""
    code = place.locator("pre code")
    await expect(code.first).to_contain_text("def total(items: list[Item]) -> Decimal:")
    await expect(code.first).to_contain_text('"""Sums <b>prices</b>."""')
    for index in (0, 1, 2):
        await expect(code.nth(index).locator("span").first).to_be_visible()
    await expect(code.nth(3)).to_have_text('<span class="x">kept</span>\n')
    await expect(place.locator("li li pre code")).to_contain_text("git log --oneline | head -5")
    await expect(place.locator("ol")).to_have_attribute("start", "3")
    await expect(place).to_contain_text("☑ done")
    await expect(place).to_contain_text("☐ open")
    await expect(place.locator("tbody td").last).to_have_css("text-align", "right")
    await expect(place).to_contain_text('<span class="\u037c1">raw</span>')
    assert not MARKUP.search(await place.inner_text())
    await expect(place.locator("input")).to_have_count(0)
    await scrolls_by_keyboard(code.first.locator(".."))


async def test_fenced_code_is_drawn_as_code(open_notebook, open_file):
    turns = f"agent.model = playing([{TEXT!r}])"
    story = "__import__('nbtools').to_notebook(agent.trace().trace, 'story-told.ipynb').name"
    tab = await open_notebook(PLAYING, turns, "%%agent\nShow it.", "%agent trace", story)
    for index in range(1, 6):
        await tab.run(index)
    await is_drawn(tab.cell(3).locator(".nbtools-markdown"))
    await tab.look("markdown-agent", tab.cell(3))
    trace = Explorer(tab, 4)
    await trace.row("Code in several languages").click()
    await is_drawn(trace.card.locator(".nbtools-markdown"))
    await tab.look("markdown-explorer", tab.cell(4))
    written = tab.folder / "story-told.ipynb"
    assert "def total" in json.dumps(json.loads(written.read_text(encoding="utf-8")))
    told = await open_file(written)
    answer = told.panel.locator(".jp-MarkdownCell").filter(has_text="Code in several languages")
    await expect(answer.locator("pre code").first).to_contain_text("def total(items: list[Item]) -> Decimal:")
    assert not MARKUP.search(await answer.inner_text())


DIAGRAMS = (
    ("```mermaid\n", "```"),
    ("- ```mermaid\n  ", "```"),
    ("1. - ~~~~ mermaid \n     ", "~~~~"),
    ("> - ```Mermaid\n>   ", "```"),
    ("> - ```mermaid\r\n>   ", "```"),
    ("```\u00a0mermaid\n", "```"),
    ("~~~\t\u3000mermaid\u2028\n", "~~~"),
    ("text\n- text\n\n  ~~~\ufeffmermaid\n  ", "~~~"),
)
"""The beginning and the end of a block that a parser takes for a diagram;
the beginning ends with what its lines begin with.
"""


def diagram(begin, end, lines):
    before = begin.rpartition("\n")[2]
    return begin + f"\n{before}".join((*lines, end))


def saved_card(number, *texts):
    blocks = [{"type": "text", "text": text, "markdown": True} for text in texts]
    card = {
        "id": str(number),
        "state": "success",
        "tool": "read",
        "icon": "file",
        "subject": "",
        "status": "Done",
        "blocks": blocks,
    }
    return new_code_cell(
        "pass", outputs=[new_output("display_data", data={MIME: card, "text/plain": "read"})]
    )


async def test_a_diagram_of_an_untrusted_notebook_is_source_and_loads_nothing(open_file, project):
    async with Canary() as canary:
        drawn = [
            ("graph TD", f"A[\"<img src='{canary.address}/label'>\"]"),
            (
                f'%%{{init: {{"themeCSS": ".node {{ background: url({canary.address}/style) }}"}}}}%%',
                "graph TD",
                "A[x]",
            ),
            ("graph TD", f'A@{{ img: "{canary.address}/shape", label: "x", w: 60, h: 60 }}'),
        ]
        made = new_notebook(
            metadata={
                "kernelspec": {
                    "name": "python3",
                    "display_name": "Python 3 (ipykernel)",
                    "language": "python",
                }
            }
        )
        made.cells = [
            saved_card(i, *(diagram(*block, lines) for lines in drawn)) for i, block in enumerate(DIAGRAMS)
        ]
        path = project / "diagrams.ipynb"
        nbformat.write(made, path)
        tab = await open_file(path)
        for index in range(len(DIAGRAMS)):
            code = tab.output(index).locator(".nbtools-markdown pre code")
            await expect(code).to_have_count(len(drawn))
            for at, lines in enumerate(drawn):
                await expect(code.nth(at)).to_have_text("\n".join((*lines, "")))
        assert canary.asked == []
