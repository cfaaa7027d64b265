"""Tools, prompts and resources of MCP servers."""
