"""Replays recorded calls from the explorer: one step, step by step, or a whole session."""
