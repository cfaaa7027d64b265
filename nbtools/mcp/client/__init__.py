"""MCP client: connections to servers, and their tools, prompts, resources and requests."""
