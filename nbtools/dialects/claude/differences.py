"""The deliberate differences between nbtools and Claude Code, each with its reason."""

DIFFERENCES: tuple[str, ...] = (
    (
        "Read estimates tokens at four bytes each, because nbtools includes no tokenizer: its limit of 25,000"
        " tokens is 100,000 bytes of text."
    ),
)
