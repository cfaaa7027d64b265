"""Follows logs that are still being written: reads on where reading stopped, or again what was rewritten."""
