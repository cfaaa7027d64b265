"""Reads logs of OpenHands 0 and 1: event lists, evaluation runs and event folders."""

from __future__ import annotations

from nbtools.traces.readers.openhands.reader import OpenHands

__all__ = ["OpenHands"]
