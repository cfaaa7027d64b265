"""``%tools serve``: this notebook's tools for MCP clients, their calls shown here."""
