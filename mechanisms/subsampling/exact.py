"""Noisy counts of a secret sample, and shuffled answers, exactly; a record of at least 1 counts as yes."""

from __future__ import annotations

from fractions import Fraction

from mechanisms.core.flip import ShuffledResponse
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, count, positive, rational
from mechanisms.core.records import CountFrom
from mechanisms.core.sample import FixedSample, PoissonSample, spent_on_sample


def exact_poisson_count(*, epsilon: Number, rate: Number) -> PoissonSample:
    """Return a mechanism that releases a noisy count of the yeses in a Poisson sample of the records: ε-DP."""
    share = rational("rate", rate)
    spent = spent_on_sample(positive("epsilon", epsilon), share)
    return PoissonSample(noisy(CountFrom(), DiscreteLaplace, spent), share)


def exact_sampled_count(*, epsilon: Number, size: int, records: int) -> FixedSample:
    """Return a mechanism that counts, with noise, the yeses in a sample of a given size, without replacement: ε-DP."""
    share = Fraction(count("size", size), count("records", records))
    spent = spent_on_sample(positive("epsilon", epsilon), share)
    return FixedSample(noisy(CountFrom(relation="substitute"), DiscreteLaplace, spent), size, records)


def exact_shuffled_response(*, flip: Number, people: int, epsilon: Number) -> ShuffledResponse:
    """Return a mechanism that flips answers with probability `flip` and shuffles them: (ε, δ)-DP, δ computed from ε."""
    return ShuffledResponse(rational("flip", flip), people, positive("epsilon", epsilon))
