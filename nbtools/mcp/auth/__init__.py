"""OAuth login to MCP servers: a login that a person starts, and its tokens on each request."""

# The SDK's provider is used only to get tokens, not as the HTTP client's auth: there it would register a
# client and open a page by itself when a server refuses, could not renew tokens of another process, and would
# serialise all requests.
