"""Reads trajectories of SWE-agent."""

from __future__ import annotations

from nbtools.traces.readers.swe_agent.trajectory import SweAgent

__all__ = ["SweAgent"]
