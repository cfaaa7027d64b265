"""Asks for approval: widget, terminal prompt and forms."""
