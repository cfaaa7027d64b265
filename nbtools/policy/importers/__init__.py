"""Importers that convert permission settings of other agents into policy rules."""
