"""Noise scaled to a smooth bound on the local sensitivity.

Sources: Nissim, Raskhodnikova and Smith 2007, 'Smooth Sensitivity and Sampling in Private Data Analysis', sections 2
and 3, for continuous noise; the proof for integers is below.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechanisms.core.claims import ApproximateDP
from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.local import LocalQuery, require_local
from mechanisms.core.noisy import Noisy
from mechanisms.core.numbers import Number, convert, count, failure_probability, positive
from mechanisms.core.rounding import exp_above, log_above
from mechanisms.core.term import OfQuery, OneByOne


@dataclass(frozen=True)
class Smooth(OfQuery):
    """A query's value plus discrete Laplace noise of scale t = 2S/ε, where S ≥ A_0 varies slowly; J is `smoothing`.

    *S varies by a factor of at most ρ = 1 + 1/J.* Let s_k = max(J·A_k, ⌈s_{k+1}/ρ⌉) and S = s_0/J. For neighbours x and
    x′, A_k(x) ≤ A_{k+1}(x′) gives s_k(x) ≤ s_{k+1}(x′), from large k downward, where all are J·`stability`. Hence S(x)
    ≤ ρ·S(x′), and A_0 ≤ S. All s_k are positive integers; ⌈s/ρ⌉ = s − ⌊s/(J + 1)⌋.

    *The claim* is (ε, 2·e^{−Jε/2}). Let t and t′ be the scales of x and x′, p_t(y) = tanh(1/2t)·e^{−|y|/t}, and d =
    f(x′) − f(x). At a distance of y from f(x), probabilities have the ratio p_t(y)/p_t′(y) · p_t′(y)/p_t′(y − d). The
    second factor is at most e^{|d|/t′} ≤ e^{ε/2}, as |d| ≤ A_0(x′) ≤ S(x′). The first, if t ≤ t′, is at most t′/t ≤ ρ ≤
    e^{1/J}, as tanh is concave and 0 at 0; and 1/J ≤ ε/2. If t > t′, its logarithm is at most |y|·(1/t′ − 1/t) ≤
    (|y|/t)/J, which is at most ε/2 unless |y| > t·Jε/2; the probability of that is at most 2·e^{−Jε/2}. Clamps look at
    public ends alone.

    The scale is private. So each draw is by inversion, which is one program for all scales, and no table is made.
    """

    query: LocalQuery
    epsilon: Fraction
    smoothing: int

    def __post_init__(self) -> None:
        require_local(self.query)
        convert(self, positive, "epsilon")
        convert(self, count, "smoothing")
        if self.smoothing < 2 / self.epsilon:
            raise ValueError(f"smoothing must be at least 2/epsilon, not {self.smoothing}")
        self._noisy(Fraction(self.query.stability))  # the most noise that there can be

    @property
    def claim(self) -> ApproximateDP:
        """(ε, 2·e^(−Jε/2)), rounded up; J is `smoothing`."""
        return ApproximateDP(self.epsilon, 2 * exp_above(-self.smoothing * self.epsilon / 2))

    def bound(self, data: Any) -> Fraction:
        """Return S in steps, which is private."""
        most = self.query.stability
        bound = self.smoothing * most
        for sensitivity in reversed([min(each, most) for each in self.query.sensitivities(data)]):
            bound = max(self.smoothing * sensitivity, bound - bound // (self.smoothing + 1))
        return Fraction(bound, self.smoothing)

    def prepared(self, data: Any) -> OneByOne:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return OneByOne(self._noisy(self.bound(data)).prepared(data).one)

    def _noisy(self, bound: Fraction) -> Noisy:
        return Noisy(self.query, DiscreteLaplace(2 * bound / self.epsilon))


def smooth(query: LocalQuery, epsilon: Number, delta: Number) -> Smooth:
    """Return the query's value plus noise scaled to a smooth bound on its local sensitivity: (ε, δ)-DP."""
    loss = positive("epsilon", epsilon)
    return Smooth(query, loss, math.ceil(2 * log_above(2 / failure_probability(delta)) / loss))
