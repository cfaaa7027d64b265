"""Lessons: a recorded session as a model.  Needs ``pip install "nbtools-agent[agents]"``."""

from __future__ import annotations

from nbtools.lesson.recorded_model import RecordedModel

__all__ = ["RecordedModel"]
