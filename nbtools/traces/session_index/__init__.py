"""Finds the session logs of all agents on this machine, and indexes what a list shows about them."""
