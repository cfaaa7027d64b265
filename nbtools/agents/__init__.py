"""Models that use the tools.  Needs ``pip install "nbtools-agent[agents]"``."""
