"""A promise of another kind than the one that a mechanism derives: what it is seen to keep as well.

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
    """A mechanism that is run as it is, and promises something else that it keeps.

    For Gaussian noise on one number, whatever shift neighbours make, the least δ of an ε is seen from its law
    (`gaussian_claims`), and of rounded noise the least μ. Parts of (ε, δ)-DP beside it take their ε and δ of the
    promise, or pure ones count as zCDP. Otherwise the mechanism's claim has to imply the promise. All is decided when
    the term is made, from public parameters alone.
    """

    mechanism: Mechanism
    promised: Claim

    def __post_init__(self) -> None:
        if not _keeps(losses_of(self.mechanism), self.promised):
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


Loss = Claim | tuple[GaussianLaw, int]
"""What a part loses: a claim, or a Gaussian law and the number of steps that neighbours shift it by."""


def _keeps(losses: list[Loss], promised: Claim) -> bool:
    """Whether losses together are seen to keep a promise."""
    if isinstance(promised, ProfileDP):
        return all(_keeps(losses, point) for point in promised.points)
    if not isinstance(promised, ApproximateDP):
        return _imply(losses, promised)
    taken = [loss for loss in losses if isinstance(loss, ApproximateDP)]
    return any(_leaves(away, losses, promised) for away in (taken, [loss for loss in taken if loss.delta]))


def _leaves(taken: list[ApproximateDP], losses: list[Loss], promised: ApproximateDP) -> bool:
    """Whether some losses of (ε, δ)-DP leave enough of a promise for the others, as one claim or by a law's own δ."""
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
    """Whether losses, rounded Gaussian noise among them as μ-GDP or as zCDP, add up to a claim that keeps a promise."""
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
    """Return what each part of a mechanism loses: the law and the shift of Gaussian noise on one number, or a claim."""
    if isinstance(mechanism, Both):
        return [loss for part in mechanism.parts for loss in losses_of(part)]
    if isinstance(mechanism, Mapped):
        return losses_of(mechanism.mechanism)
    if not isinstance(mechanism, Noisy) or not isinstance(mechanism.law, GaussianLaw):
        return [mechanism.claim]
    moves_two = isinstance(mechanism.query, Histogram) and mechanism.query.stability > 1
    return [mechanism.claim if moves_two else (mechanism.law, mechanism.query.stability)]
