"""Tools and hooks from outside nbtools: decorated functions, entry points, discovered commands, hook commands."""
