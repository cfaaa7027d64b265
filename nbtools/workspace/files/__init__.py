"""Reads, writes, lists and copies files safely."""
