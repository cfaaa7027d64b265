"""Logging in to a server, when a person asks for it, and its tokens on each request afterwards.

The SDK's own provider would register a client and open a page by itself when a server refuses, renews nothing that it has not got in this
process, and sends one request after the other.  So it is run for what it is good at, getting tokens, and not between client and server.
"""
