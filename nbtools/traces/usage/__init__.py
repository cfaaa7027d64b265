"""Attributes tokens, money and time to the requests, calls and turns of sessions."""
