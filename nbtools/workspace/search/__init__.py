"""Searches file names and contents with ripgrep."""
