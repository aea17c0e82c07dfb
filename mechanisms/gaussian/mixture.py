"""Gaussian noise of many steps, drawn as a mixture: a histogram, ramps upon it, and by inversion what remains.

On a fine grid a step has so little of the law that binary64 can hardly tell which step a uniform belongs to. So here
words of 64 bits are given to steps by counting them. The steps are cut into cells of W = 2^j, and in each of them the
law lies above a line (README.md has the proof). A cell gets

- m words for each of its steps, all of them below a limit: a word's leading bits choose the cell by the alias method,
  and its last j bits the step. That decides all but one draw in some thousands, by integers alone;
- u words above the limit, which leave all its steps alike probable, and r words that make its step the greater one of
  two uniform numbers, counted towards 0: a probability that lies on a line.

What remains of the law, in one draw of some millions, is drawn by inversion. So the noise has exactly the law that an
inversion would give it; only its function of the bits is another one.

Source: Devroye 1986, 'Non-Uniform Random Variate Generation', sections II.4 (mixtures) and III.4 (the alias method,
which is Walker's of 1977).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import NamedTuple

import gmpy2
import numpy as np
from gmpy2 import mpfr, mpq
from numpy.typing import NDArray

from mechanisms.gaussian.inversion import Law, resolved
from mechanisms.gaussian.law import Enclosure
from mechanisms.gaussian.rounding_filter import GREATEST_SCALE
from mechanisms.grid import GREATEST_NOISE_STEPS
from mechanisms.randomness import RandomBits
from mechanisms.rounding import rounding

_WORD = 64
_SLOT_BITS = 15
_CELLS = 1 << 14
"""Cells on either side of 0: they reach to 8σ at least."""

_CELLS_EACH_SIGMA_BITS = 10
_PRECISION = 192
_FRACTION_BITS = 64
_GUARD_BITS = 64


class Part(NamedTuple):
    """What a cell has of all 2^64 words.

    Attributes:
        each: m, for each of its steps.
        even: u, for all of them alike.
        ramp: r, for its steps by the greater one of two uniform numbers.
    """

    each: int
    even: int
    ramp: int


class Mixture:
    """Draws from laws in which k ≥ 0 steps, and likewise −1 − k, have at least the probability φ((k + 2)/σ)/σ.

    Every law must have that. Normal noise rounded with any shift of [−½, ½] does, and so does discrete Gaussian noise.

    Args:
        sigma: in steps, above 2^24 and at most 2^46.

    Raises:
        ValueError: `sigma` is out of that range.
    """

    def __init__(self, sigma: Fraction) -> None:
        if not GREATEST_SCALE < sigma <= GREATEST_NOISE_STEPS:
            raise ValueError(f"sigma must be above 2^24 steps and at most 2^46, not {float(sigma)}")
        self._width_bits = int(sigma).bit_length() - 1 - _CELLS_EACH_SIGMA_BITS
        self._width = 1 << self._width_bits
        capacity = 1 << _WORD - _SLOT_BITS - self._width_bits
        parts = _parts(sigma, self._width_bits)
        slots, rest = divmod(2 * sum(part.each for part in parts), capacity)
        middle = parts[0]
        parts[0] = middle._replace(each=middle.each - rest // 2, even=middle.even + rest // 2 * self._width)
        self._parts = parts
        self._limit = np.uint64(slots * capacity << self._width_bits)
        self._thresholds, self._starts = self._tables(slots, capacity)
        shares = [share for part in parts for share in (part.even, part.even, part.ramp, part.ramp)]
        self._ends = list(accumulate(shares, initial=int(self._limit)))[1:]
        words = [(part.each << self._width_bits) + part.even + part.ramp for part in parts]
        self._words_above = [*accumulate(reversed(words), initial=0)][::-1]

    def decide(self, words: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Return the noise for words, shape (n,), and the places of those at or above the limit, which are open."""
        signed = words.view(np.int64)
        places = (words >> np.uint64(_WORD - _SLOT_BITS)).view(np.int64)
        below = np.take(self._thresholds, places, out=np.empty_like(signed), mode="clip")
        np.subtract(signed, below, out=below)
        below >>= 63
        places += places
        places -= below
        noise = (signed & self._width - 1).astype(np.float64)
        noise += np.take(self._starts, places, out=np.empty_like(noise), mode="clip")
        return noise, np.flatnonzero(words >= self._limit)

    def resolve(self, law: Law, word: int, bits: RandomBits) -> int:
        """Return noise of a law for an open word, from further bits."""
        share = bisect_right(self._ends, word)
        if share == len(self._ends):
            return resolved(Remainder(law, self), bits.take(_WORD), bits)
        cell, kind = divmod(share, 4)
        place = bits.take(self._width_bits)
        if kind >= 2:
            place = max(place, bits.take(self._width_bits))
        size = (cell + 1) * self._width - 1 - place
        return -1 - size if kind % 2 else size

    def given(self, outcome: int) -> mpq:
        """Return the probability that words which need no inversion have noise of an outcome or more."""
        if outcome < 0:
            return 2 * mpq(self._words_above[0], 1 << _WORD) - self.given(-outcome)
        cell, first = divmod(outcome, self._width)
        if cell >= _CELLS:
            return mpq(0)
        steps, part = self._width - first, self._parts[cell]
        along = mpq(steps, self._width)
        words = self._words_above[cell + 1] + part.each * steps + part.even * along + part.ramp * along**2
        return words / (1 << _WORD)

    @property
    def reach(self) -> int:
        """Steps that are more than 32σ and at most 64σ."""
        return 4 * _CELLS * self._width

    @property
    def remaining(self) -> mpq:
        """The probability that a draw needs an inversion."""
        return 1 - 2 * mpq(self._words_above[0], 1 << _WORD)

    def _tables(self, slots: int, capacity: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the alias method's tables.

        Returns:
            For each slot the word, as a signed integer, from which on it belongs to its upper cell; and for each slot
            the least steps of its upper and its lower cell.
        """
        thresholds = np.zeros(1 << _SLOT_BITS, dtype=np.uint64)
        starts = np.zeros(2 << _SLOT_BITS)
        waiting = [
            (start, part.each)
            for cell, part in enumerate(self._parts)
            for start in (cell * self._width, -(cell + 1) * self._width)
            if part.each
        ]
        short = [one for one in waiting if one[1] < capacity]
        long = [one for one in waiting if one[1] >= capacity]
        for slot in range(slots):
            lower, count = short.pop() if short else (0, 0)
            upper, left = long.pop()
            thresholds[slot] = slot * capacity + count << self._width_bits
            starts[2 * slot : 2 * slot + 2] = upper, lower
            left -= capacity - count
            (long if left >= capacity else short).append((upper, left))
        return thresholds.view(np.int64), starts


kept_mixture = lru_cache(maxsize=16)(Mixture)  # for the next release with noise of that public σ


@dataclass(frozen=True)
class Remainder:
    """What remains of a law when a mixture has taken its part: T(k) of the one less that of the other, scaled.

    Attributes:
        law: has the tails T.
        taken: the mixture.
    """

    law: Law
    taken: Mixture

    def tail(self, outcome: int, precision: int) -> Enclosure:
        """Enclose the probability of an outcome or more."""
        whole = self.law.tail(outcome, precision + _GUARD_BITS)
        given, remaining = self.taken.given(outcome), self.taken.remaining
        lower, upper = ((mpq(end) - given) / remaining for end in (whole.lower, whole.upper))
        down, up = rounding(precision)
        with down:
            rounded = mpfr(lower)
        with up:
            return Enclosure(rounded, mpfr(upper))

    def guess(self, uniform: float | mpq) -> int:
        """Find the outcome of a uniform by halving, or, more than 32σ from 0, the end of where is looked."""
        high = self.taken.reach
        low = -high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.tail(middle, 2 * _WORD).lower > uniform else (low, middle)
        return low


def _parts(sigma: Fraction, width_bits: int) -> list[Part]:
    """Find what each cell at or above 0 is given, so that k and −1 − k have at most 2^64·φ((k + 2)/σ)/σ words.

    With X_i = (i·W + 1)/σ and D_i ≤ 2^64·φ(X_i)/σ, the line of cell i rises towards 0 from D_{i+1} by D_i − D_{i+1} or
    by the tangent's W/σ·X_{i+1}·D_{i+1}, whichever is less. The D are kept with 64 bits after the point.
    """
    width, one = 1 << width_bits, 1 << _FRACTION_BITS
    heights = _heights(sigma, width)
    variance = sigma**2
    parts = []
    for cell, (near, far) in enumerate(pairwise(heights)):
        tangent = far * width * ((cell + 1) * width + 1) * variance.denominator // variance.numerator
        rise = max(min(near - far - 1, tangent), 0)
        ramp = rise * width >> _FRACTION_BITS + 1
        each = far + (-ramp * one >> 2 * width_bits) >> _FRACTION_BITS
        even = (far - each * one) * width + (-ramp * one >> width_bits) >> _FRACTION_BITS
        parts.append(Part(each, even, ramp))
    return parts


def _heights(sigma: Fraction, width: int) -> list[int]:
    """Return D_0, D_1, … in units of 2^−64, each at most 2^64·φ(X_i)/σ and at most 1.1 units below."""
    down, up = rounding(_PRECISION)
    with up:
        factor = mpfr(mpq(sigma)) * gmpy2.sqrt(2 * gmpy2.const_pi())
        halves = [mpfr(mpq((cell * width + 1) ** 2) / (2 * mpq(sigma) ** 2)) for cell in range(_CELLS + 1)]
    with down:
        return [int(gmpy2.floor(gmpy2.mul_2exp(gmpy2.exp(-half) / factor, _WORD + _FRACTION_BITS))) for half in halves]
