"""Where the tokens, the money and the time of sessions went."""
