"""Lessons: exercises that check themselves, and a recorded session as a model."""

from __future__ import annotations

from nbtools.lesson.exercise import Checked, check
from nbtools.lesson.recorded_model import RecordedModel

__all__ = ["Checked", "RecordedModel", "check"]
