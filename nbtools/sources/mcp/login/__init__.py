"""Logging in to a server, and where logins are kept."""
