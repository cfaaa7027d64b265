"""The state of a kernel's nbtools for the pages that show it:
open questions, running calls, changes, rules, MCP servers.
"""
