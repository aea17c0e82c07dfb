"""Pairs that nobody named: Hypothesis changes those that were tried, towards larger losses and other paths."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from attacklab.model.neighbours import NeighbouringPair, as_array
from attacklab.replay.laws import near
from attacklab.replay.pairs import is_vector

if TYPE_CHECKING:
    from attacklab.replay.program import Study


def searched(study: Study, most: int) -> None:
    """Examine pairs of vectors within the target's bounds, as far as time and number allow."""
    try:
        from hypothesis import HealthCheck, Phase, given, settings, strategies, target
        from hypothesis.errors import HypothesisException
    except ImportError:
        return
    bounds = study.target.bounds or (study.target.domain.bounds if study.target.domain is not None else None)
    if bounds is None or study.template is None or not is_vector(study.template):
        return
    lower, upper = bounds
    sample = as_array(study.template.first)
    whole = sample.dtype.kind in "iu"
    number = strategies.integers(int(lower), int(upper)) if whole else strategies.floats(lower, upper, allow_nan=False)
    same_length = len(sample) == len(as_array(study.template.second))

    @settings(
        max_examples=max(1, min(most, 100)),
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.target),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies.lists(number, min_size=1, max_size=24), number, strategies.integers(0, 23))
    def tried(records: list[float], other: float, place: int) -> None:
        study.cut = study.cut or time.monotonic() > study.until
        if study.cut or study.refuted:
            return
        at = place % len(records)
        changed = [*records[:at], other, *records[at + 1 :]] if same_length else [*records[:at], *records[at + 1 :]]
        if changed == records:
            return
        first, second = np.array(records, dtype=sample.dtype), np.array(changed, dtype=sample.dtype)
        pair = NeighbouringPair(first, second, study.template.relation if study.template else None)
        if study.target.covers(pair):
            target(min(1e9, near(study.examined(pair).loss)))

    try:
        tried()
    except HypothesisException:
        return
