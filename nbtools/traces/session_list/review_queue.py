"""Verdicts on listed sessions, and the queue of those that are reviewed, as the list's page sees them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from nbtools.cards.hidden_characters import one_line
from nbtools.core.errors import TraceError
from nbtools.traces.explorer.explorer_messages import ReviewedLog
from nbtools.traces.reviews.queue import sampled
from nbtools.traces.reviews.review_settings import (
    MAX_QUEUE,
    ReviewSettings,
    change_review_settings,
    review_settings,
)
from nbtools.traces.reviews.session_verdicts import (
    IndexedLog,
    LogVerdicts,
    SeenVerdicts,
    agreement_on,
    verdicts_of,
)
from nbtools.traces.reviews.store import LabelFile
from nbtools.traces.session_index.listing import SessionCatalog, SessionQuery
from nbtools.traces.session_list.rows import SessionChanges
from nbtools.traces.session_list.session_messages import (
    NextReviewParams,
    ReviewerAgreement,
    ReviewSessionsParams,
    SessionReviews,
    SessionReviewsParams,
    SessionVerdicts,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from nbtools.traces.explorer.explorer_view import TraceView

_MAX_NAME = 60
_MAX_OTHERS = 400


class ReviewQueue:
    """The queue of the person, over the sessions of ``catalog``. Where several kernels have lists, they share
    it. Each answer has the verdicts as they are then.
    """

    def __init__(self, catalog: SessionCatalog, changes: SessionChanges) -> None:
        self._catalog = catalog
        self._changes = changes
        self._file = LabelFile()

    def read(self, params: SessionReviewsParams) -> SessionReviews:
        """Returns the verdicts and the queue, after changing the settings. Raises ``TraceError``."""
        changes: dict[str, object] = {}
        if params.reviewer is not None:
            changes["reviewer"] = params.reviewer.strip()
        if params.blind is not None:
            changes["blind"] = params.blind
        settings = change_review_settings(**changes) if changes else review_settings()
        version = self._version(settings)
        if version == params.version:
            return SessionReviews(version=version, changed=False)
        return self._reviews(settings, version)

    def begin(self, params: ReviewSessionsParams) -> SessionReviews:
        """Makes sessions the queue, or a sample of them. Raises ``TraceError``."""
        ids: Sequence[str] = params.ids
        if params.sample is not None:
            wanted = set(ids)
            listed = (one for one in self._catalog.page(SessionQuery()) if one.id in wanted)
            ids = [one.id for one in sampled(listed, params.sample, params.seed)]
        if len(ids) > MAX_QUEUE:
            raise TraceError(
                f"These are {len(ids):,} sessions, and at most {MAX_QUEUE:,} can be reviewed together. Choose"
                " a filter or a sample."
            )
        settings = change_review_settings(queue=tuple(ids), rubric=None)
        return self._reviews(settings, self._version(settings))

    def open(self, params: NextReviewParams, open_log: Callable[[str], TraceView]) -> ReviewedLog:
        """Opens a session of the queue, or the next unreviewed one that can be opened. Raises ``TraceError``
        where the wanted one cannot be.
        """
        settings = review_settings()
        name = settings.name
        if params.id:
            return ReviewedLog(view=open_log(params.id), session=params.id, reviewer=name)
        skipped: list[str] = []
        for identity in self._waiting(settings, params.after):
            try:
                view = open_log(identity)
            except TraceError as error:
                skipped.append(one_line(str(error), _MAX_OTHERS))
                continue
            return ReviewedLog(view=view, session=identity, reviewer=name, skipped=tuple(skipped[:20]))
        return ReviewedLog(reviewer=name, skipped=tuple(skipped[:20]))

    def _waiting(self, settings: ReviewSettings, after: str) -> list[str]:
        """Returns the sessions of the queue without a verdict of the reviewer, those after one first."""
        seen, queue = self._seen(settings), settings.queue
        at = queue.index(after) + 1 if after in queue else 0
        in_turn = [*queue[at:], *queue[: max(at - 1, 0)]]
        return [one for one in in_turn if one in seen and not seen[one].mine]

    def _version(self, settings: ReviewSettings) -> str:
        records = self._file.records()
        last = records[-1].id if records else ""
        facts = (len(records), last, self._changes.version, settings)
        return hashlib.sha256(repr(facts).encode("utf-8", "replace")).hexdigest()[:32]

    def _verdicts(self) -> Mapping[str, LogVerdicts]:
        starts = self._catalog.starts()
        logs = [IndexedLog(path, format_, beginning) for _, path, format_, beginning in starts]
        found = verdicts_of(self._file.records(), logs)
        return {identity: verdicts for (identity, *_), verdicts in zip(starts, found, strict=True)}

    def _seen(self, settings: ReviewSettings) -> Mapping[str, SeenVerdicts]:
        return {
            identity: found.seen_by(settings.name, blind=settings.blind)
            for identity, found in self._verdicts().items()
        }

    def _reviews(self, settings: ReviewSettings, version: str) -> SessionReviews:
        verdicts = self._verdicts()
        seen = {key: one.seen_by(settings.name, blind=settings.blind) for key, one in verdicts.items()}
        queue = [identity for identity in settings.queue if identity in seen]
        keys = {identity: key for identity in seen for key in self._changes.keys([identity])}
        return SessionReviews(
            version=version,
            reviewer=settings.name,
            blind=settings.blind,
            verdicts=tuple(
                SessionVerdicts(
                    key=keys[identity], mine=one.mine, others=_names(one.others), disagree=one.disagree
                )
                for identity, one in seen.items()
                if identity in keys and (one.mine or one.others)
            ),
            keys=tuple(keys[identity] for identity in queue if identity in keys),
            done=sum(bool(seen[identity].mine) for identity in queue),
            gone=len(settings.queue) - len(queue),
            agreements=_agreements([verdicts[identity] for identity in queue], settings),
        )


def _agreements(logs: Sequence[LogVerdicts], settings: ReviewSettings) -> tuple[ReviewerAgreement, ...]:
    judged = [log for log in logs if log.of(settings.name)]
    others = sorted({name for log in judged for name in log.reviewers} - {settings.name})
    found = [(name, agreement_on(judged, settings.name, name)) for name in others[:20]]
    return tuple(
        ReviewerAgreement(
            reviewer=one_line(name, _MAX_NAME), items=one.items, kappa=one.kappa, low=one.low, high=one.high
        )
        for name, one in found
        if one.items
    )


def _names(others: Mapping[str, str]) -> str:
    texts = (f"{one_line(name, _MAX_NAME)}: {one_line(value, 40)}" for name, value in others.items())
    return one_line(", ".join(texts), _MAX_OTHERS)
