"""A mechanism with another claim than the one it derives, such as (ε, δ)-DP in place of zCDP.

Sources: Balle and Wang 2018, theorem 8, and Canonne, Kamath and Steinke 2020, theorem 7, for δ(ε) of Gaussian noise;
Dong, Roth and Su 2022, 'Gaussian Differential Privacy', corollary 2.13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mechanisms.core.claims import NOTHING, ApproximateDP, Claim, GaussianDP, ProfileDP, together
from mechanisms.core.compose import Both, Mapped
from mechanisms.core.laws import GaussianLaw, RoundedGaussian
from mechanisms.core.noisy import Noisy
from mechanisms.core.records import Histogram
from mechanisms.core.term import Mechanism, Prepared, Relation


@dataclass(frozen=True)
class Restated(Mechanism):
    """The same mechanism, with its claim converted to another notion of DP.

    For Gaussian noise on one number, the law gives the least δ for an ε (`gaussian_claims`), and the least μ if the
    noise is rounded. The ε and δ of other parts are subtracted from the promise; parts of pure DP may count as zCDP
    instead. In all other cases the mechanism's own claim must imply the promise. All is decided when the term is made,
    from public parameters alone.
    """

    mechanism: Mechanism
    promised: Claim

    def __post_init__(self) -> None:
        if not _keeps(losses_of(self.mechanism), self.promised):
            inner, promised = type(self.mechanism).__name__, type(self.promised).__name__
            raise ValueError(f"{inner} is not seen to keep the {promised} that is promised; promise less or add noise")

    @property
    def relation(self) -> Relation | None:
        """The relation of the mechanism."""
        return self.mechanism.relation

    @property
    def claim(self) -> Claim:
        """The promised claim."""
        return self.promised

    def prepared(self, data: Any) -> Prepared:
        """Return an object that draws outputs for this data; see `Mechanism.prepared`."""
        return self.mechanism.prepared(data)

    def each(self, answers: Any, bits: Any) -> Any:
        """Release each of many answers once; see `Noisy.each`."""
        inner: Any = self.mechanism
        return inner.each(answers, bits)


Loss = Claim | tuple[GaussianLaw, int]
"""The loss of one part: a claim, or a Gaussian law and the number of steps that neighbours shift it by."""


def _keeps(losses: list[Loss], promised: Claim) -> bool:
    """Whether these rules can show that all losses together keep a promise."""
    if isinstance(promised, ProfileDP):
        return all(_keeps(losses, point) for point in promised.points)
    if not isinstance(promised, ApproximateDP):
        return _imply(losses, promised)
    taken = [loss for loss in losses if isinstance(loss, ApproximateDP)]
    return any(_leaves(away, losses, promised) for away in (taken, [loss for loss in taken if loss.delta]))


def _leaves(taken: list[ApproximateDP], losses: list[Loss], promised: ApproximateDP) -> bool:
    """Whether the other losses keep the promise after the ε and δ of the `taken` ones are subtracted from it."""
    others = [loss for loss in losses if loss not in taken]
    away = sum(taken, NOTHING)
    epsilon, delta = promised.epsilon - away.epsilon, promised.delta - away.delta
    if epsilon < 0 or delta < 0:
        return False
    if len(others) == 1 and isinstance(others[0], tuple):
        law, steps = others[0]
        return law.delta(steps, epsilon) <= delta
    return _imply(others, ApproximateDP(epsilon, delta))


def _imply(losses: list[Loss], promised: Claim) -> bool:
    """Whether the sum of all losses implies a promise; rounded Gaussian noise is counted as μ-GDP or as zCDP."""
    for reading in (_as_gaussian_dp, _as_zcdp):
        try:
            if together(*map(reading, losses)).within(promised):
                return True
        except ValueError:  # no rule adds them up
            continue
    return False


def _as_gaussian_dp(loss: Loss) -> Claim:
    if isinstance(loss, tuple) and isinstance(loss[0], RoundedGaussian):
        return GaussianDP(loss[1] ** 2 / loss[0].variance)
    return _as_zcdp(loss)


def _as_zcdp(loss: Loss) -> Claim:
    return loss[0].loss(loss[1]) if isinstance(loss, tuple) else loss


def losses_of(mechanism: Mechanism) -> list[Loss]:
    """Return the loss of each part of a mechanism: (law, shift) for Gaussian noise on one number, otherwise a claim."""
    if isinstance(mechanism, Both):
        return [loss for part in mechanism.parts for loss in losses_of(part)]
    if isinstance(mechanism, Mapped):
        return losses_of(mechanism.mechanism)
    if not isinstance(mechanism, Noisy) or not isinstance(mechanism.law, GaussianLaw):
        return [mechanism.claim]
    moves_two = isinstance(mechanism.query, Histogram) and mechanism.query.stability > 1
    return [mechanism.claim if moves_two else (mechanism.law, mechanism.query.stability)]
