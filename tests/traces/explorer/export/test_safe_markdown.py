"""Texts of a log as Markdown: nothing loads or runs, whichever parser renders them, and code stays code."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import mistune
import nbformat
import pytest
from markdown_it import MarkdownIt

from labextension.scripts import front_end
from nbtools import to_notebook
from nbtools.traces import load
from nbtools.traces.explorer.export.safe_markdown import inline_code, plain, sanitize_markdown
from tests.browser.long_log import write_log
from tests.browser.test_shared_page import hostile_records

ROOT = Path(__file__).parents[4]
PIECES = (
    *(
        "`",
        "``",
        "```",
        "````",
        "~~~",
        "\\",
        "|",
        "\n",
        "\n\n",
        "    ",
        "  ",
        "\t",
        "> ",
        "- ",
        "1. ",
        "# ",
        "---",
        "===",
        "|-|-|",
        "$",
        "&",
        ";",
    ),
    *(
        "![x](http://evil.example/p.png)",
        "![x][1]",
        "[1]: http://evil.example/p.png",
        "[1]:\n",
        "![",
        "](",
        ")",
        "!",
        "[",
        "]",
        "(",
        ":",
    ),
    *(
        "<img src=http://evil.example/p.png>",
        "<script>harm()</script>",
        "<!--",
        "-->",
        "<",
        ">",
        "</details>",
        "</code>",
        "<code>",
        "</pre>",
    ),
    *(
        "[a](javascript:harm())",
        "[a](JaVaScRiPt&#58;harm())",
        "<javascript:harm()>",
        "[1]: javascript:harm()",
        "[a][1]",
        "[a](data:text/html,x)",
    ),
    *(
        "$",
        "&",
        ";",
        "a",
        "b",
        "word ",
        "python",
        "mermaid",
        "{",
        "}",
        "*",
        "**",
        "_",
        "[^1]",
        "&#33;",
        "&lt;",
        "http://a.example/",
    ),
)
ALLOWED = r"a|blockquote|br|code|del|em|h[1-6]|hr|input|li|ol|p|pre|s|strong|sup|section|table|tbody|t[dhr]|thead|ul"
ATTRIBUTES = {
    "a": {"href": r"(https?://|mailto:)\S*|[^:]*", "title": ".*", "id": ".*", "class": ".*"},
    "code": {"class": r"(language-[\w+]*)?"},
    "ol": {"start": r"\d+"},
    "th": {"align": ".*", "style": "text-align: ?(left|center|right)"},
    "td": {"align": ".*", "style": "text-align: ?(left|center|right)"},
    "input": {"disabled": ".*", "type": "checkbox", "checked": ".*", "class": ".*"},
}
SEEDS = range(2)
TEXTS, SHARE = 1_000, 250

MARKED = """
import { marked } from 'marked';
let text = '';
for await (const chunk of process.stdin) text += chunk;
console.log(JSON.stringify(JSON.parse(text).map(one => marked.parse(one, { gfm: true }))));
"""


class Found(HTMLParser):
    """Returns the content of a page that is not understood."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.unknown: list[str] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = ATTRIBUTES.get(tag, {})
        understood = all(
            re.fullmatch(known.get(name, "(?!)"), value or "", re.DOTALL) for name, value in attrs
        )
        if not re.fullmatch(ALLOWED, tag) or not understood:
            self.unknown.append(self.get_starttag_text() or tag)

    def handle_comment(self, data: str) -> None:
        self.unknown.append(f"<!--{data}")

    def handle_decl(self, decl: str) -> None:
        self.unknown.append(f"<!{decl}")

    def handle_pi(self, data: str) -> None:
        self.unknown.append(f"<?{data}")


def marked(texts: list[str]) -> list[str]:
    """Renders texts with the parser of JupyterLab."""
    command = [Path(front_end.node_folder()) / "node", "--input-type=module", "-e", MARKED]
    ran = subprocess.run(
        command,
        input=json.dumps(texts),
        cwd=ROOT / "labextension",
        capture_output=True,
        text=True,
        check=True,
    )
    return [str(one) for one in json.loads(ran.stdout)]


