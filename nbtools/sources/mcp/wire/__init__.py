"""The connection with a server: its messages, its process or address, its failures."""
