"""Fetches web pages: addresses, the HTTP client, and conversion to text."""
