"""Noise by script, and a mechanism's law by running it on every noise: instruments of these tests.

They share no arithmetic with the mechanisms: the law of discrete Laplace noise is its closed form in MPFR.
"""

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import cache, partial
from typing import Any
from unittest.mock import patch

import gmpy2

from mechanisms.core.laws import DiscreteLaplace, Law
from mechanisms.core.noise import Noise
from mechanisms.core.term import Mechanism
from mechanisms.randomness import RandomBits

REACH = 50
"""Noise is enumerated up to this many scales, which leaves out at most 2·e^−50 < 4e-22 a draw."""

Outputs = dict[Hashable, gmpy2.mpfr]


class NoiseNeeded(Exception):
    """The script is over and the mechanism asks for noise of this law."""

    def __init__(self, law: DiscreteLaplace) -> None:
        self.law = law


class Script(RandomBits):
    """Hands out the given noise, one integer a draw, and no randomness at all otherwise."""

    def __init__(self, noise: Iterable[int]) -> None:
        self._noise = list(noise)
        self.scales: list[Fraction] = []

    def take(self, count: int) -> int:
        raise AssertionError(f"{count} bits were taken outside of the noise")

    def next(self, law: Law) -> int:
        assert isinstance(law, DiscreteLaplace)
        if not self._noise:
            raise NoiseNeeded(law)
        self.scales.append(law.scale)
        return self._noise.pop(0)


def scripted(term: Mechanism, data: Any, noise: Iterable[int]) -> tuple[Any, list[Any]]:
    """Release with the given noise.

    Returns:
        The output, and the scales of the noise that was drawn.
    """
    script = Script(noise)
    with patch.object(Noise, "one", lambda self, bits: bits.next(self.law)):
        return term.release(data, script), script.scales


@cache
def discrete_laplace_law(scale: Fraction) -> dict[int, gmpy2.mpfr]:
    """P[y] = tanh(1/2t)·e^(−|y|/t) for |y| up to `REACH` scales, with 200 bits."""
    with gmpy2.context(precision=200):
        rate = 1 / gmpy2.mpfr(gmpy2.mpq(scale))
        largest = math.ceil(REACH * scale)
        return {y: gmpy2.tanh(rate / 2) * gmpy2.exp(-abs(y) * rate) for y in range(-largest, largest + 1)}


def output_law(term: Mechanism, data: Any) -> Outputs:
    """Run a mechanism on every noise within reach, and return the probability of each output, short of the rest."""
    law: Outputs = {}
    prepared = term.prepared(data)
    with gmpy2.context(precision=200), patch.object(Noise, "one", lambda self, bits: bits.next(self.law)):
        unfinished: list[tuple[tuple[int, ...], gmpy2.mpfr]] = [((), gmpy2.mpfr(1))]
        while unfinished:
            noise, weight = unfinished.pop()
            try:
                output = prepared.one(Script(noise))
            except NoiseNeeded as needed:
                unfinished += [((*noise, y), weight * p) for y, p in discrete_laplace_law(needed.law.scale).items()]
            else:
                law[output] = law.get(output, gmpy2.mpfr(0)) + weight
    return law


def hockey_stick(p: Outputs, q: Outputs, epsilon: Fraction) -> gmpy2.mpfr:
    """An upper bound on δ(ε) = Σ max(0, P − e^ε·Q), everything that the enumeration left out of P included."""
    with gmpy2.context(precision=200):
        growth = gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon)))
        left_out = 1 - sum(p.values())
        return sum(max(mass - growth * q.get(output, 0), gmpy2.mpfr(0)) for output, mass in p.items()) + left_out


def worst_divergence(term: Mechanism, pairs: Iterable[tuple[Any, Any]], *epsilons: Fraction) -> list[gmpy2.mpfr]:
    """The largest δ(ε) of the pairs of databases, each in both orders, for each ε."""
    law_of = cache(partial(output_law, term))
    laws = [(law_of(x), law_of(y)) for x, y in pairs]
    both_orders = laws + [pair[::-1] for pair in laws]
    return [max(hockey_stick(p, q, epsilon) for p, q in both_orders) for epsilon in epsilons]
