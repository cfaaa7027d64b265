"""Where nbtools deliberately differs from Claude Code."""

DIFFERENCES: tuple[str, ...] = ()
