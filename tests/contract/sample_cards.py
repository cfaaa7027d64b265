"""Cards as nbtools sends them, one of each kind of block, for looking at in a real JupyterLab."""

from nbtools.cards.card_model import (
    MIME,
    Card,
    CardPlace,
    DiffBlock,
    Hunk,
    Line,
    MatchesBlock,
    MatchGroup,
    MatchLine,
    Row,
    TextBlock,
)
from tests.browser.catalogue import BLOCKS


def context(old, new, text):
    spans = ((text, ""),)
    return Row(old=Line(number=old, spans=spans), new=Line(number=new, spans=spans), changed=False)


CHANGED = Row(
    old=Line(number=28, spans=(("    total = ", ""), ("0", "n mark"))),
    new=Line(number=28, spans=(("    total = ", ""), ("Decimal(0)", "mark"), ("  # exact", "c"))),
    changed=True,
)
DIFF = DiffBlock(
    path="src/cart.py",
    added=1,
    removed=1,
    hunks=(
        Hunk(rows=tuple(context(n, n, f"line {n}") for n in range(4, 27)), folded=True),
        Hunk(rows=(context(27, 27, "def total():"), CHANGED)),
    ),
)
MATCHES = MatchesBlock(
    groups=(
        MatchGroup(
            path="src/cart.py",
            lines=(MatchLine(number=31, spans=(("x = ", ""), ("round(", "hit"), ("y)", ""))),),
        ),
    ),
    more="9 more",
)
MARKDOWN = TextBlock(
    text="**bold** <script>window.harm = 1</script> <img src=x onerror='window.harm = 2'>", markdown=True
)
TITLED = DIFF.model_copy(update={"titled": True})
QUIET = TextBlock(text="Nothing was changed.", tone="quiet")


def card(name, state, *blocks, **more):
    return Card(
        id=name,
        state=state,
        tool=name,
        icon="pencil",
        subject=f"of {name}",
        status="Done",
        root="..",
        blocks=blocks,
        **more,
    )


CARDS = (
    card(
        "edit",
        "success",
        DIFF,
        folded=True,
        unfold="show diff",
        record="✓ Approved",
        places=(CardPlace(path="src/cart.py", line=28),),
    ),
    card("diff", "awaiting_approval", DIFF, added=1, removed=1),
    card(
        "shell", "executing", *BLOCKS["command"], *BLOCKS["output"], cancellable=True, note="ends after 120 s"
    ),
    card("grep", "success", MATCHES),
    card("ls", "success", *BLOCKS["listing"]),
    card("read", "success", *BLOCKS["code"], places=(CardPlace(path="../../../etc/hosts"),)),
    card("fail", "error", MARKDOWN, QUIET),
    card("patch", "success", TITLED, TITLED.model_copy(update={"path": "src/other.py"})),
    card("media", "success", *BLOCKS["image"], *BLOCKS["audio"]),
    card("todo", "success", *BLOCKS["todo"]),
    card("ask", "awaiting_approval", *BLOCKS["question"]),
    card("fetch", "cancelled", detail="0.1 s"),
)


def bundle(mime_data, name):
    """An output as the kernel sends it: the card, the page without script, the plain text."""
    return {MIME: mime_data, "text/html": f"<b>page of {name}</b>", "text/plain": f"text of {name}"}


BUNDLES = [bundle(drawn.model_dump(mode="json"), drawn.id) for drawn in CARDS] + [
    bundle({"id": "newer", "state": "dreaming"}, "newer")
]
