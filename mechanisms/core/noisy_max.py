"""Report noisy max: selection by the largest sum of a utility and noise, for exponential and for Laplace noise.

With Gumbel noise it is the exponential mechanism (Yellott 1977), which `mechanisms.core.select` draws. With one-sided
exponential noise it is permute-and-flip, and not the exponential mechanism as Dwork and Roth 2014, theorem 3.13, says.

Sources: McKenna and Sheldon 2020, 'Permute-and-Flip'; Ding, Kifer, Sayed, Steinke, Wang, Xiao and Zhang 2021, 'The
Permute-and-Flip Mechanism is Identical to Report-Noisy-Max with Exponential Noise'; Dwork and Roth 2014, claim 3.9.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.coins import bernoulli, bernoulli_exp, uniform_below
from mechanisms.core.claims import ApproximateDP, Claim
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.noise import GREATEST_SPREAD, Noise
from mechanisms.core.numbers import convert, count, positive
from mechanisms.core.rounding import fraction
from mechanisms.core.scores import Scored, Scores
from mechanisms.core.select import COARSE, WEIGHT_BITS, Selection, lies_below, rate_of, steps_of, whole_weight
from mechanisms.core.term import OfQuery, OneByOne
from mechanisms.randomness import RandomBits


@dataclass(frozen=True)
class PermuteAndFlip(OfQuery):
    """Go through the outcomes in random order until a coin comes up: e^(−γ), γ = ε·(max u − u)/(2Δu).

    The coin of the best outcome always comes up, so the last of them ends it. McKenna and Sheldon prove ε-DP: an
    outcome's probability is a function of the gaps that a common shift of all utilities leaves as it is, that falls as
    its own utility falls and as others rise, and falls by a factor e^(−ε/2) at most if its own falls by Δu. Raising all
    others by Δu is a common shift after lowering its own by another Δu. If utilities are monotone, only one of the two
    happens, and e^(−2γ) will do.
    """

    query: Scores
    epsilon: Fraction

    def __post_init__(self) -> None:
        convert(self, positive, "epsilon")
        rate_of(self.epsilon, self.query)  # there is one

    @property
    def claim(self) -> Claim:
        """ε-DP."""
        return ApproximateDP(self.epsilon)

    def prepared(self, data: Any) -> OneByOne:
        """Look at the data; see `Mechanism.prepared`."""
        rate = rate_of(self.epsilon, self.query)
        utilities = self.query.of(data)
        listed = tuple(utilities.tolist() if isinstance(utilities, np.ndarray) else utilities)
        return OneByOne(lambda bits: bits.call(first_up, listed, rate))


def first_up(utilities: tuple[float | Fraction, ...], rate: mpq, bits: RandomBits) -> int:
    """Go through the outcomes in random order until a coin of probability e^(−gap) comes up, 1 for the best one."""
    waiting, best = list(range(len(utilities))), mpq(max(utilities))
    while True:
        position = bits.call(uniform_below, len(waiting))
        waiting[position], waiting[-1] = waiting[-1], waiting[position]
        candidate = waiting.pop()
        if bits.call(bernoulli_exp, fraction(rate * (best - mpq(utilities[candidate])))):
            return candidate


def one_of_those_up(utilities: tuple[float | Fraction, ...], rate: mpq, bits: RandomBits) -> int:
    """Flip all coins and take one of those that came up, each of them as probably: the law of `first_up`.

    Whether a coin comes up depends neither on the order nor on whether anybody looks, so the first one up in a random
    order is any of those up. A coin comes up if a uniform point of [0, 2^31) lies below r = 2^31·e^(−gap), of which
    `bounds_below` says L ≤ r ≤ L + W. Only if the whole part of the point is one of these, r itself is looked at.
    """
    are_floats = all(type(utility) is float for utility in utilities)
    rows = np.array([utilities]) if are_floats else [[Fraction(utility) for utility in utilities]]
    prepared = Selection.of(rows, rate, steps_of(rate), COARSE)
    points, below = (bits.words(len(utilities)) >> np.uint64(64 - WEIGHT_BITS)).view(np.int64), prepared.below[0]
    up = points < below
    for place in np.flatnonzero(~up & (points < below + (below >> COARSE) + 4)).tolist():
        gap, point = prepared.gap(0, place), int(points[place])
        whole = whole_weight(gap)
        up[place] = point < whole or (point == whole and lies_below(gap, whole, bits))
    found = np.flatnonzero(up).tolist()
    return int(found[uniform_below(len(found), bits)])


@dataclass(frozen=True)
class NoisyMax(OfQuery):
    """Report the outcome whose utility, in whole units of Δu, is largest after adding discrete Laplace noise.

    Utilities are measured in units of Δu and rounded at random, ⌊u/Δu + V⌋ with V uniform in [0, 1): given the same V,
    utilities at most one unit apart become integers at most one apart, on the same side, so for each V the mechanism
    behind sees neighbours. Given the others' noisy utilities, an outcome wins if its noise is at least some integer, or
    one more and a coin breaks the tie; between neighbours that integer moves by 2 at most, or by 1 if utilities are
    monotone. Noise of scale 2/ε, or 1/ε, changes the probability of both events by a factor e^ε at most.
    """

    query: Scores
    epsilon: Fraction

    def __post_init__(self) -> None:
        convert(self, positive, "epsilon")
        if _scale(self) > GREATEST_SPREAD:
            raise ValueError(
                f"epsilon must be at least {_scale(self) * self.epsilon}/2^46, where noise ends that arrays hold, "
                f"not {float(self.epsilon)}"
            )

    @cached_property
    def noise(self) -> Noise:
        """Draws the noise; kept, because it makes a table for arrays."""
        return Noise(DiscreteLaplace(_scale(self)))

    @property
    def claim(self) -> Claim:
        """ε-DP."""
        return ApproximateDP(self.epsilon)

    def prepared(self, data: Any) -> NoisyUtilities:
        """Look at the data; see `Mechanism.prepared`."""
        units = [utility / self.query.sensitivity for utility in _exact(self.query.of(data))]
        return NoisyUtilities(tuple(divmod(unit, 1) for unit in units), self.noise)


@dataclass(frozen=True)
class NoisyUtilities:
    """Utilities to which noise is added."""

    units: tuple[tuple[int, Fraction], ...]
    noise: Noise

    def one(self, bits: RandomBits) -> int:
        """Select an outcome."""
        return self._winner([self.noise.one(bits) for _ in self.units], bits)

    def many(self, trials: int, bits: RandomBits) -> NDArray[np.int64]:
        """Select outcomes, shape (trials,)."""
        noise = self.noise.many(count("trials", trials, 0) * len(self.units), bits).reshape(trials, len(self.units))
        return np.array([self._winner(row.tolist(), bits) for row in noise], dtype=np.int64)

    def _winner(self, noise: list[int], bits: RandomBits) -> int:
        noisy = [
            whole + bits.call(bernoulli, rest) + noise if rest else whole + noise
            for (whole, rest), noise in zip(self.units, noise, strict=True)
        ]
        largest = max(noisy)
        winners = [outcome for outcome, value in enumerate(noisy) if value == largest]
        return winners[bits.call(uniform_below, len(winners))]


def _scale(mechanism: PermuteAndFlip | NoisyMax) -> Fraction:
    """Return the scale of the noise in units of Δu."""
    return (1 if mechanism.query.monotone else 2) / mechanism.epsilon


def _exact(utilities: Scored) -> list[Fraction]:
    return [Fraction(utility) for utility in utilities]
