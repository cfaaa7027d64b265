"""``%trace``: sessions of agents, to look through, to compare and to run again."""
