"""The deliberate differences between nbtools and Void, each with its reason."""

DIFFERENCES: tuple[str, ...] = ()
