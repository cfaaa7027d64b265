"""Shows tokens, money and time in the explorer."""
