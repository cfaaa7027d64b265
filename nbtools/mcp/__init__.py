"""The Model Context Protocol: a client for servers, and a server that offers a session's tools."""
