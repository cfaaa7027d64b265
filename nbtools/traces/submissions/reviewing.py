"""Hands the sessions of learners to the queue of the list of sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING
from warnings import warn

from nbtools.core.errors import TraceError
from nbtools.core.message import counted
from nbtools.traces.reviews.review_settings import MAX_QUEUE, change_review_settings
from nbtools.traces.session_index.places import add_log_folder
from nbtools.traces.session_list.view import SessionList, session_catalog

if TYPE_CHECKING:
    from nbtools.traces.submissions.learner_set import LearnerSet


def review_learners(found: LearnerSet) -> SessionList:
    """Makes the learners' sessions the queue, as far as the list has them. Raises ``TraceError``."""
    add_log_folder(found.folder)
    catalog = session_catalog()
    catalog.refresh()
    listed = {number for number, *_ in catalog.starts()}
    wanted = [one for one in found.review.sessions if one.id in listed]
    missing = len(found.review.sessions) - len(wanted)
    if missing:
        warn(
            f"The list does not have {counted(missing, 'session')} of these: review them in Python"
            " with learners.review.verdict(session, …).",
            stacklevel=3,
        )
    if len(wanted) > MAX_QUEUE:
        raise TraceError(
            f"These are {len(wanted):,} sessions, and at most {MAX_QUEUE:,} are reviewed together."
        )
    change_review_settings(
        queue=tuple(one.id for one in wanted),
        rubric=found.rubric,
        reviewer=found.review.reviewer,
        blind=found.review.blind,
    )
    return SessionList()
