"""Cards as nbtools sends them, one of each kind of block, for looking at in a real JupyterLab."""

from nbtools.notebook.cards.model import (
    MIME,
    AudioBlock,
    Card,
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
    QuestionBlock,
    Row,
    TextBlock,
    TodoBlock,
    TodoEntry,
)


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
OUTPUT = OutputBlock(
    lines=tuple(((f"colour {n} ", f"fg{n}"), (" ground ", f"bg{n}"), (" true ", "fg#2b2b5f")) for n in range(16)), earlier=1001
)
COMMAND = CommandBlock(
    parts=(
        CommandPart(operator="", spans=(("git add -A", ""),), note="changes the index"),
        CommandPart(operator="|", spans=(("tee ", ""), ("../log", "warn"), ("U+202E", "hidden")), note="writes outside", warning=True),
    )
)
MATCHES = MatchesBlock(
    groups=(MatchGroup(path="src/cart.py", lines=(MatchLine(number=31, spans=(("x = ", ""), ("round(", "hit"), ("y)", ""))),)),),
    more="9 more",
)
LISTING = ListingBlock(entries=(ListingEntry(path="src", folder=True), ListingEntry(path="src/cart.py", size=1386)))
CODE = CodeBlock(
    path="src/cart.py", start=27, lines=((("def", "k"), (" ", ""), ("total", "d")), (("'s'", "s"), (" 1", "n"), (" len", "b")))
)
MARKDOWN = TextBlock(text="**bold** <script>window.harm = 1</script> <img src=x onerror='window.harm = 2'>", markdown=True)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = ImageBlock(path="a.png", mime_type="image/png", data=PIXEL, note="image/png · 70 B")
SOUND = AudioBlock(mime_type="audio/wav", data="UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=", note="audio/wav · 44 B")
STATUSES = ("completed", "in_progress", "pending", "blocked", "cancelled")
TODO = TodoBlock(items=tuple(TodoEntry(text=f"to be {status}", status=status) for status in STATUSES))
QUESTION = QuestionBlock(header="Colour", text="Which one?", choices=(("red", "like a rose"), ("blue", "")), answer="blue")
TITLED = DIFF.model_copy(update={"titled": True})
QUIET = TextBlock(text="Nothing was changed.", tone="quiet")


def card(name, state, *blocks, **more):
    return Card(id=name, state=state, tool=name, icon="pencil", subject=f"of {name}", status="Done", root="..", blocks=blocks, **more)


CARDS = (
    card("edit", "success", DIFF, folded=True, unfold="show diff", record="✓ Approved", places=(CardPlace(path="src/cart.py", line=28),)),
    card("diff", "awaiting_approval", DIFF, added=1, removed=1),
    card("shell", "executing", COMMAND, OUTPUT, cancellable=True, note="ends after 120 s"),
    card("grep", "success", MATCHES),
    card("ls", "success", LISTING),
    card("read", "success", CODE, places=(CardPlace(path="../../../etc/hosts"),)),
    card("fail", "error", MARKDOWN, QUIET),
    card("patch", "success", TITLED, TITLED.model_copy(update={"path": "src/other.py"})),
    card("media", "success", IMAGE, SOUND),
    card("todo", "success", TODO),
    card("ask", "awaiting_approval", QUESTION),
    card("fetch", "cancelled", detail="0.1 s"),
)


def bundle(mime_data, name):
    """An output as the kernel sends it: the card, the page without script, the plain text."""
    return {MIME: mime_data, "text/html": f"<b>page of {name}</b>", "text/plain": f"text of {name}"}


BUNDLES = [bundle(drawn.model_dump(mode="json"), drawn.id) for drawn in CARDS] + [bundle({"id": "newer", "state": "dreaming"}, "newer")]
