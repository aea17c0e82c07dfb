"""Local sensitivity: noise scaled to the dataset tells the size of the dataset.

A mean of n records in [l, u] with noise scaled to its local sensitivity (u − l)/(n + 1) gives n away: a few answers are
enough to estimate the scale of the noise, and n follows from it. The pair is the worst one: n records at the lower
bound against n + 1 of them. Their means are equal, so only the scale differs.

The adversary knows ε, the bounds and the two datasets. It bets on the n that it reads off the answers.

A negative result does not rule out that n can be read off more answers. For few records one answer is enough: scales
that differ by a factor move tail probabilities without limit. For many records the ratio of the scales is near 1, and
few answers do not tell.

Source: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', section 1;
Near and Abuah, 'Programming Differential Privacy', chapter 8.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attacklab.auditing.attacks.base import Event, OfKinds, Probe, Scenario, as_floats, bounds_of, of_present
from attacklab.auditing.attacks.common.failures import despite_failures
from attacklab.model.neighbours import NeighbouringPair, Relation
from attacklab.model.targets import Kind, Outputs, Target

TAIL_FACTORS = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0)
"""How many times the scale half way between the two candidates' the estimate must exceed; the choosing sample picks
one.
"""


@dataclass(frozen=True)
class LocalSensitivity(OfKinds, kinds={Kind.MEAN}):
    """The attack.

    Attributes:
        sizes: the numbers n of records that are tried.
        answers: the numbers of answers from which n is estimated.
    """

    sizes: tuple[int, ...] = (1, 256)
    answers: tuple[int, ...] = (1, 8)
    name: str = "local_sensitivity"
    flaw: str = "noise scaled to the local sensitivity tells the number of records"

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        """Every size at which the target answers, with every number of answers."""
        for size in self.sizes:
            yield from despite_failures([self.scenario(target, size, answers) for answers in self.answers], probe)

    @staticmethod
    def scenario(target: Target, size: int, answers: int) -> Scenario:
        """The pair of `size` records against one more, with the bets on what `answers` answers reveal."""
        lower, upper = bounds_of(target)
        epsilon = target.claim.nominal.epsilon
        between = (upper - lower) / (epsilon * (size + 1.5))

        def event(threshold: float) -> Event:
            def contains(outputs: Outputs) -> NDArray[np.bool_]:
                return estimated_scale(as_floats(outputs), lower) > threshold

            words = f"the mean |y − f(D)| of {answers} answers exceeds {threshold:.4g}: n seems to be {size}"
            return Event(words, contains, _source(lower, threshold, answers))

        pair = NeighbouringPair.records(np.full(size, lower), np.full(size + 1, lower), Relation.ADD_REMOVE)
        return Scenario(pair, tuple(event(factor * between) for factor in TAIL_FACTORS), answers)


def _source(mean: float, threshold: float, answers: int) -> str:
    if answers == 1:
        return of_present(f"abs(float(output) - {mean!r}) > {threshold!r}")
    return f"return bool(np.mean(np.abs(np.asarray(output, dtype=float) - {mean!r})) > {threshold!r})"


def estimated_scale(answers: NDArray[np.float64], mean: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Estimate the scale of Laplace noise as its mean absolute deviation.

    Args:
        answers: answers to one query: several in each row, shape (…, m), or single ones, shape (n,).
        mean: the true answer, or a guess at it; its shape broadcasts to that of `answers`.

    Returns:
        One estimate for each row; NaN for a row with a failure in it.
    """
    deviations = np.abs(answers - mean)
    return deviations.mean(axis=-1) if deviations.ndim > 1 else deviations


def size_of_scale(scale: ArrayLike, lower: float, upper: float, epsilon: float) -> NDArray[np.float64]:
    """The number of records n for which the noise on their mean has the scale (u − l)/((n + 1)·ε)."""
    with np.errstate(divide="ignore"):
        return np.asarray((upper - lower) / (epsilon * np.asarray(scale)) - 1)
