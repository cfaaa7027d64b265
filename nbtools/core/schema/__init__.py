"""JSON Schema: the parameters of tools, their validation, and what model providers accept."""
