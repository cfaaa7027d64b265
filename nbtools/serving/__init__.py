"""A session's tools for other agents, over MCP."""
