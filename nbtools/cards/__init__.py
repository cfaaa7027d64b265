"""Cards: the rich display of a tool call as data, HTML and text."""
