"""Propose-test-release of the mean, with exact arithmetic and a test that errs with probability at most delta.

The analyst proposes a bound on the local sensitivity. The number of people that would have to be removed before the
local sensitivity exceeds it moves by at most one between neighbours, so it is tested with noise; only if the noisy
distance reaches a threshold is the mean released, with noise scaled to the bound. We differ from the textbook in three
places: the threshold comes from the tail of the noise that is drawn, the test and the release spend half of epsilon
each, and removing a person counts as well as adding one.
Source: Dwork and Lei 2009 (the framework); Near and Abuah, section 8.3 (for the mean).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mechanisms.laplace.exact import noisy_integer
from mechanisms.laplace.exact_fast import noisy_integers
from mechanisms.local_sensitivity.constants import failure_probability, tail_threshold
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.mean.exact import rounded_mean
from mechanisms.parameters import positive_rational
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class PtrMean:
    """Tests a database's distance from those too sensitive for the bound, and releases its mean if it is far enough.

    The mean and the bound on its local sensitivity are counted in grid steps, distance and threshold in people.
    """

    distance: int
    threshold: int
    mean: int
    bound: int
    domain: Domain
    epsilon: Fraction

    def one(self, bits: RandomBits) -> float | None:
        """Release one answer, with (ε, δ)-DP; None where the test refuses."""
        if noisy_integer(self.distance, self._test_scale, bits) < self.threshold:
            return None
        return self.domain.value(noisy_integer(self.mean, self._release_scale, bits))

    def many(self, trials: int, bits: RandomBits) -> list[float | None]:
        """Release `trials` independent answers, with (ε, δ)-DP each; None where the test refuses."""
        passed = noisy_integers(self.distance, self._test_scale, trials, bits) >= self.threshold
        passing: Any = np.count_nonzero(passed)
        answers = noisy_integers(self.mean, self._release_scale, passing, bits)
        released: Any = np.full_like(passed, None, dtype=object)
        released[passed] = self.domain.values(answers)
        refusals_and_answers: list[float | None] = released.tolist()
        return refusals_and_answers

    @property
    def _test_scale(self) -> Fraction:
        return 2 / self.epsilon

    @property
    def _release_scale(self) -> Fraction:
        return 2 * self.bound / self.epsilon


def prepare_ptr_mean(
    records: PrivateNumbers,
    *,
    domain: Domain,
    bound: float | Fraction,
    epsilon: float | Fraction,
    delta: float | Fraction,
) -> PtrMean:
    """Do the part of `exact_ptr_mean` that needs no randomness.

    Args:
        records: one value a person, shape (n,).
        domain: the public grid points that records and the answer are rounded to.
        bound: the proposed bound on the local sensitivity, less than the whole range; it is rounded down to the grid.
        epsilon: the privacy loss of one release, refusal included, under addition or removal of a person.
        delta: the failure probability, at most 1/2.

    Returns:
        An object that releases one answer, or many, from random bits.

    Raises:
        ValueError: `records` is not one-dimensional, or a parameter is outside its range.
    """
    loss = domain.privacy_loss(epsilon)
    threshold = tail_threshold(loss / 2, failure_probability(delta))
    bound_steps = math.floor(positive_rational("bound", bound) / domain.grid.step)
    if not 0 < bound_steps < domain.width:
        raise ValueError(f"bound must be at least {domain.grid.step} and less than upper − lower, not {bound}")
    total, count = domain.total_and_count(records)
    fewest_within_bound = -(-domain.width // bound_steps)
    distance = max(0, count - fewest_within_bound + 1)
    return PtrMean(distance, threshold, rounded_mean(total, count, domain), bound_steps, domain, loss)


def exact_ptr_mean(
    records: PrivateNumbers,
    bits: RandomBits,
    *,
    domain: Domain,
    bound: float | Fraction,
    epsilon: float | Fraction,
    delta: float | Fraction,
) -> float | None:
    """Propose-test-release a mean, (epsilon, delta)-DP; arguments and errors as in `prepare_ptr_mean`."""
    return prepare_ptr_mean(records, domain=domain, bound=bound, epsilon=epsilon, delta=delta).one(bits)
