"""Queries over loaded logs: tables, SQL, full-text search."""
