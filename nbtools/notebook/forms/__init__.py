"""Tools as forms: what the page needs to show a form for a tool's parameters, and to turn it into a cell."""
