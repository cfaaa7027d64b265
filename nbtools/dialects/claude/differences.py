"""The deliberate differences between nbtools and Claude Code, each with its reason."""

DIFFERENCES: tuple[str, ...] = ()
