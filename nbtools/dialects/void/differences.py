"""Where nbtools deliberately differs from Void."""

DIFFERENCES: tuple[str, ...] = ()