def rendered(texts: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yields parser, text and HTML, for the parsers of JupyterLab, of nbconvert, and of the site."""
    commonmark = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for text, markup in zip(texts, marked(texts), strict=True):
        yield "marked", text, markup
        yield "mistune", text, str(mistune.html(text))
        yield "markdown-it", text, commonmark.render(text)


@pytest.mark.parametrize("lesson", [False, True])
def test_the_notebook_of_a_hostile_log_loads_nothing(lesson: bool, tmp_path: Path) -> None:
    folder = "/tmp`![x](http://evil.example/p.png)<img src=http://evil.example/p.png>\n\n![y](http://evil.example/p.png)"
    trace = load(write_log(tmp_path / "session.jsonl", folder, hostile_records()))
    notebook = nbformat.read(to_notebook(trace, tmp_path / "out.ipynb", lesson=lesson), as_version=4)
    sources = [
        re.sub(r"</?(details|summary)>", "", cell.source)
        for cell in notebook.cells
        if cell.cell_type == "markdown"
    ]
    assert len(sources) > 20
    for parser, text, markup in rendered(sources):
        assert not Found(markup).unknown, (parser, text, markup)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_parser_finds_an_image_a_tag_or_a_strange_link(seed: int, all_rounds: bool) -> None:
    chance = random.Random(seed)
    texts = [
        "".join(chance.choices(PIECES, k=chance.randint(1, 30)))
        for _ in range(TEXTS if all_rounds else SHARE)
    ]
    for parser, text, markup in rendered(
        [*map(sanitize_markdown, texts), *map(plain, texts), *(inline_code(plain(one)) for one in texts)]
    ):
        assert not Found(markup).unknown, (parser, text, markup)


@pytest.mark.parametrize(
    "text",
    [
        "\\![x](http://evil.example/p.png)",
        "\\`![x](http://evil.example/p.png)\\`",
        "`a\nb `![x](http://evil.example/p.png)`",
        "|a|b|\n|-|-|\n|`a|<img src=http://evil.example/p.png>`|",
        "``` a`b\n![x](http://evil.example/p.png)",
        "1. a\n   ```\n   c\n![x](http://evil.example/p.png)",
        "- ```\n![x](http://evil.example/p.png)",
        "![x][1]\n\n[1]: http://evil.example/p.png",
        "[a](java\nscript:harm())",
    ],
)
def test_markdown_that_parsers_read_differently_is_safe_in_all_of_them(text: str) -> None:
    for parser, shown, markup in rendered([sanitize_markdown(text)]):
        assert not Found(markup).unknown, (parser, shown, markup)


def test_the_check_finds_what_it_looks_for() -> None:
    for text in (
        "![x](http://evil.example/p.png)",
        "<img src=x>",
        "<!-- -->",
        "<a href='javascript:harm()'>x</a>",
    ):
        for parser, _, markup in rendered([text]):
            assert Found(markup).unknown, parser


def test_usual_markdown_stays_unchanged() -> None:
    text = """\
# Title #
Use `vec![1]` or `a<b`, see [the cart](src/cart.py) and [docs](https://a.example:8080/x?y=1#z).
1. Run
   ```bash
   ls
     -l
   ```
> ~~~py
> x = ```1```
> ~~~
- [ ] `plain` **bold** x < 1
Heading
---
```mermaid
graph"""
    shown = """\
**Title**
Use <code>vec&#33;&#91;1&#93;</code> or <code>a&#60;b</code>, see [the cart](src/cart.py) and [docs](https://a.example:8080/x?y=1#z).
1. Run

```bash
ls
  -l
```


````python
x = ```1```
````

- [ ] `plain` **bold** x &lt; 1
Heading
\\---

```
graph
```"""
    assert sanitize_markdown(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "`" * 60_000,
        "` `` " * 12_000,
        f"# {' ' * 60_000}x",
        "](" * 30_000,
        "](a" * 20_000,
        "![" * 30_000,
        "> " * 30_000,
        "- " * 30_000,
    ],
)
def test_long_lines_take_linear_time(text: str) -> None:
    """A quadratic search would take minutes and meet the test's time limit."""
    assert sanitize_markdown(text)
