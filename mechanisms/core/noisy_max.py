"""Report noisy max: selection by the largest sum of a utility and noise, for exponential and for Laplace noise.

With Gumbel noise it is the exponential mechanism (Yellott 1977), which `mechanisms.core.select` draws. With one-sided
exponential noise it is permute-and-flip; Dwork and Roth 2014, theorem 3.13, wrongly say the exponential mechanism.

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
    """Go through the outcomes in random order; stop at each with probability e^(−γ), γ = ε·(max u − u)/(2Δu).

    The best outcome has γ = 0, so the search ends there at the latest. McKenna and Sheldon prove ε-DP. An outcome's
    probability does not change when all utilities shift alike. It falls as its own utility falls and as others rise,
    and by a factor of e^(−ε/2) at most if its own falls by Δu. Raising all others by Δu is the same as lowering its own
    by Δu, but for a common shift. If utilities are monotone, only one of the two happens, and e^(−2γ) will do.
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
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        rate = rate_of(self.epsilon, self.query)
        utilities = self.query.of(data)
        listed = tuple(utilities.tolist() if isinstance(utilities, np.ndarray) else utilities)
        return OneByOne(lambda bits: bits.call(first_up, listed, rate))


def first_up(utilities: tuple[float | Fraction, ...], rate: mpq, bits: RandomBits) -> int:
    """Return the first outcome, in random order, whose coin comes up; P[coin comes up] = e^(−rate·(max u − u))."""
    waiting, best = list(range(len(utilities))), mpq(max(utilities))
    while True:
        position = bits.call(uniform_below, len(waiting))
        waiting[position], waiting[-1] = waiting[-1], waiting[position]
        candidate = waiting.pop()
        if bits.call(bernoulli_exp, fraction(rate * (best - mpq(utilities[candidate])))):
            return candidate


def one_of_those_up(utilities: tuple[float | Fraction, ...], rate: mpq, bits: RandomBits) -> int:
    """Flip all coins and return a uniformly random outcome whose coin came up: the law of `first_up`.

    The coins do not depend on the order, so in a random order each coin that is up is equally likely to be the first.
    A coin comes up if a uniform point of [0, 2^31) lies below r = 2^31·e^(−gap), and `bounds_below` gives L and W with
    L ≤ r ≤ L + W. Only if the whole part of the point lies in [L, L + W), r itself is computed.
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

    Utilities are measured in units of Δu and rounded at random to ⌊u/Δu + V⌋, V uniform in [0, 1). For each V,
    utilities at most one unit apart become integers at most 1 apart, in the same direction: neighbours stay neighbours.
    Given the others' noisy utilities, an outcome wins if its noise is at least some integer k, or at least k + 1 if it
    loses the tie. Between neighbours k moves by 2 at most, or by 1 if utilities are monotone. With noise of scale 2/ε,
    or 1/ε, that changes the probability of either event by a factor of e^ε at most.
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
        """The source of the noise, made once for each term."""
        return Noise(DiscreteLaplace(_scale(self)))

    @property
    def claim(self) -> Claim:
        """ε-DP."""
        return ApproximateDP(self.epsilon)

    def prepared(self, data: Any) -> NoisyUtilities:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        units = [utility / self.query.sensitivity for utility in _exact(self.query.of(data))]
        return NoisyUtilities(tuple(divmod(unit, 1) for unit in units), self.noise)


@dataclass(frozen=True)
class NoisyUtilities:
    """Draws outcomes for one dataset; `units` are its utilities in units of Δu, as (whole part, rest in [0, 1))."""

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
