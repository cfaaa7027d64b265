"""The state machine of a call; it knows no concrete tool."""
