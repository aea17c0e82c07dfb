"""What the textbook's flaws amount to, computed exactly: laws, privacy losses, and how far one person moves answers.

`mechanisms/local_sensitivity/README.md` and `mechanisms/exponential/README.md` state the closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from attacklab.laws import Law, smallest_epsilon, step_law
from experiments.common.adult import ages
from experiments.targets import means
from mechanisms.core.chunks import ChunkTotal
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.records import Total
from mechanisms.core.threshold import least_threshold
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.local_sensitivity.naive import naive_sample_aggregate, naive_sum_over_count

Statistic: TypeAlias = Callable[[NDArray[np.float64]], float]

OUTLIER = -1e6
NO_NOISE = 2.0**80
"""An ε at which the noise is lost in the rounding of the answer."""

AGES = Total(Fraction(0), Fraction(means.UPPER), means.AGE_GRID)


def passing_probabilities(delta: float, epsilon: float) -> dict[str, float]:
    """Return the probability that the test of propose-test-release passes at distance 0.

    Returns:
        `claimed`, the claim; `derived`, the formula for the textbook's threshold; `computed`, the probability for its
        code with one uniform of 53 bits; `repaired`, the one for the repaired threshold with discrete Laplace noise.
    """
    threshold = math.log(2 / delta) / (2 * epsilon)

    def passes(uniform: NDArray[np.float64]) -> NDArray[np.int64]:
        with np.errstate(divide="ignore"):
            noise = np.where(uniform < 0.5, np.log(uniform + uniform), -np.log((2.0 - uniform) - uniform)) / epsilon
        return (noise >= threshold).astype(np.int64)

    tail = math.exp(-epsilon / 2)
    return {
        "claimed": delta,
        "derived": math.sqrt(delta / 2) / 2,
        "computed": float(step_law(passes).mass(1)),
        "repaired": tail ** (least_threshold(DiscreteLaplace(2 / Fraction(epsilon)), delta) - 1) / (1 + tail),
    }


def sum_over_count_loss(size: int, epsilon: float) -> float:
    """Return the privacy loss at y = −u between n and n + 1 records at u; sum and count each have noise of ε."""
    fewer, more = (n * n + n / epsilon + 1 / (2 * epsilon**2) for n in (size, size + 1))
    return 2 * epsilon + math.log(fewer / more)


def moves_of_one_person(seed: int) -> dict[str, Any]:
    """Return how far one person moves an answer, in units of the sensitivity to which its noise is scaled.

    Args:
        seed: the seed of the order of the Adult table's rows, where that is random.

    Returns:
        The names of pairs, the moves of the naive and of the repaired mechanism on these pairs, and the number of
        chunks that the naive one makes of the Adult table.
    """
    people = np.random.default_rng(seed).permutation(ages())
    by_age = np.sort(people)
    chunk = math.ceil(len(people) / means.CHUNKS)
    half = len(people) // (2 * chunk) * chunk
    alternating = np.stack([by_age[:half].reshape(-1, chunk), by_age[-half:].reshape(-1, chunk)], axis=1).ravel()
    ordered = np.concatenate([alternating, by_age[half:-half]])
    blocks = np.tile([20.0, 20.0, 80.0, 80.0], means.CHUNKS // 2)
    young = np.zeros(means.CHUNKS)
    one_more = np.append(young, means.UPPER)
    outlier = people.copy()
    outlier[0] = OUTLIER
    total = abs(_naive_mean(outlier) - _naive_mean(people)) * len(people) / means.UPPER
    clipped = abs(AGES.of(outlier) - AGES.of(people)) / AGES.stability
    return {
        "names": [
            "Adult, shuffled,\nmaxima",
            "Adult, alternating,\nmaxima",
            "1200 rows,\nmaxima",
            "600 → 601 rows,\nmeans",
            "an age of −10^6,\nsum",
        ],
        "naive": [
            _naive_move(people, people[1:], np.max),
            _naive_move(ordered, ordered[1:], np.max),
            _naive_move(blocks, blocks[1:], np.max, lower=20.0, upper=80.0),
            _naive_move(one_more, young, np.mean),
            total,
        ],
        "exact": [
            _exact_move(people, 0, np.max),
            _exact_move(ordered, 0, np.max),
            _exact_move(blocks, 0, np.max, lower=20, upper=80),
            _exact_move(one_more, len(young), np.mean),
            clipped,
        ],
        "chunks": math.ceil(len(people) / chunk),
    }


def _naive_move(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    statistic: Statistic,
    *,
    lower: float = 0.0,
    upper: float = means.UPPER,
) -> float:
    def aggregate(records: NDArray[np.float64]) -> float:
        (answer,) = naive_sample_aggregate(
            records,
            1,
            np.random.default_rng(0),
            chunks=means.CHUNKS,
            lower=lower,
            upper=upper,
            epsilon=NO_NOISE,
            statistic=statistic,
        )
        return float(answer)

    return abs(aggregate(first) - aggregate(second)) * means.CHUNKS / (upper - lower)


def _exact_move(
    records: NDArray[np.float64], leaving: int, statistic: Statistic, *, lower: float = 0.0, upper: float = means.UPPER
) -> float:
    """Return the move of the repaired aggregate when the person in row `leaving` leaves and all others stay."""
    everybody = [(str(person), float(value)) for person, value in enumerate(records)]

    total = ChunkTotal(statistic, means.CHUNKS, b"public", Fraction(lower), Fraction(upper), AGES.grid)
    without = everybody[:leaving] + everybody[leaving + 1 :]
    return abs(total.of(everybody) - total.of(without)) / total.stability


def _naive_mean(records: NDArray[np.float64]) -> float:
    (answer,) = naive_sum_over_count(records, 1, np.random.default_rng(0), upper=means.UPPER, epsilon=NO_NOISE)
    return float(answer)


def rounding_losses(others: int) -> dict[str, float]:
    """Return base-2 losses for a claim of 1, on the pair of one utility ½ and others 0, against 0 and others ½.

    Weights are 2^u. If u is rounded first (naive), a binomial number of the others has weight 2. If u is divided by ½
    first (exact), weights are powers of 2^−η, with 2η as close to 1 from below as 32 bits allow.
    """
    chosen = Fraction(1, 2) / (1 + others) + Fraction(2, 2) / (2 + others)
    not_chosen = sum(
        (Fraction(math.comb(others, up), 2**others) / (1 + others + up) for up in range(others + 1)), Fraction(0)
    )
    decay = BaseTwoEta.from_epsilon(Fraction(math.log(2)), y=32).decay
    return {
        "naive": _loss(_first_and_others(chosen, others), _first_and_others(not_chosen, others)),
        "exact": _loss(
            _first_and_others(1 / (1 + others * decay), others), _first_and_others(decay / (decay + others), others)
        ),
    }


def _first_and_others(first: Fraction, others: int) -> Law:
    return Law({0: first, **dict.fromkeys(range(1, others + 1), (1 - first) / others)})


def _loss(first: Law, second: Law) -> float:
    return smallest_epsilon(first, second)[1] / math.log(2)
