"""How far a source's bits are from fair, given the bits just before them: bounds from a sample.

For each sequence of k bits, the share of ones after it is bounded by the wager of Krichevsky and Trofimov: a mixture of
all probabilities p against one of them gains more than 1/α with a probability of at most α, however often the sequence
came (Ville's inequality). So the bounds hold at whatever number of times that was, which is random too.

They are for a source whose next bit depends on the last k bits alone. No sample bounds from above what a bit owes to
all bits before it: a generator of 128 bits of state is a function of them, and looks fair here.

Sources: Krichevsky and Trofimov 1981, 'The Performance of Universal Encoding'; Robbins 1970, 'Statistical Methods
Related to the Law of the Iterated Logarithm', for intervals at any time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betaln, xlogy

from attacklab.model.errors import UsageError, UsageTypeError

MOST_BEFORE = 20

NOT_BITS = "bits must be a list of zeros and ones, or a vector of them as numbers or booleans, none of it masked"


@dataclass(frozen=True, slots=True)
class BitBias:
    """Bounds on γ, the largest distance from 1/2 of the probability of a bit, given the bits just before it.

    Attributes:
        lower: at least so much; 0 for bits that may be fair.
        upper: at most so much; 1/2 where a sequence came too seldom to tell.
        before: after which bits the lower bound was seen, the earliest first; empty where it is 0.
    """

    lower: float
    upper: float
    before: str


def bit_bias(bits: ArrayLike, *, before: int = 8, alpha: float = 0.01) -> BitBias:
    """Bound how far from fair bits are, given so many bits before each.

    Args:
        bits: zeros and ones, in the order in which they were drawn, shape (n,).
        before: k, how many bits before a bit it may depend on, from 0 to 20.
        alpha: the probability that the bounds do not hold, for a source whose bits depend on the last k alone.

    Raises:
        UsageError: a bit is neither 0 nor 1, they are too few, or an argument is out of its range; a `UsageTypeError`
            where it is not a number.
    """
    try:
        drawn = np.asarray(bits)
    except ValueError as error:
        raise UsageError(NOT_BITS) from error
    if drawn.ndim != 1 or drawn.dtype.kind not in "biuf" or not np.isin(drawn, (0, 1)).all() or np.ma.is_masked(bits):
        raise UsageError(NOT_BITS)
    if not isinstance(before, int) or isinstance(before, bool):
        raise UsageTypeError(f"before must be an integer, not {before!r}")
    if not isinstance(alpha, Real) or isinstance(alpha, bool):
        raise UsageTypeError(f"alpha must be a number, not {alpha!r}")
    if not 0 <= before <= MOST_BEFORE or not 0 < alpha < 1:
        raise UsageError(f"before must lie in [0, {MOST_BEFORE}] and alpha in (0, 1), not {before} and {alpha}")
    if drawn.size <= before:
        raise UsageError(f"there must be more than {before} bits, not {drawn.size}")
    places = sum(
        (drawn[at : drawn.size - before + at].astype(np.int64) << before - 1 - at for at in range(before)),
        np.zeros(drawn.size - before, dtype=np.int64),
    )
    sizes = np.bincount(places, minlength=1 << before)
    ones = np.bincount(places, weights=drawn[before:], minlength=1 << before)
    ends = [_probability(int(one), int(size - one), alpha / sizes.size) for one, size in zip(ones, sizes, strict=True)]
    least = [max(low - 0.5, 0.5 - high, 0.0) for low, high in ends]
    lower = max(least)
    shown = format(least.index(lower), f"0{before}b") if lower and before else ""
    return BitBias(lower, max(max(high - 0.5, 0.5 - low) for low, high in ends), shown)


def _probability(ones: int, zeros: int, alpha: float) -> tuple[float, float]:
    """Bounds on the probability of a one: those against which the mixture has gained no more than 1/α."""
    if not ones + zeros:
        return 0.0, 1.0
    mixture = betaln(ones + 0.5, zeros + 0.5) - betaln(0.5, 0.5)

    def lead(probability: float) -> float:
        return float(mixture - xlogy(ones, probability) - xlogy(zeros, 1 - probability) + math.log(alpha))

    likeliest = ones / (ones + zeros)
    least, most = np.nextafter(0, 1), np.nextafter(1, 0)
    low = brentq(lead, least, likeliest) if ones else 0.0
    high = brentq(lead, likeliest, most) if zeros and lead(most) > 0 else 1.0
    return low, high
