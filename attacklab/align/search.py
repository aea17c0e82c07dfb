"""Searches for more pairs: Hypothesis looks for pairs with higher costs, and shrinks a pair that costs too much."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np

from attacklab.align.examine import Examined, Status
from attacklab.align.pairs import is_numeric
from attacklab.model.neighbours import NeighbouringPair, as_array
from attacklab.model.targets import Target

LONGEST = 12
"""Number of records in the longest dataset that is searched."""


class _TooDearError(Exception):
    """Raised if a pair costs more than is claimed, so that Hypothesis looks for a smaller one."""


def searched(
    target: Target,
    template: NeighbouringPair,
    examined: Callable[[NeighbouringPair], Examined],
    most: int,
    spent: Callable[[], object],
) -> NeighbouringPair | None:
    """Return the smallest pair of vectors or matrices found to cost more than is claimed; None if there is none.

    Args:
        target: the target to examine; the numbers lie within its bounds, or within the bounds of its domain.
        template: a pair of the form that is searched.
        examined: examines a pair.
        most: the most pairs to examine.
        spent: returns something true once no more pairs are to be examined.
    """
    bounds = target.bounds or (target.domain.bounds if target.domain is not None else None)
    if bounds is None or not is_numeric(template):
        return None
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import target as towards
        from hypothesis.errors import HypothesisException
    except ImportError:
        return None
    found: list[NeighbouringPair] = []

    @settings(
        max_examples=most,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.target, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(_neighbours(template, *bounds))
    def tried(pair: NeighbouringPair) -> None:
        if spent() or not target.covers(pair):
            return
        made = examined(pair)
        if made.status > Status.OPEN or (made.status is Status.OPEN and made.cost is not None):
            found.append(pair)
            raise _TooDearError
        towards(0.0 if made.cost is None else made.cost.epsilon + made.cost.mu)

    with contextlib.suppress(_TooDearError, HypothesisException):  # which has no patience beyond the limits either
        tried()
    return found[-1] if found else None


def _neighbours(template: NeighbouringPair, lower: float, upper: float) -> Any:
    """Return Hypothesis's strategy for pairs like a template: records at eighths of their range, and one changed."""
    from hypothesis import strategies

    sample = as_array(template.first)
    eighths = strategies.integers(0, 8).map(lambda share: lower * (1 - share / 8) + upper * share / 8)
    number: Any = strategies.integers(int(lower), int(upper)) if sample.dtype.kind in "iu" else eighths
    record = strategies.tuples(*[number] * sample.shape[1]) if sample.ndim == 2 else number
    is_substitute = len(sample) == len(as_array(template.second))

    def pair(others: list[Any], record: Any, substitute: Any, place: int) -> NeighbouringPair:
        sides = [*others[:place], record, *others[place:]], [*others[:place], substitute, *others[place:]]
        first, second = sides if is_substitute else (sides[0], others)
        arrays = [np.array(rows, sample.dtype).reshape(-1, *sample.shape[1:]) for rows in (first, second)]
        return NeighbouringPair(arrays[0], arrays[1], template.relation)

    others = strategies.lists(record, max_size=LONGEST - 1)
    return strategies.builds(pair, others, record, record, strategies.integers(0, LONGEST - 1))
