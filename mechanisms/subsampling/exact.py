"""Noisy counts of a secret sample, and shuffled answers, exactly; records count as yes from 1 on.

Sources: Balle, Barthe and Gaboardi 2018, 'Privacy Amplification by Subsampling: Tight Analyses via Couplings and
Divergences', theorems 8 and 9; Cheu, Smith, Ullman, Zeber and Zhilyaev 2019, 'Distributed Differential Privacy via
Shuffling'.
"""

from __future__ import annotations

from fractions import Fraction

from mechanisms.core.flip import ShuffledResponse
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noisy import noisy
from mechanisms.core.numbers import Number, count, positive, rational
from mechanisms.core.records import CountFrom
from mechanisms.core.sample import FixedSample, PoissonSample, spent_on_sample


def exact_poisson_count(*, epsilon: Number, rate: Number) -> PoissonSample:
    """Count the yeses among records of which each is in the sample with a given probability, with Laplace noise.

    Args:
        epsilon: what the release loses in all, above 0; a float stands for the rational that it is.
        rate: the probability with which each record is in the sample, above 0 and at most 1.

    Returns:
        A term whose data are the records. It releases an integer, as a double, and is ε-DP where a record is added or
        removed.
    """
    share = rational("rate", rate)
    spent = spent_on_sample(positive("epsilon", epsilon), share)
    return PoissonSample(noisy(CountFrom(), DiscreteLaplace, spent), share)


def exact_sampled_count(*, epsilon: Number, size: int, records: int) -> FixedSample:
    """Count the yeses in a sample of a given size, drawn without replacement, with Laplace noise.

    Args:
        epsilon: what the release loses in all, above 0; a float stands for the rational that it is.
        size: how many records are in the sample, at least 1.
        records: how many records there are, a public number.

    Returns:
        A term whose data are the records. It releases an integer, as a double, and is ε-DP where a record is replaced.
    """
    share = Fraction(count("size", size), count("records", records))
    spent = spent_on_sample(positive("epsilon", epsilon), share)
    return FixedSample(noisy(CountFrom(relation="substitute"), DiscreteLaplace, spent), size, records)


def exact_shuffled_response(*, flip: Number, people: int, epsilon: Number) -> ShuffledResponse:
    """Turn each answer round with a given probability, then put all of them into uniformly random order.

    Args:
        flip: the probability with which an answer is turned round, above 0 and at most ½.
        people: how many answers there are, a public number.
        epsilon: the ε at which δ is stated.

    Returns:
        A term whose data are the answers. It releases them as 0 and 1, and is (ε, δ)-DP where one is replaced.
    """
    return ShuffledResponse(rational("flip", flip), people, positive("epsilon", epsilon))
