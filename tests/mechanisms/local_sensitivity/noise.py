"""Two instruments of these tests: noise by script, and a mechanism's law by running it on every noise.

They share no arithmetic with the mechanisms: the law of the discrete Laplace noise is its closed form in MPFR.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import gmpy2
import numpy as np
from numpy.typing import NDArray

from mechanisms.published import discrete_laplace
from mechanisms.randomness import RandomBits

REACH = 50
"""Noise is enumerated up to this many scales, which leaves out at most 2·e^−50 < 4e-22 a draw."""

Law = dict[Hashable, gmpy2.mpfr]


class NoiseNeeded(Exception):
    """The script is over and the mechanism asks for discrete Laplace noise of this scale."""

    def __init__(self, scale: Fraction) -> None:
        self.scale = scale


class ScriptedNoise(RandomBits):
    """Hands out the given noise where a mechanism calls `discrete_laplace`, and no randomness at all otherwise."""

    def __init__(self, noise: Sequence[int]) -> None:
        self._noise = list(noise)
        self.scales: list[Fraction] = []

    def take(self, count: int) -> int:
        raise AssertionError(f"{count} bits were taken outside of discrete_laplace")

    def call(self, sampler: Callable[..., object], *arguments: object) -> int:
        assert sampler is discrete_laplace
        (scale,) = arguments
        assert isinstance(scale, Fraction)
        if not self._noise:
            raise NoiseNeeded(scale)
        self.scales.append(scale)
        return self._noise.pop(0)


class ScriptedLaplace(np.random.Generator):
    """A numpy generator whose Laplace noise is the given values, one array a call, and which records the scales."""

    def __init__(self, *noise: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._noise = list(noise)
        self.scales: list[float] = []

    def laplace(self, loc: float, scale: float, size: int) -> NDArray[np.float64]:
        self.scales.append(scale)
        return np.full(size, loc + self._noise.pop(0))


@cache
def discrete_laplace_law(scale: Fraction) -> dict[int, gmpy2.mpfr]:
    """P[y] = tanh(1/2t)·e^(−|y|/t) for |y| up to `REACH` scales, with 200 bits."""
    with gmpy2.context(precision=200):
        rate = 1 / gmpy2.mpfr(gmpy2.mpq(scale))
        largest = math.ceil(REACH * scale)
        return {y: gmpy2.tanh(rate / 2) * gmpy2.exp(-abs(y) * rate) for y in range(-largest, largest + 1)}


def output_law(release: Callable[[RandomBits], Hashable]) -> Law:
    """Run a mechanism on every noise within reach.

    Args:
        release: a mechanism whose only randomness is discrete Laplace noise.

    Returns:
        The probability of each output, short of what lies beyond `REACH`.
    """
    law: Law = {}
    with gmpy2.context(precision=200):
        unfinished: list[tuple[tuple[int, ...], gmpy2.mpfr]] = [((), gmpy2.mpfr(1))]
        while unfinished:
            noise, weight = unfinished.pop()
            try:
                output = release(ScriptedNoise(noise))
            except NoiseNeeded as needed:
                unfinished += [((*noise, y), weight * p) for y, p in discrete_laplace_law(needed.scale).items()]
            else:
                law[output] = law.get(output, gmpy2.mpfr(0)) + weight
    return law


def hockey_stick(p: Law, q: Law, epsilon: Fraction) -> gmpy2.mpfr:
    """An upper bound on δ(ε) = Σ max(0, P − e^ε·Q), everything that the enumeration left out of P included."""
    with gmpy2.context(precision=200):
        growth = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon)))
        left_out = 1 - sum(p.values())
        return sum(max(mass - growth * q.get(output, 0), gmpy2.mpfr(0)) for output, mass in p.items()) + left_out


def neighbouring_laws(
    release_of: Callable[[tuple[int, ...]], Callable[[RandomBits], Hashable]], records: Sequence[int]
) -> list[tuple[Law, Law]]:
    """The laws on every neighbouring pair of databases of up to three of the records, each pair in both orders."""
    databases = [x for size in range(4) for x in combinations_with_replacement(records, size)]
    laws = {x: output_law(release_of(x)) for x in databases}
    pairs = [(x, tuple(sorted((*x, record)))) for x in databases if len(x) < 3 for record in records]
    return [(laws[x], laws[y]) for pair in pairs for x, y in (pair, pair[::-1])]


def worst_divergence(laws: list[tuple[Law, Law]], epsilon: Fraction) -> gmpy2.mpfr:
    """The largest δ(epsilon) of the pairs."""
    return max(hockey_stick(p, q, epsilon) for p, q in laws)


def noise_scales(release: Callable[..., object], records: NDArray[np.float64], draws: int) -> list[float]:
    """The scales of the noise that a naive mechanism draws."""
    rng = ScriptedLaplace(*[0.0] * draws)
    release(records, 1, rng)
    return rng.scales
