"""MCP servers in a notebook: ``%tools mcp`` and ``%tools prompt``."""
