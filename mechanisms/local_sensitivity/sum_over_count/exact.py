"""The mean as a noisy sum over a noisy count, with epsilon split between the two.

The naive twin spends all of epsilon on each; here each gets half. Records are clipped on both sides and counted from
the lower end, so one person moves the sum by at most the width of the range. Source: Near and Abuah, section 8.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact import noisy_integer
from mechanisms.laplace.exact_fast import noisy_integers
from mechanisms.local_sensitivity.domain import Domain, nearest_integer
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class SumOverCount:
    """Releases the mean of records from their sum, in grid steps above `lower`, and their number."""

    total: int
    count: int
    domain: Domain
    epsilon: Fraction

    def one(self, bits: RandomBits) -> float:
        """Release one answer, with ε-DP."""
        noisy_total, noisy_count = self.noisy_sum_and_count(bits)
        return self.domain.value(min(max(nearest_integer(noisy_total, max(noisy_count, 1)), 0), self.domain.width))

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Release `trials` independent answers, shape (trials,), with ε-DP each."""
        noisy_totals = noisy_integers(self.total, self._total_scale, trials, bits)
        noisy_counts = noisy_integers(self.count, self._count_scale, trials, bits)
        means = nearest_integer(noisy_totals, np.maximum(noisy_counts, 1))
        return self.domain.values(np.clip(means, 0, self.domain.width))

    def noisy_sum_and_count(self, bits: RandomBits) -> tuple[int, int]:
        """Release the sum, in grid steps above `lower`, and the count, with ε/2-DP each."""
        noisy_total = noisy_integer(self.total, self._total_scale, bits)
        return noisy_total, noisy_integer(self.count, self._count_scale, bits)

    @property
    def _total_scale(self) -> Fraction:
        return 2 * self.domain.width / self.epsilon

    @property
    def _count_scale(self) -> Fraction:
        return 2 / self.epsilon


def prepare_sum_over_count(records: PrivateNumbers, *, domain: Domain, epsilon: float | Fraction) -> SumOverCount:
    """Do the part of `exact_sum_over_count` that needs no randomness.

    Args:
        records: one value a person, shape (n,).
        domain: the public grid points that records are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person.

    Returns:
        An object that releases one answer, or many, from random bits.

    Raises:
        ValueError: `records` is not one-dimensional, or `epsilon` is out of its range; see `Domain.privacy_loss`.
    """
    loss = domain.privacy_loss(epsilon)
    total, count = domain.total_and_count(records)
    return SumOverCount(total, count, domain, loss)


def exact_sum_over_count(
    records: PrivateNumbers, bits: RandomBits, *, domain: Domain, epsilon: float | Fraction
) -> float:
    """Release a mean by noisy sum and noisy count, epsilon-DP; arguments and errors as in `prepare_sum_over_count`."""
    return prepare_sum_over_count(records, domain=domain, epsilon=epsilon).one(bits)
