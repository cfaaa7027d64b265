"""The comparison of several sessions, as the value of a cell."""
