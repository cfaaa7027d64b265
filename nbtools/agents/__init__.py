"""Agents: models that use a session's tools.  Needs ``pip install "nbtools-agent[agents]"``."""
