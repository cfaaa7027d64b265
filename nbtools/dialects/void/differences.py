"""The deliberate differences between nbtools and Void, each with its reason."""

DIFFERENCES: tuple[str, ...] = (
    (
        "edit_file refuses an ORIGINAL that occurs several times, an incomplete block, a marker outside of a block, and a blank ORIGINAL "
        "for a file with text, because Void changes the wrong lines or loses some there."
    ),
)
