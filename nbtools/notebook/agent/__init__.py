"""A model at work in a cell: ``agent``, ``%agent`` and ``%%agent``."""
