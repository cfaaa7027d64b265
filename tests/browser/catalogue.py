"""A card for every type of block and every state of a call.
A kernel loads this file from its folder and displays them.
"""

from __future__ import annotations

import base64
import io
import struct
import wave
import zlib
from typing import get_args

from IPython.display import HTML, display

from nbtools.cards.card import bundle
from nbtools.cards.card_model import (
    AudioBlock,
    Block,
    Card,
    CardAction,
    CardPlace,
    CodeBlock,
    CommandBlock,
    CommandPart,
    DiffBlock,
    Hunk,
    ImageBlock,
    Line,
    ListingBlock,
    ListingEntry,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    OutputBlock,
    Page,
    PagesBlock,
    QuestionBlock,
    Row,
    Span,
    State,
    TextBlock,
    TodoBlock,
    TodoEntry,
)
from nbtools.cards.html import card_html

LONG = "a/rather/long/folder/of/a/project/with/many/levels/and_a_module_with_a_long_name.py"


def png() -> str:
    """A picture of 64 × 40 pixels in base64."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(
        b"\0" + bytes((x * 4, y * 6, 160)[i] for x in range(64) for i in range(3)) for y in range(40)
    )
    head = struct.pack(">IIBBBBB", 64, 40, 8, 2, 0, 0, 0)
    data = (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows))
        + chunk(b"IEND", b"")
    )
    return base64.b64encode(data).decode()


def wav() -> str:
    """A tenth of a second of silence in base64."""
    target = io.BytesIO()
    with wave.open(target, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 800)
    return base64.b64encode(target.getvalue()).decode()


def row(old: int | None, new: int | None, text: str, *, was: str = "") -> Row:
    before = None if old is None else Line(number=old, spans=((was or text, "k s"[: 2 * bool(was)].strip()),))
    mark = "mark" if was else ""
    after = None if new is None else Line(number=new, spans=((text[:4], "d"), (text[4:], mark)))
    return Row(old=before, new=after, changed=bool(was) or old is None or new is None)


CONTEXT = tuple(row(n, n, f"line {n} of the file") for n in range(1, 5))
FAR = tuple(row(n, n, f"line {n}, unchanged") for n in range(20, 60))
CHANGED = (
    *CONTEXT,
    row(5, 5, "total = Decimal(0)", was="total = 0"),
    row(6, None, "removed"),
    row(None, 6, "added " * 40),
)
STYLES: tuple[Span, ...] = tuple(
    (f"{style} ", style) for style in ["k", "s", "c", "n", "d", "b", "mark", "hit", "hidden", "warn"]
)
TERMINAL = tuple((f"{style} ", style) for style in ["bold", "dim", "italic", "underline", "strike"])
COLOURS = tuple((f"{n:2} ", f"{side}{n}") for side in ("fg", "bg") for n in range(16))
TRUE_COLOURS = tuple(
    (f"{a}{b} ", f"fg#{a} bg#{b}")
    for a in ("ff0000", "00ff00", "777777")
    for b in ("000000", "ffffff", "336699")
)
TONES = (
    TextBlock(text="A sentence of plain text, see https://example.org/text."),
    TextBlock(text="\n".join(f"line {n}" for n in range(1, 41))),
    TextBlock(text="Secondary text.", tone="quiet"),
    TextBlock(text="A warning.", tone="warning"),
    TextBlock(text="An error, with the reason.", tone="error"),
    TextBlock(
        text="# A heading\n\nText with **bold**, `code` and [a link](https://example.org).\n\n## Below\n\n- one\n- two\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1  # comment\n```\n\n> A quotation.",
        markdown=True,
    ),
    TextBlock(
        text='Traceback (most recent call last):\n  File "cell 5", line 3, in query\nValueError: no',
        tone="quiet",
        title="Traceback",
    ),
)
BLOCKS: dict[str, tuple[Block, ...]] = {
    "diff": (
        DiffBlock(
            path="src/cart.py",
            added=2,
            removed=2,
            hunks=(Hunk(rows=CHANGED), Hunk(rows=FAR, folded=True), Hunk(rows=(), hidden=12)),
        ),
        DiffBlock(
            path=LONG,
            added=1,
            removed=0,
            hunks=(Hunk(rows=(row(None, 1, "x = 1"),)),),
            created=True,
            titled=True,
        ),
    ),
    "command": (
        CommandBlock(
            parts=(
                CommandPart(operator="", spans=(("git ", "b"), ("add -A", ""))),
                CommandPart(operator="&&", spans=(("rm -rf build", ""),), note="deletes files", warning=True),
                CommandPart(
                    operator="|",
                    spans=(("tee ../log.txt", "warn"),),
                    note="writes outside the workspace",
                    warning=True,
                ),
                CommandPart(operator="↳", spans=(("python3 - <<EOF", ""),), note="runs code"),
            ),
            sandbox="The sandbox is off.",
        ),
    ),
    "output": (
        OutputBlock(
            lines=(TERMINAL, COLOURS, TRUE_COLOURS, *(((f"line {n}", ""),) for n in range(40))),
            earlier=1200,
            full_output=LONG,
        ),
    ),
    "matches": (
        MatchesBlock(
            groups=(
                MatchGroup(
                    path="src/cart.py",
                    lines=(
                        MatchLine(number=3, spans=STYLES),
                        MatchLine(number=4, spans=(("next", ""),), context=True),
                        MatchLine(number=9, spans=STYLES),
                    ),
                ),
                MatchGroup(
                    path=LONG,
                    lines=tuple(
                        MatchLine(number=n, spans=(("round", "hit"), ("(x) " * 60, ""))) for n in range(1, 30)
                    ),
                ),
            ),
            more="12 more files: narrow the pattern, see https://example.org/grep",
        ),
    ),
    "listing": (
        ListingBlock(
            entries=(
                ListingEntry(path="src", folder=True),
                *(ListingEntry(path=f"{LONG}{n}", size=n * 999) for n in range(30)),
            ),
            more="55 more",
        ),
        ListingBlock(
            entries=(
                ListingEntry(path="src", branch="├── ", folder=True),
                ListingEntry(path="src/cart.py", branch="│   └── "),
                ListingEntry(path="build", branch="├── ", folder=True, note="(not opened, 3 entries)"),
                ListingEntry(path="", branch="└── ", note="… 93 more"),
            )
        ),
    ),
    "code": (
        CodeBlock(
            path="src/cart.py",
            start=17,
            lines=(STYLES, *(((f"x{n} = {n}", ""),) for n in range(30))),
            more="lines 50–85",
        ),
        CodeBlock(path="", start=1, lines=((("print", "b"), ("(1)", "")),), title="python code", total=1),
    ),
    "text": TONES,
    "image": (ImageBlock(path="docs/picture.png", mime_type="image/png", data=png(), note="64 × 40 pixels"),),
    "pages": (
        PagesBlock(path="docs/paper.pdf", pages=tuple(Page(number=n, data=png()) for n in range(1, 5))),
    ),
    "audio": (AudioBlock(mime_type="audio/wav", data=wav(), note="0.1 s"),),
    "todo": (
        TodoBlock(
            items=tuple(
                TodoEntry(text=f"An entry that is {s}", status=s)
                for s in get_args(TodoEntry.model_fields["status"].annotation)
            )
        ),
    ),
    "question": (
        QuestionBlock(
            header="Storage",
            text="Where do totals go? See https://example.org/totals.",
            choices=(("File", "simple"), ("Database", "")),
            answer="File",
        ),
        QuestionBlock(header="Taxes", text="Which?", choices=(("A", "a"), ("B", "b")), several=True),
    ),
}
"""Blocks by type, with everything in them that has a look of its own."""

ACTIONS = (
    CardAction(verb="undo", id="1", label="undo", magic="%tools undo 1"),
    CardAction(verb="merge", id="1", label="merge", magic="%tools merge 1"),
)


def cards() -> list[Card]:
    """Every block in a finished call; every state, folded and not, with all that a foot can have."""
    common = {"tool": "edit", "icon": "pencil", "subject": LONG, "root": "."}
    of_blocks = [
        Card(id=f"block-{name}", state="success", status="Done", blocks=blocks, **{**common, "tool": name})
        for name, blocks in BLOCKS.items()
    ]
    of_states = [
        Card(
            id=f"state-{state}-{failed}-{folded}",
            state=state,
            failed=failed,
            folded=folded,
            unfold="show diff",
            status=state.replace("_", " ").capitalize(),
            detail="1.2 s",
            added=2,
            removed=1,
            blocks=BLOCKS["text"][:4],
            record="Approved once by you at 10:15" if folded else "",
            note="approval required: mode default asks before edits",
            places=(CardPlace(path="src/cart.py", line=3), CardPlace(path="/outside.txt")),
            deeds=ACTIONS if state == "success" else (),
            cancellable=state == "executing",
            **common,
        )
        for state in get_args(State)
        for failed in ((False, True) if state == "success" else (False,))
        for folded in (False, True)
    ]
    return [*of_blocks, *of_states]


def show() -> None:
    """Displays all cards."""
    for card in cards():
        display(bundle(card), raw=True)


def show_html() -> None:
    """Displays all cards as front ends without our renderer do."""
    for card in cards():
        display(HTML(card_html(card)))
