"""Pairs that nobody named: Hypothesis changes what was tried, towards larger losses, and shrinks what refutes."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from attacklab.model.neighbours import NeighbouringPair, as_array
from attacklab.replay.laws import near
from attacklab.replay.pairs import is_numeric

if TYPE_CHECKING:
    from attacklab.replay.program import Study


MOST_SHRUNK = 200
"""After so many pairs that refute the claim, no smaller one is looked for."""


class _RefutedError(Exception):
    """A pair refutes the claim, so that Hypothesis looks for a smaller one."""


def searched(study: Study, most: int) -> None:
    """Examine pairs of vectors and matrices within the target's bounds, as far as time and number allow.

    Of those that refute the claim, the smallest is told.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings, strategies, target
        from hypothesis.errors import HypothesisException
    except ImportError:
        study.unsearched = "; no further ones were searched for, as Hypothesis is not installed"
        return
    bounds = study.target.bounds or (study.target.domain.bounds if study.target.domain is not None else None)
    if bounds is None or study.template is None or not is_numeric(study.template):
        return
    (lower, upper), template = bounds, study.template
    sample = as_array(template.first)
    whole = sample.dtype.kind in "iu"
    eighths = strategies.integers(0, 8).map(lambda share: lower * (1 - share / 8) + upper * share / 8)
    number = strategies.integers(int(lower), int(upper)) if whole else eighths | strategies.floats(lower, upper)
    record = strategies.tuples(*[number] * sample.shape[1]) if sample.ndim == 2 else number
    same_length = len(sample) == len(as_array(template.second))
    refuting: list[NeighbouringPair] = []

    @settings(
        max_examples=max(1, most),
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.lists(record, max_size=23), record, record, strategies.integers(0, 23))
    def tried(others: list[Any], one: Any, other: Any, place: int) -> None:
        study.cut = study.cut or time.monotonic() > study.until
        if study.cut or len(refuting) >= MOST_SHRUNK:
            return
        records = [*others[:place], one, *others[place:]]
        changed = [*others[:place], other, *others[place:]] if same_length else others
        first, second = (np.array(rows, sample.dtype).reshape(-1, *sample.shape[1:]) for rows in (records, changed))
        pair = NeighbouringPair(first, second, template.relation)
        if study.target.covers(pair):
            outcome = study.examined(pair)
            if outcome.is_refuted:
                refuting.append(pair)
                raise _RefutedError
            target(min(1e9, near(outcome.loss)))

    with contextlib.suppress(_RefutedError, HypothesisException):  # which has no patience beyond the limits either
        tried()
    if refuting:
        study.tell_by(min(refuting, key=lambda pair: (len(as_array(pair.first)), refuting[::-1].index(pair))))
