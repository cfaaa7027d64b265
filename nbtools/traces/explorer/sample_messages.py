"""Wire format of the samples of an evaluation, which a page gets once as columns."""

from __future__ import annotations

from pydantic import Field

from nbtools.cards.card_model import Wire
from nbtools.traces.columns import ColumnBlock


class TraceSampleParams(Wire):
    """A sample by its number in the order of the log, from 0."""

    explorer: str
    sample: int = Field(ge=0)


class TraceSamples(Wire):
    """The first of ``total`` samples, in the order of the log.

    The columns of ``block`` are ``id input target answer error`` (text, the beginnings), ``outcome limit``
    (word), ``epoch tokens scorer_tokens seconds`` (f64, NaN where they are not known), ``line`` (f64, the
    first line of the sample's session, NaN where it has none), and for each of the ``scorers`` by its number
    ``score0`` … (text) and ``value0`` … (f64): what to sort its scores by, NaN for those that are no numbers.
    """

    total: int
    scorers: tuple[str, ...]
    block: ColumnBlock
