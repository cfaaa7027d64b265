"""MCP server configuration: reads, validates and writes the files that list servers."""
