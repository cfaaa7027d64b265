"""Lines that stand for code which was left out, and lines that do not."""

import pytest

from nbtools.workspace.text.placeholders import find_placeholder


@pytest.mark.parametrize(
    "line",
    [
        *(
            "(rest of methods ...)",
            "(rest of method ...)",
            "// rest of code ...",
            "unchanged code ...",
            "// unchanged code ...",
        ),
        *(
            "# ... existing code ...",
            "# ... rest of the file remains unchanged ...",
            "  # ... (rest of the code)",
            "-- ... existing code ...",
        ),
        *(
            "<!-- ... rest of file ... -->",
            "% rest of code ...",
            "/* ... other methods ... */",
            "{/* ... existing code ... */}",
        ),
        *(
            "# … remaining imports …",
            "... rest of your code ...",
            "// ... unchanged ...",
            "// ...existing code...",
        ),
    ],
)
def test_refused(line):
    assert find_placeholder(f"a\n{line}\nb", "") == line.strip()
    assert find_placeholder(f"a\n{line}\nb", f"x\n    {line}") is None


@pytest.mark.parametrize(
    "line",
    [
        *(
            "...",
            "# ...",
            "x = ...",
            "def rest(): ...",
            "# the rest of the code is in b.py",
            "print('rest of code ...')",
            "# existing code",
        ),
        *("the rest...is silence", "Loading the rest of the file, wait ...", "# TODO ...", "return rest..."),
    ],
)
def test_taken(line):
    assert find_placeholder(line, "") is None
