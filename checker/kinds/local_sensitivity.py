"""The rounded mean of integers of [0, W], its local sensitivity, and smooth bounds on it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

from checker.core.certificate import Certificate, Refused, rational
from checker.enclosures.elementary import exp
from checker.kinds.lending import lent, used
from checker.kinds.symbols import Cases, for_all, require_equal

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


LOOPS = (0, 1, 2, 3, 10, 1000)
"""The numbers of records for which the recursion is followed."""

SIZES = 20_000
"""Up to how many records the lemma on smooth bounds is tried."""


def require_smooth_bound(function: Any, width: int, smoothing: int) -> list[Fraction]:
    """Check that `function(n, W, J)` is s(n)/J, s(0) = J·L(0), for every n.

    One step of the recursion, the function `smoothed` of the same module, is shown for all integers; that the steps are
    taken for 1, …, n is followed for some n.

    Returns:
        S(0), S(1), … up to `SIZES`, on which the lemma `smooth-bound` was tried.

    Raises:
        Refused: it is something else.
    """
    step = used(function, "smoothed")

    def one_step(cases: Cases) -> None:
        given = [cases.unknown(name) for name in ("bound", "size", "width", "smoothing")]
        require_equal(step(*given), smoothed(*given), "one step of the recursion")

    def recursion(count: int) -> None:
        first = smoothing * local_sensitivity(0, width)
        following: list[int] = [first, *(7 * first + index for index in range(1, count + 1))]
        asked: list[tuple[Any, ...]] = []

        def noted(*given: Any) -> int:
            asked.append(given)
            return following[min(len(asked), count)]

        with lent(function, smoothed=noted):
            found = function(count, width, smoothing)
        if asked != [(following[size - 1], size, width, smoothing) for size in range(1, count + 1)]:
            raise Refused(f"the recursion for {count} records is {asked!r:.200}")
        if found != Fraction(following[-1], smoothing):
            raise Refused(f"the bound for {count} records is {found}, not the last of the recursion")

    for_all(one_step)
    for count in LOOPS:
        recursion(count)
    bounds = [smoothing * local_sensitivity(0, width)]
    for size in range(1, SIZES):
        bounds.append(smoothed(bounds[-1], size, width, smoothing))
        smooth = bounds[-1] <= bounds[-2] and bounds[-2] * smoothing <= (smoothing + 1) * bounds[-1]
        if not smooth or bounds[-1] < smoothing * local_sensitivity(size, width):
            raise RuntimeError(f"the lemma fails at {size} records")
    direct = [*range(40), 1000]
    if any(function(count, width, smoothing) != Fraction(bounds[count], smoothing) for count in direct):
        raise Refused("a smooth bound is not that of the recursion")
    return [Fraction(bound, smoothing) for bound in bounds]
