"""The magics `%tool` and `%tools` and their sub-commands."""
