"""MCP in the notebook: `%tools mcp`, `%tools prompt` and `%tools serve`."""
