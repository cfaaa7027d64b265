"""Reads evaluation logs of Inspect AI."""
