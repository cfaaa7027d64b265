"""Exports what the explorer shows: static HTML, a comparison, a notebook."""
