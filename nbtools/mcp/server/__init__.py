"""MCP server: offers a session's tools to other agents."""
