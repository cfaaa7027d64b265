"""Reviews in the explorer: verdicts, labels and notes on the lines of its list."""
