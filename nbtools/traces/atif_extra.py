"""Fields stored under ``nbtools`` in an ATIF ``extra`` object, for what ATIF itself has no field for.

``export.atif`` writes them, ``readers.atif`` reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import msgspec
from msgspec import Struct

from nbtools.core.decoders import converted
from nbtools.traces.json_access import mapping
from nbtools.traces.model import Op, Status, StatusSource

KEY = "nbtools"
T = TypeVar("T")


class ChangeExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a ``FileChange``, without session and call."""

    path: str
    kind: Literal["add", "modify", "delete", "rename", "unknown"] = "unknown"
    added: int | None = None
    removed: int | None = None
    basis: Literal["recorded_patch", "recorded_texts", "arguments", "none"] = "none"
    applied: bool = True


class LabelExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A label of a trajectory, step or tool call; the names are those of a review's ``Label``.

    ``range``: it is about the rows from here to the one whose ``label_ends`` name its id. ``reasoning``: of a
    step that has a message and reasoning, it is about the reasoning.
    """

    id: str
    kind: Literal["note", "label", "verdict", "code"]
    value: str
    reviewer: str
    at: float
    about: str = ""
    span: str = ""
    range: bool = False
    reasoning: bool = False


class LabelEnd(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last step or tool call of the range that the label ``id`` is about."""

    id: str
    reasoning: bool = False


class CallExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a ``Call`` that are stored in the ``extra`` of its tool call.
    Names, units and meanings are those of ``model.Call``.
    """

    op: Op | None = None
    native_id: str = ""
    level: Literal["model", "nested"] = "model"
    by_sub_agent: bool = False
    parent: str = ""
    subject: str = ""
    paths: tuple[str, ...] = ()
    started: float | None = None
    ended: float | None = None
    duration: float | None = None
    status: Status | None = None
    status_source: StatusSource = "none"
    exit_code: int | None = None
    permission: str = ""
    child: str = ""
    cwd: str = ""
    live: bool = True
    changes: tuple[ChangeExtra, ...] = ()
    labels: tuple[LabelExtra, ...] = ()
    label_ends: tuple[LabelEnd, ...] = ()


class ResultExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields stored in the ``extra`` of a result.

    ``display`` is what was displayed, as written by ``display_json.display_to_json``.
    ``plain`` is True where the text that the model read was displayed.
    """

    display: Any = None
    plain: bool = False


class SessionExtra(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a ``Session`` that are stored in the ``extra`` of a trajectory.

    ``format`` is the format of the log that it was read from.
    """

    format: str = ""
    parent: str = ""
    parent_call: str = ""
    title: str = ""
    cwd: str = ""
    repository: str = ""
    branch: str = ""
    commit: str = ""
    flags: tuple[str, ...] = ()


def extra_of(owner: Mapping[str, Any], kind: type[T]) -> T:
    """Returns our fields from the ``extra`` of ``owner``.

    Returns the defaults of ``kind`` where there are none, or another program wrote something else there.
    """
    try:
        return converted(mapping(owner.get("extra")).get(KEY) or {}, kind)
    except msgspec.ValidationError:
        return kind()
