"""Runs commands: processes, background commands, terminals and the sandbox."""
