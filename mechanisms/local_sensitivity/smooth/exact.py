"""The mean with noise scaled to its smooth sensitivity over every distance, in integers.

S(n) = max over k ≤ n of ρ^−k·L(n − k), with L the local sensitivity (`mean.exact.local_sensitivity`, which grows as
people leave) and ρ = 1 + 1/J ≤ e^β, is the recursion S(0) = L(0), S(n) = max(L(n), S(n − 1)/ρ). We count S in units of
1/J of a grid step and round S(n − 1)/ρ up; S stays an integer, at least L, and never falls by more than the factor ρ
from one size to the next, so no real-number comparison is needed for the proof in README.md. Source: Nissim,
Raskhodnikova and Smith 2007, sections 2 and 3; Near and Abuah, section 8.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from mechanisms.laplace.exact import noisy_integer
from mechanisms.laplace.exact_fast import noisy_integers
from mechanisms.local_sensitivity.constants import failure_probability, smoothing_steps
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.mean.exact import local_sensitivity, rounded_mean
from mechanisms.private_numbers import PrivateNumbers
from mechanisms.randomness import RandomBits


def smooth_sensitivity(count: int, width: int, smoothing: int) -> Fraction:
    """Return a smooth bound on the local sensitivity of the rounded mean.

    Args:
        count: the number of records.
        width: the number of steps between the least and the largest value of a record.
        smoothing: the integer J; neighbours' bounds differ by a factor of at most 1 + 1/J.

    Returns:
        The bound, in grid steps.
    """
    first = smoothing * local_sensitivity(0, width)
    following = partial(smoothed, width=width, smoothing=smoothing)
    return Fraction(reduce(following, range(1, count + 1), first), smoothing)


def smoothed(bound: int, size: int, width: int, smoothing: int) -> int:
    """Return the smooth bound at a size, from the one at the size before it, both in units of 1/`smoothing` steps."""
    return max(smoothing * local_sensitivity(size, width), bound - bound // (smoothing + 1))


@dataclass(frozen=True)
class SmoothMean:
    """Releases a rounded mean with noise of the scale that its smooth sensitivity asks for, in grid steps."""

    mean: int
    noise_scale: Fraction
    domain: Domain

    def one(self, bits: RandomBits) -> float:
        """Release one answer, with (ε, δ)-DP."""
        return self.domain.value(noisy_integer(self.mean, self.noise_scale, bits))

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.float64]:
        """Release `trials` independent answers, shape (trials,), with (ε, δ)-DP each."""
        return self.domain.values(noisy_integers(self.mean, self.noise_scale, trials, bits))


def prepare_smooth_mean(
    records: PrivateNumbers,
    *,
    domain: Domain,
    epsilon: float | Fraction,
    delta: float | Fraction,
) -> SmoothMean:
    """Do the part of `exact_smooth_mean` that needs no randomness.

    Args:
        records: one value a person, shape (n,).
        domain: the public grid points that records and the answer are rounded to.
        epsilon: the privacy loss of one release, under addition or removal of a person.
        delta: the failure probability, at most 1/2.

    Returns:
        An object that releases one answer, or many, from random bits.

    Raises:
        ValueError: `records` is not one-dimensional, or a parameter is outside its range.
    """
    loss = domain.privacy_loss(epsilon)
    smoothing = smoothing_steps(loss, failure_probability(delta))
    total, count = domain.total_and_count(records)
    noise_scale = 2 * smooth_sensitivity(count, domain.width, smoothing) / loss
    return SmoothMean(rounded_mean(total, count, domain), noise_scale, domain)


def exact_smooth_mean(
    records: PrivateNumbers,
    bits: RandomBits,
    *,
    domain: Domain,
    epsilon: float | Fraction,
    delta: float | Fraction,
) -> float:
    """Release a mean by smooth sensitivity, (epsilon, delta)-DP; arguments and errors as in `prepare_smooth_mean`."""
    return prepare_smooth_mean(records, domain=domain, epsilon=epsilon, delta=delta).one(bits)
