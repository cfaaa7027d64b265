"""The session explorer and the `%trace` magic."""
