"""A promise of another kind than the one that a mechanism derives: what it is seen to keep as well.

Sources: Balle and Wang 2018, theorem 8, and Canonne, Kamath and Steinke 2020, theorem 7, for δ(ε) of Gaussian noise;
Dong, Roth and Su 2022, 'Gaussian Differential Privacy', corollary 2.13.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mechanisms.core.claims import ApproximateDP, Claim, GaussianDP, ProfileDP
from mechanisms.core.gaussian_claims import delta, gaussian_dp, normal_delta
from mechanisms.core.laws import DiscreteGaussian, RoundedGaussian
from mechanisms.core.noisy import Noisy
from mechanisms.core.records import Histogram
from mechanisms.core.term import Mechanism, Prepared, Relation


@dataclass(frozen=True)
class Restated(Mechanism):
    """A mechanism that is run as it is, and promises something else that it keeps.

    For Gaussian noise on one number, whatever shift neighbours make, that is seen from its law (`gaussian_claims`): the
    least δ of an ε, and the least μ. Otherwise the mechanism's claim has to imply the promise. Both are decided when
    the term is made, from public parameters alone.

    Args:
        mechanism: what is released.
        promised: what is promised of it, in rational numbers.

    Raises:
        ValueError: the mechanism is not seen to keep the promise.
    """

    mechanism: Mechanism
    promised: Claim

    def __post_init__(self) -> None:
        if not _keeps(self.mechanism, self.promised):
            inner, promised = type(self.mechanism).__name__, type(self.promised).__name__
            raise ValueError(f"{inner} is not seen to keep the {promised} that is promised; promise less or add noise")

    @property
    def relation(self) -> Relation | None:
        """The mechanism's."""
        return self.mechanism.relation

    @property
    def claim(self) -> Claim:
        """What is promised."""
        return self.promised

    def prepared(self, data: Any) -> Prepared:
        """Look at the data; see `Mechanism.prepared`."""
        return self.mechanism.prepared(data)

    def each(self, answers: Any, bits: Any) -> Any:
        """Release each of many answers once; see `Noisy.each`."""
        inner: Any = self.mechanism
        return inner.each(answers, bits)


def _keeps(mechanism: Mechanism, promised: Claim) -> bool:
    """Whether a mechanism is seen to keep a promise."""
    if isinstance(promised, ProfileDP):
        return all(_keeps(mechanism, point) for point in promised.points)
    claim, shift = mechanism.claim, _shift(mechanism)
    if isinstance(promised, ApproximateDP):
        if shift:
            return delta(*shift, promised.epsilon) <= promised.delta
        if isinstance(claim, GaussianDP) and claim.mu_squared:
            variance = 1 / claim.mu_squared
            return normal_delta(promised.epsilon, variance=variance, shift=Fraction(1)) <= promised.delta
    if isinstance(promised, GaussianDP) and shift:
        return gaussian_dp(*shift).within(promised)
    return claim.within(promised)


def _shift(mechanism: Mechanism) -> tuple[DiscreteGaussian | RoundedGaussian, int] | None:
    """Return a Gaussian law and by how many steps neighbours shift it, if they shift one number alone."""
    if not isinstance(mechanism, Noisy) or not isinstance(mechanism.law, DiscreteGaussian | RoundedGaussian):
        return None
    if isinstance(mechanism.query, Histogram) and mechanism.query.stability > 1:
        return None
    return mechanism.law, mechanism.query.stability
