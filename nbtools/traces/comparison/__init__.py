"""Compares sessions: which of their steps correspond, where each differs, and how each ended."""
