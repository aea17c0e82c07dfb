"""A lower bound on ε from the counts of one event, by the ratio of its two probabilities alone.

Bounds on P[E] and on Q[E] that hold together give one on their ratio, but a loose one: both must be at their worst at
once. If a fair coin decided in each trial which of the two inputs to run, an output in E would come from the first with
probability P[E]/(P[E] + Q[E]). Given how many outputs lie in E, the number of those from the first is then binomial, so
Clopper and Pearson's bound on that share bounds the ratio, and neither probability has to be known.

In a sample there are as many outputs of either input. So coins are tossed afterwards, a few less than there are
outputs, and as many outputs of either input as they ask for are kept, picked at random. Of an event, that picks a
hypergeometric number. Should they ask for more than there are, which has a probability of 2·10^−9, the bound is 0.

Where both probabilities are near 1, two separate bounds are closer. Which of the two is used, in which direction, and
for the event or its complement, has to be said before the counts are seen: each is valid at α only by itself.

Source: Clopper and Pearson 1934, and the conditional test of Przyborowski and Wilenski 1940 for the ratio of two rates.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
import scipy

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.model.findings import Counts

SPREAD = 6.0
"""By how many standard deviations of the tosses' outcome they are fewer than the outputs."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One way of reading a bound off counts.

    Attributes:
        tossed: whether it is that of the coins; if not, it is that of two separate bounds.
        of_second: whether the second input is the one that shows the event more often.
        complement: whether it is the complement of the event that is counted.
    """

    tossed: bool
    of_second: bool
    complement: bool

    def epsilon(self, counts: Counts, delta: float, alpha: float, rng: np.random.Generator) -> float:
        """A lower bound on ε at a δ, wrong with probability at most α; never negative.

        Args:
            counts: of the event.
            delta: in [0, 1); 0 if coins are tossed.
            alpha: in (0, 1).
            rng: tosses the coins and picks the outputs.

        Raises:
            ValueError: coins are tossed for a δ above 0, or an argument is out of range.
        """
        more, less = (counts.trials - hits if self.complement else hits for hits in (counts.first, counts.second))
        if self.of_second:
            more, less = less, more
        if not self.tossed:
            return max(0.0, _of_two_bounds(more, less, counts.trials, delta, alpha))
        if delta:
            raise ValueError(f"no coin is tossed for a delta above 0, but it is {delta}")
        return max(0.0, _of_share(*_asked_for(more, less, counts.trials, rng), alpha))


def readings(delta: float) -> list[Reading]:
    """Every way of reading a bound at that δ."""
    ways = ((True, False) if delta == 0 else (False,), (False, True), (False, True))
    return [Reading(*way) for way in itertools.product(*ways)]


def _asked_for(more: int, less: int, trials: int, rng: np.random.Generator) -> tuple[int, int]:
    """The hits among the outputs that fair coins ask for; none if they ask for too many."""
    tosses = 2 * trials - math.ceil(SPREAD * math.sqrt(2 * trials))
    if tosses < 1:
        return 0, 0
    heads = int(rng.binomial(tosses, 0.5))
    if max(heads, tosses - heads) > trials:
        return 0, 0
    picked = (rng.hypergeometric(hits, trials - hits, of) for hits, of in ((more, heads), (less, tosses - heads)))
    first, second = picked
    return int(first), int(second)


def _of_share(more: int, less: int, alpha: float) -> float:
    """ln(P/Q) at the lower bound on P/(P + Q)."""
    if more == 0:
        return 0.0
    share = np.nan_to_num(scipy.special.betaincinv(more, less + 1, alpha))  # NaN for an α below 10^−100
    return float(scipy.special.logit(share))


def _of_two_bounds(more: int, less: int, trials: int, delta: float, alpha: float) -> float:
    """ln((P − δ)/Q) at the lower bound on P and the upper one on Q, each wrong with probability α/2."""
    lower, _ = clopper_pearson(more, trials, alpha)
    _, upper = clopper_pearson(less, trials, alpha)
    if lower <= delta:
        return 0.0
    return math.log((lower - delta) / upper) if upper > 0 else math.inf
