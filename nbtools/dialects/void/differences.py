"""The deliberate differences between nbtools and Void, each with its reason."""

DIFFERENCES: tuple[str, ...] = (
    (
        "read_lint_errors checks the syntax of Python, JSON, TOML and notebooks, and names a linter for other"
        " files, because nbtools has no language servers; replies of edit_file and rewrite_file name no lint"
        " errors."
    ),
    (
        "edit_file refuses an ORIGINAL that occurs several times, an incomplete block, a marker outside of a"
        " block, and a blank ORIGINAL for a file with text, because Void changes the wrong lines or loses"
        " some there."
    ),
)
