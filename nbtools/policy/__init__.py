"""May it run?  Pure decisions over rules as data."""
