"""Finds and replaces text in files: matching, edits and patches."""
