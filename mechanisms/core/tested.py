"""Propose-test-release: release only if a noisy test says that the database is far from any too sensitive one.

Source: Dwork and Lei 2009, 'Differential Privacy and Robust Statistics' (the framework); the proof is below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import takewhile
from typing import Any

from mechanisms.core.claims import ApproximateDP, Claim, together
from mechanisms.core.laws import DiscreteLaplace, Law
from mechanisms.core.local import LocalQuery, require_local
from mechanisms.core.noise import Noise
from mechanisms.core.noisy import Noisy, Shifted
from mechanisms.core.numbers import Number, convert, count, positive
from mechanisms.core.rounding import fraction
from mechanisms.core.term import OfQuery
from mechanisms.core.threshold import least_threshold
from mechanisms.randomness import RandomBits

_CLAIM_BITS = 128


@dataclass(frozen=True)
class Tested(OfQuery):
    """A query's value plus noise for a proposed bound b on its local sensitivity, or None.

    Let D(x) be the least k with A_k(x) > b. None is released if D(x) + Y < T, and else f(x) + Y′.

    *The claim* adds the loss of Y for a shift of 1, of Y′ for a shift of b, and δ = P[Y ≥ T]. For neighbours x and
    x′, A_k(x) > b gives A_{k+1}(x′) > b, so |D(x) − D(x′)| ≤ 1 and the test loses what Y does. If |f(x) − f(x′)| ≤ b,
    the value loses what Y′ does, and no δ is needed. Otherwise A_0 > b at both, D(x) = D(x′) = 0: None has one
    probability at both, and all else together δ at either. Clamps look at public ends alone.

    Args:
        query: gives a value and bounds on its local sensitivity at each distance.
        bound: b, in steps, proposed without looking at the data, less than the query's stability.
        law: the law of the value's noise Y′, of pure DP.
        test: the law of the test's noise Y, of pure DP.
        threshold: T.
    """

    query: LocalQuery
    bound: int
    law: Law
    test: Law
    threshold: int

    def __post_init__(self) -> None:
        require_local(self.query)
        convert(self, count, "bound", "threshold")
        if self.bound >= self.query.stability:
            raise ValueError(f"bound must be less than the query's stability {self.query.stability}, not {self.bound}")
        self._answer, self._test  # noqa: B018 # checks that both noises fit
        self.claim  # noqa: B018 # there is one

    @property
    def claim(self) -> Claim:
        """The losses of both noises, and as δ the probability that the test's noise reaches T, rounded up."""
        delta = fraction(self.test.tail(self.threshold, _CLAIM_BITS).upper)
        return together(self.test.loss(1), self.law.loss(self.bound), ApproximateDP(Fraction(0), delta))

    @cached_property
    def _answer(self) -> Noisy:
        return Noisy(self.query, self.law)

    @cached_property
    def _test(self) -> Noise:
        return Noise(self.test)

    def prepared(self, data: Any) -> IfFar:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        near = takewhile(lambda sensitivity: sensitivity <= self.bound, self.query.sensitivities(data))
        return IfFar(sum(1 for _ in near), self.threshold, self._test, self._answer.prepared(data))


@dataclass(frozen=True)
class IfFar:
    """A release behind a noisy test of a distance.

    Args:
        distance: D, private.
        threshold: T.
        test: draws the noise of the test.
        answer: what is released if the test passes.
    """

    distance: int
    threshold: int
    test: Noise
    answer: Shifted

    def one(self, bits: RandomBits) -> float | None:
        """Draw one output: a value, or None if the test fails."""
        if self.distance + self.test.one(bits) < self.threshold:
            return None
        return float(self.answer.one(bits))

    def many(self, trials: int, bits: RandomBits) -> list[float | None]:
        """Draw several outputs: first all tests, then a value for each test that passes, in order."""
        passed = self.test.many(trials, bits) >= self.threshold - self.distance
        answers = iter(self.answer.many(int(passed.sum()), bits).tolist())
        return [next(answers) if passes else None for passes in passed.tolist()]


def propose_test_release(query: LocalQuery, bound: Number, epsilon: Number, delta: Number) -> Tested:
    """Return propose-test-release of a query, half of ε for the test and half for the value: (ε, δ)-DP.

    Args:
        query: gives a value and bounds on its local sensitivity at each distance.
        bound: the proposed bound on the local sensitivity, rounded down to a whole number of steps of the query's grid.
        epsilon: ε, above 0; a float stands for the rational that it is.
        delta: δ, above 0 and below 1/2.
    """
    require_local(query)
    half, steps = positive("epsilon", epsilon) / 2, math.floor(positive("bound", bound) / query.grid.step)
    if not 0 < steps < query.stability:
        raise ValueError(f"bound must be at least a step of the grid and less than the stability, not {bound}")
    test = DiscreteLaplace(1 / half)
    return Tested(query, steps, DiscreteLaplace(steps / half), test, least_threshold(test, delta) - 1)
