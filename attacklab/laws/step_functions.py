"""Laws of step functions: naive mechanisms that are step functions of one uniform number.

`numpy.random.Generator.random`, Python's `random.random` and similar functions give k·2^−53 with k uniform in [0,
2^53). A mechanism that draws one such number is a function of k. If it is a step function, so that each outcome is
reached on one interval of k, as in selection by cumulative weights, bisection finds the ends of the intervals and the
law is exact: counts of k over 2^53. That shows what no sample can, such as an outcome that no k reaches.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from attacklab.draws.errors import LawError, NotDeterministic
from attacklab.laws.law import Law
from attacklab.laws.outcomes import tag

#: One outcome for each input: an array, or a list if outcomes are not numbers.
Outcomes = NDArray[Any] | list[Any]

_BITS = 53

#: How many evenly spaced points are tried first, and how many points inside the intervals are checked at the end.
_TRIED = 1 << 12
_CHECKED = 1 << 14


class NotMonotone(LawError):
    """A mechanism is not the step function it was taken for: an outcome is reached on more than one interval."""


def step_law(outcome: Callable[[NDArray[np.float64]], Outcomes]) -> Law:
    """Find the law of a mechanism that is a step function of one uniform number.

    Between two points with the same outcome, the function is taken to be constant. That is checked, not proved: an
    outcome found on two intervals contradicts it, and so does another outcome at one of 16 384 points inside the
    intervals. It holds if the mechanism compares the number with an increasing sequence.

    Args:
        outcome: the mechanism: takes uniform numbers k·2^−53, shape (n,), and returns n outcomes, as an array of
            numbers or a list. See `one_uniform`.

    Returns:
        The law, closed, in multiples of 2^−53.

    Raises:
        NotMonotone: the function is not constant between two points with the same outcome.
        NotDeterministic: the mechanism gave another outcome for the same number.
        LawError: the mechanism did not return one outcome for each number.
    """
    size = 1 << _BITS
    known: dict[Hashable, tuple[int, Any]] = {}

    def labels_at(points: NDArray[np.int64]) -> NDArray[np.int64]:
        outcomes = outcome(np.ldexp(points.astype(np.float64), -_BITS))
        if len(outcomes) != len(points):
            raise LawError(f"the mechanism must return {len(points)} outcomes, not {len(outcomes)}")
        listed = outcomes.tolist() if isinstance(outcomes, np.ndarray) else outcomes
        return np.array([known.setdefault(tag(one), (len(known), one))[0] for one in listed], dtype=np.int64)

    points = np.append(np.arange(0, size, size // _TRIED, dtype=np.int64), size - 1)
    labels = labels_at(points)
    while (gaps := np.flatnonzero((labels[1:] != labels[:-1]) & (np.diff(points) > 1))).size:
        middles = (points[gaps] + points[gaps + 1]) // 2
        points, labels = np.insert(points, gaps + 1, middles), np.insert(labels, gaps + 1, labels_at(middles))
        changes = labels[1:] != labels[:-1]
        at_change = np.append(True, changes) | np.append(changes, True)
        points, labels = points[at_change], labels[at_change]
    if np.any(labels_at(points) != labels):
        raise NotDeterministic(
            "the mechanism gave another outcome for the same uniform number; let it draw from `rng` alone"
        )
    is_start = np.append(True, labels[1:] != labels[:-1])
    starts, reached = points[is_start], labels[is_start]
    if np.unique(reached).size < reached.size:
        raise NotMonotone("not a step function: an outcome is reached on more than one interval of the uniform number")
    inside = np.random.default_rng(0).integers(0, size, _CHECKED)
    if np.any(labels_at(inside) != reached[np.searchsorted(starts, inside, side="right") - 1]):
        raise NotMonotone(
            "not a step function: the outcome changes and changes back within an interval of the uniform number"
        )
    outcomes = [value for _, value in known.values()]
    counts = np.diff(np.append(starts, size))
    return Law((outcomes[label], mpq(int(count), size)) for label, count in zip(reached, counts, strict=True))


def one_uniform(release: Callable[..., Outcomes], data: Any, **parameters: Any) -> Callable[[NDArray[Any]], Outcomes]:
    """Return `release(data, trials, rng, **parameters)` as a function of an array with one uniform number a trial.

    The function raises a `LawError` if the mechanism draws anything but `rng.random(trials)`, once.
    """
    return lambda uniforms: release(data, len(uniforms), _Given(uniforms), **parameters)


class _Given:
    """Stands for a `numpy.random.Generator` whose next numbers are known."""

    def __init__(self, uniforms: NDArray[np.float64]) -> None:
        self._uniforms: NDArray[np.float64] | None = uniforms

    def random(self, size: int) -> NDArray[np.float64]:
        uniforms, self._uniforms = self._uniforms, None
        if uniforms is None or size != len(uniforms):
            raise LawError("the mechanism must draw one uniform number for each trial, by one call of random(trials)")
        return uniforms

    def __getattr__(self, name: str) -> Any:
        raise LawError(f"the mechanism must draw by random(trials) alone, not by {name}")
