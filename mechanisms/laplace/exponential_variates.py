"""⌊a + b·E⌋ for a standard exponential variate E = −log U, exactly, one at a time or a whole array at once.

U is a real number uniform in (0, 1) whose bits are drawn as they are needed: the integer is decided as soon as every
continuation of the bits so far gives the same. Both discrete Laplace noise by inversion (⌊s·E⌋ is geometric) and the
correctly rounded ideal Laplace mechanism (⌊f + ½ ± s·E⌋) are such integers.

- Reference: the logarithms of both ends of U's interval are enclosed by MPFR with directed rounding, the rest is
  rational arithmetic; where the ends disagree, more bits of U are drawn.
- Filter: 63 bits of U at once, in binary64 with the bound proven in `FloorFilter`. It leaves the draws that
  it can't decide to the reference, which draws more bits of the same U. So both are the same function of the
  bits of U, and which of them decided can't be seen in the outputs.

The idea of deciding most cases by floating point with a proven bound is the floating-point filter of exact
geometric predicates: J. Shewchuk 1997, 'Adaptive Precision Floating-Point Arithmetic and Fast Robust Geometric
Predicates', section 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import gmpy2
import numpy as np
from numpy.typing import NDArray

from mechanisms import certified
from mechanisms.arithmetic import require_ieee_arithmetic
from mechanisms.certified import UNIT
from mechanisms.grid import GREATEST_NOISE_STEPS
from mechanisms.parameters import positive_rational
from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

FILTER_BITS = 63
"""How many bits of U the filter sees."""

_GUARD = 64  # bits of precision beyond those drawn, so that rounding widens an enclosure by a 2^−64th of its width
_TOP_BIT = np.uint64(1 << 63)


def minus_log(numerator: int, length: int, *, upward: bool) -> Any:
    """Round −log(numerator/2^length) to a rational (gmpy2.mpq) above it (`upward`) or below it."""
    down, up = rounding(length + _GUARD)
    context = down if upward else up
    return -gmpy2.mpq(context.log(context.div(numerator, 1 << length)))  # the quotient is exact


def decide_monotone(
    value_at: Callable[[Any], Any], least_decidable: int, leading: int, length: int, bits: RandomBits
) -> Any:
    """Find the value of a monotone function at E, for a U whose first bits are known.

    Args:
        value_at: the function, of a rational number (gmpy2.mpq) to integers. Where it has one value at two numbers with
            E between them, it has that value at E.
        least_decidable: leading bits that make a smaller integer are not looked at; at least 1.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: how many there are.
        bits: the source of the bits that follow, drawn only if they are needed.
    """
    while True:
        if leading >= least_decidable:
            decided = value_at(minus_log(leading, length, upward=True))
            if decided == value_at(minus_log(leading + 1, length, upward=False)):
                return decided
        leading = leading << 1 | bits.take(1)
        length += 1


def decide_floor(offset: Fraction, slope: Fraction, leading: int, length: int, bits: RandomBits) -> int:
    """Find ⌊offset + slope·E⌋ for a U whose first bits are known.

    Args:
        offset: a rational number.
        slope: a rational number, of either sign.
        leading: the known bits, as an integer; U lies in [leading, leading + 1]/2^length.
        length: how many there are.
        bits: the source of the bits that follow, drawn only if they are needed.
    """

    def value_at(exponential: Any) -> Any:
        return math.floor(offset + slope * exponential)

    # E's interval is longer than 1/(leading + 1): where its image is longer than 1, it need not be looked at.
    return int(decide_monotone(value_at, max(1, math.floor(abs(slope))), leading, length, bits))


def floor_of_exponential(offset: Fraction, slope: Fraction, bits: RandomBits) -> int:
    """Draw ⌊offset + slope·E⌋, E a standard exponential variate; see `decide_floor`."""
    return decide_floor(offset, slope, 0, 0, bits)


class FloorFilter:
    """Finds ⌊offset ± scale·E⌋ for many U by their first 63 bits, as far as binary64 can decide.

    The error bound. Let k ≥ 1 be the 63 bits, U = (k + t)/2^63 with 0 ≤ t ≤ 1, σ the scale, o the offset.

    1. k is converted to binary64 with one rounding, and the division by 2^63 is exact: x̂. So log U differs from
       log x̂ by at most log(1 + 1/k) − log(1 − u) < 1/k + 2u, and 1/k ≤ (1 + u)/(2^63·x̂).
    2. L̂ = `certified.log(x̂)` is off by λ|log x̂| ≤ λ/(1 − λ)·|L̂|, λ = LOG_ERROR.
    3. σ is rounded to binary64, and the product with L̂ is rounded: t̂ = σ|L̂|(1 + d)(1 + d'). So t̂ differs from
       σ|L̂| by ((1 + u)² − 1)·σ|L̂|, and σ|L̂| ≤ t̂/(1 − u)². Together
       |t̂ − σE| ≤ t̂·((1 + u)² − 1 + λ/(1 − λ))/(1 − u)² + 2uσ + σ(1 + u)/(2^63·x̂).
    4. o is rounded (at most 2u), and the sum v̂ of o and ±t̂ (at most u(2 + 2u + t̂)): less than u·t̂ + 5u together.
       An underflow in step 3 adds less than 2^−1000, which 5u leaves room for; its warning is silenced.
    5. The bound relative·t̂ + absolute + leftover/x̂ is itself evaluated with a product, a quotient and two sums, each
       rounded: a factor 1 + 8u makes up for them.

    v̂ less its nearest integer is exact (Sterbenz; or the integer is 0), so where that distance is above the bound, no
    integer lies between v̂ and o ± σE, and their floors are equal.

    Nothing but o, rounded to binary64, depends on private data, so o is an argument of each call alone.

    Args:
        scale: a rational number, above 0 and at most 2^46, which keeps the floors below 2^46·63·ln 2 < 2^52.

    Raises:
        ValueError: `scale` is out of its range.
    """

    def __init__(self, scale: Fraction) -> None:
        require_ieee_arithmetic()
        if positive_rational("scale", scale) > GREATEST_NOISE_STEPS:
            raise ValueError(
                f"scale must be at most 2^{GREATEST_NOISE_STEPS.bit_length() - 1}, "
                f"not about 2^{int(scale).bit_length() - 1}"
            )
        log_error = Fraction(certified.LOG_ERROR)
        product = ((1 + UNIT) ** 2 - 1 + log_error / (1 - log_error)) / (1 - UNIT) ** 2
        inflation = 1 + 8 * UNIT
        self._relative = certified.round_up((product + UNIT) * inflation)
        self._absolute = certified.round_up((2 * UNIT * scale + 5 * UNIT) * inflation)
        self._leftover = certified.round_up(scale * (1 + UNIT) * inflation / 2**FILTER_BITS)
        self._scale = float(scale)

    def __call__(
        self, leading: NDArray[np.int64], signs: NDArray[np.uint64] | None, offset: float
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Filter one chunk.

        Args:
            leading: shape (n,), the first 63 bits of each U as an integer.
            signs: shape (n,), words whose top bit says that the sign is −; None if every sign is +.
            offset: the double nearest to a rational number, which is at least 0 and below 2.

        Returns:
            The floors, shape (n,), and which of them are undecided and mean nothing, shape (n,).
        """
        undecided = leading == 0
        x = np.maximum(leading, 1).astype(np.float64)
        x *= 2.0**-FILTER_BITS
        value = certified.log(x)
        with np.errstate(under="ignore"):
            value *= -self._scale
            bound = value * self._relative
            bound += self._absolute
            bound += np.divide(self._leftover, x, out=x)
        if signs is not None:
            pattern = value.view(np.uint64)
            pattern |= signs & _TOP_BIT
        value += offset
        distance = np.rint(value, out=x)
        np.subtract(value, distance, out=distance)
        np.abs(distance, out=distance)
        undecided |= distance <= bound
        return np.floor(value, out=value).astype(np.int64), undecided
