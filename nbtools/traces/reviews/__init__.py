"""Reviews of sessions: notes, labels and verdicts in a file of their own, signals,
statistics and exchange with other tools.
"""
