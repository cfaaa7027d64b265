"""Tools that run commands: in a shell, in the background and in terminals."""
