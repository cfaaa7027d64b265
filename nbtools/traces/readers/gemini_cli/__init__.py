"""Readers of Gemini CLI: sessions (a JSON document, later a log of its changes), checkpoints, telemetry."""

from __future__ import annotations

from nbtools.traces.readers.gemini_cli.checkpoint import GeminiCheckpoint
from nbtools.traces.readers.gemini_cli.session import GeminiCli
from nbtools.traces.readers.gemini_cli.telemetry import GeminiTelemetry

__all__ = ["GeminiCheckpoint", "GeminiCli", "GeminiTelemetry"]
