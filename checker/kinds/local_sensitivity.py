"""The rounded mean of integers of [0, W], its local sensitivity, and smooth bounds on it."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from itertools import combinations_with_replacement
from typing import Any

from checker.core.certificate import Certificate, Refused, rational
from checker.enclosures.elementary import exp
from checker.kinds.lending import lent
from checker.kinds.stateless import require_meanings, require_stateless
from checker.kinds.symbols import Cases, Symbol, for_all, require_equal

BITS = 128
"""The precision of enclosures."""

GREATEST_EXPONENT = Fraction(4096)
"""Powers of e beyond e^−4096 are not told apart."""


def approximate_claim(certificate: Certificate) -> tuple[Fraction, Fraction]:
    """Return ε and δ of a claim of approximate differential privacy."""
    claim = certificate.claim
    if set(claim) != {"kind", "epsilon", "delta"} or claim["kind"] != "approximate":
        raise Refused(f"this theorem is about approximate differential privacy, not {dict(claim)}")
    return rational(claim["epsilon"], "epsilon"), rational(claim["delta"], "delta")


def rounded_mean(total: Any, count: Any, width: int) -> Any:
    """Return the mean rounded to the nearest integer, halves upwards; the middle of the range for no records."""
    if count == 0:
        return width // 2
    quotient = total // count
    rest = total - quotient * count
    return quotient + (rest >= count - rest)


def local_sensitivity(count: Any, width: Any) -> Any:
    """Return L(n) = ⌈W/max(n, 1)⌉: how far adding or removing one of n records moves the rounded mean at most."""
    least: Any = -(-width // max(count, 1))
    return least


def require_local_sensitivity() -> int:
    """Try the lemma `rounded-mean` on all databases of up to six records in [0, W] for small W; return how many."""
    tried = 0
    for width in range(1, 5):
        for size in range(1, 7):
            for records in combinations_with_replacement(range(width + 1), size):
                whole = rounded_mean(sum(records), size, width)
                for gone in set(records):
                    move = abs(whole - rounded_mean(sum(records) - gone, size - 1, width))
                    if move > local_sensitivity(size, width):
                        raise RuntimeError(f"the lemma fails on {records} without {gone}")
                tried += 1
    return tried


def tail(threshold: int, scale: Fraction) -> Fraction:
    """Bound P[Y ≥ T] = q^T/(1 + q), q = e^(−1/scale), from above, for discrete Laplace noise Y and T ≥ 0."""
    if threshold < 0:
        raise Refused(f"the test passes at a noisy distance of {threshold}")
    return exp(-min(threshold / scale, GREATEST_EXPONENT), BITS)[1] / (1 + exp(-1 / scale, BITS)[0])


def smoothed(bound: Any, size: Any, width: Any, smoothing: Any) -> Any:
    """Return s(n) = max(J·L(n), ⌈s(n − 1)·J/(J + 1)⌉), in units of 1/J of a step."""
    return max(smoothing * local_sensitivity(size, width), bound - bound // (smoothing + 1))


SIZES = 20_000
"""Up to how many records the lemma on smooth bounds is tried."""


def require_smooth_bound(function: Any, width: int, smoothing: int) -> list[Fraction]:
    """Check that `function(n, W, J)` is s(n)/J, s(0) = J·L(0), for every n.

    It is `reduce` of one step, shown for all integers, over 1, …, n: shown for an n of which nothing is known, so that
    nothing depends on how large n is.

    Returns:
        S(0), S(1), … up to `SIZES`, on which the lemma `smooth-bound` was tried.

    Raises:
        Refused: it is something else.
    """
    require_meanings(function, range=range, reduce=reduce, Fraction=Fraction)
    first = smoothing * local_sensitivity(0, width)

    def recursion(cases: Cases) -> None:
        count, last, sizes = cases.unknown("count"), cases.unknown("last"), object()

        def counted(*ends: Any) -> object:
            if len(ends) != 2 or ends[0] != 1:
                raise Refused(f"sizes are {ends}")
            require_equal(ends[1], count + 1, "the end of the sizes")
            return sizes

        def reduced(step: Any, over: Any, start: Any) -> Symbol:
            if over is not sizes:
                raise Refused("the recursion goes through something other than the sizes")
            require_equal(start, first, "the start of the recursion")
            require_stateless(step)
            given = cases.unknown("bound"), cases.unknown("size")
            require_equal(step(*given), smoothed(*given, width, smoothing), "one step of the recursion")
            return last

        def divided(whole: Any, by: Any) -> Any:
            return whole / by

        with lent(function, range=counted, reduce=reduced, Fraction=divided):
            found = function(count, width, smoothing)
        require_equal(found, last / smoothing, "the smooth bound")

    for_all(recursion)
    bounds = [smoothing * local_sensitivity(0, width)]
    for size in range(1, SIZES):
        bounds.append(smoothed(bounds[-1], size, width, smoothing))
        smooth = bounds[-1] <= bounds[-2] and bounds[-2] * smoothing <= (smoothing + 1) * bounds[-1]
        if not smooth or bounds[-1] < smoothing * local_sensitivity(size, width):
            raise RuntimeError(f"the lemma fails at {size} records")
    direct = [*range(40), 1000, SIZES - 1]
    if any(function(count, width, smoothing) != Fraction(bounds[count], smoothing) for count in direct):
        raise Refused("a smooth bound is not that of the recursion")
    return [Fraction(bound, smoothing) for bound in bounds]
