"""Agents in the notebook: the ``agent`` object and the ``%agent`` and ``%%agent`` magics."""
