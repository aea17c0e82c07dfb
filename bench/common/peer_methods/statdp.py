"""StatDP: events on simple statistics of an output, and a test of each claim by thinning its counts.

A claim ε is tested by keeping each output of the first input that is in the event with probability e^−ε; if the claim
holds, the kept ones are no more than the second input's hits, and Fisher's exact test says how likely more would be.
The learning outputs choose the event; the bound is the largest ε that the test rejects on the judging outputs.

The statistics are the paper's for vectors: each number, sum, largest, least, and how many equal a value. Intervals are
half-lines at quantiles and likely values, chosen by a normal approximation. One uniform number thins for every ε.

Source: Ding, Wang, Wang, Zhang and Kifer 2018, 'Detecting Violations of Differential Privacy', sections 4 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy

from attacklab.model.floats import Doubles
from attacklab.model.targets import Outputs
from bench.common.peer_methods.outputs import Drawn

QUANTILES = np.arange(1, 20) / 20
LIKELY_VALUES = 8
LEAST_SHARE = 0.001
"""Events that hold fewer of the outputs of both inputs are not looked at, as in the paper."""

CHOSEN_ON = 1 << 18
"""At most so many learning outputs of either input choose the event; the paper takes 100,000."""
STEPS = 30
"""How often the interval of the bound is halved."""

LARGEST = 20.0

Statistic = Callable[[Outputs], Doubles]


@dataclass(frozen=True, slots=True)
class _Choice:
    statistic: Statistic
    low: float
    high: float
    of_second: bool

    def hits(self, outputs: Outputs) -> int:
        values = self.statistic(outputs)
        return int(np.count_nonzero((values >= self.low) & (values <= self.high)))


def statdp(drawn: Drawn, alpha: float, rng: np.random.Generator) -> float:
    """A lower bound on ε.

    Args:
        drawn: the outputs.
        alpha: the probability that the bound is too large.
        rng: thins the counts.
    """
    learning = [side[:CHOSEN_ON] for side in drawn.learning]
    choices = (choice for statistic in _statistics(learning[0]) for choice in _of(statistic, learning, alpha))
    shown, chosen = max(choices, key=lambda choice: choice[0], default=(-math.inf, None))
    if chosen is None or shown == -math.inf:
        return 0.0
    more, less = (chosen.hits(side) for side in (drawn.judging[::-1] if chosen.of_second else drawn.judging))
    return _rejected(more, less, len(drawn.judging[0]), alpha, float(rng.random()))


def _rejected(more: int, less: int, trials: int, alpha: float, uniform: float) -> float:
    """The largest ε that is rejected."""
    low, high = 0.0, LARGEST
    for _ in range(STEPS):
        middle = (low + high) / 2
        kept = int(scipy.stats.binom.ppf(uniform, more, math.exp(-middle)))
        rejects = scipy.stats.hypergeom.sf(kept - 1, 2 * trials, kept + less, trials) < alpha
        low, high = (middle, high) if rejects else (low, middle)
    return low


def _statistics(outputs: Outputs) -> Iterator[Statistic]:
    size = outputs.reshape(len(outputs), -1).shape[1]
    for place in range(size):
        yield partial(_number, place=place)
    if size == 1:
        return
    yield lambda outputs: outputs.sum(axis=1).astype(np.float64)
    yield lambda outputs: outputs.max(axis=1).astype(np.float64)
    yield lambda outputs: outputs.min(axis=1).astype(np.float64)
    values, counts = np.unique(outputs, return_counts=True)
    for value in values[np.argsort(-counts, kind="stable")[:LIKELY_VALUES]]:
        yield partial(_how_many, value=value)


def _number(outputs: Outputs, *, place: int) -> Doubles:
    return outputs.reshape(len(outputs), -1)[:, place].astype(np.float64)


def _how_many(outputs: Outputs, *, value: float) -> Doubles:
    return np.asarray((outputs == value).sum(axis=1), dtype=np.float64)


def _of(statistic: Statistic, learning: Sequence[Outputs], alpha: float) -> Iterator[tuple[float, _Choice]]:
    """The best event of a statistic in either direction, with the ε that the learning outputs seem to reject."""
    first, second = (np.sort(statistic(side)) for side in learning)
    pooled = np.concatenate([first, second])
    values, counts = np.unique(pooled, return_counts=True)
    ends = values[:-1] if len(values) <= len(QUANTILES) else np.unique(np.quantile(pooled, QUANTILES, method="lower"))
    likely = values[np.argsort(-counts, kind="stable")[:LIKELY_VALUES]]
    lows = np.concatenate([np.full(len(ends), -math.inf), np.nextafter(ends, math.inf), likely])
    highs = np.concatenate([ends, np.full(len(ends), math.inf), likely])
    hits = [np.searchsorted(side, highs, "right") - np.searchsorted(side, lows, "left") for side in (first, second)]
    enough = hits[0] + hits[1] >= LEAST_SHARE * len(pooled)
    doubt = -scipy.special.ndtri(alpha)
    for of_second in (False, True):
        more, less = ((side + 0.5) for side in (hits[::-1] if of_second else hits))
        shown = np.where(enough, np.log(more / less) - doubt * np.sqrt(1 / more + 1 / less), -math.inf)
        best = int(np.argmax(shown))
        yield float(shown[best]), _Choice(statistic, float(lows[best]), float(highs[best]), of_second)
