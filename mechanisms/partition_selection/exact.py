"""Histograms by threshold, exactly: discrete Laplace noise on each count, and an integer threshold that keeps δ.

Keys come in sorted order, so that the output is a function of which keys are named and of their noisy counts alone.
A key that nobody has is never named: nothing is drawn for it.

Sources: Korolova, Kenthapadi, Mishra and Ntoulas 2009, 'Releasing Search Queries and Clicks Privately'; Desfontaines,
Voss, Gipson and Mandayam 2022, 'Differentially Private Partition Selection', section 1 (the threshold). They take real
noise, and a threshold in real numbers; here both are integers, and δ holds exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from mechanisms.laplace.exact import INTEGER_LIMIT, noisy_integer
from mechanisms.laplace.exact_fast import discrete_laplace_many
from mechanisms.parameters import positive_rational
from mechanisms.partition_selection.tally import tally
from mechanisms.partition_selection.threshold import least_threshold
from mechanisms.randomness import RandomBits

Named = tuple[tuple[str, int], ...]
"""Keys in order, each with its noisy count."""


def exact_partition_selection(
    keys: Iterable[str], bits: RandomBits, *, epsilon: float | Fraction, delta: float | Fraction
) -> Named:
    """Name the keys whose noisy counts reach the threshold.

    Args:
        keys: the key of each person.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        delta: the probability with which the key of one person alone may be named, above 0 and below 1/2.

    Returns:
        The named keys and their noisy counts, with (ε, δ)-DP if neighbours differ by one person.

    Raises:
        TypeError: a key is not a string, by its type.
        ValueError: a public parameter is out of its range.
    """
    return by_threshold(keys, bits, epsilon=epsilon, threshold=least_threshold(epsilon, delta))


def exact_partition_selection_fast(
    keys: Iterable[str], trials: int, bits: RandomBits, *, epsilon: float | Fraction, delta: float | Fraction
) -> list[Named]:
    """Name keys many times; the law is that of `exact_partition_selection`.

    Args:
        keys: the key of each person.
        trials: how many times.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        delta: the probability with which the key of one person alone may be named, above 0 and below 1/2.

    Returns:
        One result a trial. No sum leaves 64 bits: counts are below 2^61 and |noise| ≤ 2^62.

    Raises:
        TypeError: a key is not a string, by its type.
        ValueError: a public parameter is out of its range; here ε must be at least 2^−46.
    """
    return by_threshold_fast(keys, trials, bits, epsilon=epsilon, threshold=least_threshold(epsilon, delta))


def by_threshold(keys: Iterable[str], bits: RandomBits, *, epsilon: float | Fraction, threshold: int) -> Named:
    """Name the keys whose noisy counts reach a given threshold; the rest as in `exact_partition_selection`."""
    scale, tallied = 1 / positive_rational("epsilon", epsilon), tally(keys)
    noisy = [noisy_integer(count, scale, bits) for _, count in tallied]
    return reaching(threshold, [key for key, _ in tallied], noisy)


def by_threshold_fast(
    keys: Iterable[str], trials: int, bits: RandomBits, *, epsilon: float | Fraction, threshold: int
) -> list[Named]:
    """Name keys by a given threshold many times; the rest as in `exact_partition_selection_fast`."""
    scale, tallied = 1 / positive_rational("epsilon", epsilon), tally(keys)
    noise = discrete_laplace_many(scale, trials * len(tallied), bits).reshape(trials, len(tallied))
    noisy = (noise + [count for _, count in tallied]).clip(-INTEGER_LIMIT, INTEGER_LIMIT)
    names = [key for key, _ in tallied]
    return [reaching(threshold, names, row) for row in noisy.tolist()]


def reaching(threshold: int, keys: Sequence[str], noisy: Sequence[int]) -> Named:
    """Return the keys whose noisy counts reach a threshold, with these counts, in the order in which they are given.

    Args:
        threshold: the least noisy count that is shown.
        keys: the keys.
        noisy: the noisy count of each.
    """
    return tuple((key, count) for key, count in zip(keys, noisy, strict=True) if count >= threshold)
