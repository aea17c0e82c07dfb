"""Audits of one event, by the referee or of counts from known probabilities, judged at the referee's own looks."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from attacklab.auditing.attacks.base import Event, Probe, Scenario
from attacklab.auditing.judge import first_look
from attacklab.auditing.statistics.betting import evidence, judge
from attacklab.auditing.statistics.inference import assess, share_of_alpha
from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.findings import Counts
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Outputs, Target
from attacklab.processes.batches import Role, Sample


@dataclass(frozen=True, slots=True)
class Decision:
    """How an audit ended: after how many trials, and whether the claim was refuted."""

    trials: int
    violated: bool


@dataclass(frozen=True)
class OneEvent:
    """An attack that is one bet; it keeps the event's decisions, so that they can be judged a second time."""

    first: Any
    second: Any
    contains: Callable[[Outputs], NDArray[np.bool_]]
    decisions: list[NDArray[np.bool_]] = field(default_factory=list, repr=False)
    name: str = "one_event"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:  # noqa: ARG002 - applies to the targets of this module
        """Any target of this module."""
        return True

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:  # noqa: ARG002 - needs neither
        """The pair and the bet."""

        def contains(outputs: Outputs) -> NDArray[np.bool_]:
            self.decisions.append(self.contains(outputs))
            return self.decisions[-1]

        yield Scenario(NeighbouringPair(self.first, self.second, None), (Event("the bet", contains),))

    def counts(self, judged: int, needed: int | None) -> Iterator[Counts]:
        """The counts at each look, from the decisions that were kept: those on either input in turns.

        Args:
            judged: the trials that the bet was judged on; those before were drawn to choose it.
            needed: how many the referee took to refute the claim.
        """
        batches = list(zip(self.decisions[::2], self.decisions[1::2], strict=True))
        choosing = sum(len(first) for first, _ in batches) - judged
        seen, counts = Counts(0, 0, choosing), Counts(0, 0, 0)
        for first, second in batches:
            if choosing > 0:
                choosing -= len(first)
                continue
            counts += Counts.of(first, second)
            if counts.trials >= first_look(seen, needed):
                yield counts


def looks(trials: int, role: Role = Role.JUDGE) -> list[int]:
    """After how many trials the referee may look at a sample of so many at the most."""
    sample = Sample(0, 0, "", role, (0,), 1, trials, spend_all=False)
    return [batch.done for batch in sample.batches() if batch.looked_at]


def counts_at_looks(p: float, q: float, trials: int, rng: np.random.Generator) -> Iterator[Counts]:
    """The counts of an event of probabilities p and q at each look."""
    cells = [p * q, p * (1 - q), (1 - p) * q, (1 - p) * (1 - q)]
    counts, done = Counts(0, 0, 0), 0
    for look in looks(trials):
        both, first, second, _ = (int(count) for count in rng.multinomial(look - done, cells))
        counts, done = counts + Counts(both + first, both + second, look - done, both), look
        yield counts


def by_betting(claim: PrivacyClaim, counts: Iterator[Counts], alpha: float) -> Decision:
    """The referee's decision: refuted once the evidence suffices, or by the bounds at the end."""
    for seen in counts:
        if evidence(claim, seen) >= math.log(2 / alpha):
            return Decision(seen.trials, violated=True)
    return Decision(seen.trials, judge(claim, seen, alpha).violated)


def by_clopper_pearson(claim: PrivacyClaim, counts: Iterator[Counts], alpha: float, trials: int) -> Decision:
    """The decision by Clopper–Pearson bounds whose α is spent evenly over the same looks."""
    share = share_of_alpha(alpha, len(looks(trials)))
    for seen in counts:
        if assess(claim, seen, share).violated:
            return Decision(seen.trials, violated=True)
    return Decision(seen.trials, violated=False)


ROUNDING = 1e-14
"""A divergence that is no larger may be rounding: a breach so small takes more trials than anybody has."""


def fewest_trials(claim: PrivacyClaim, p: float, q: float, alpha: float) -> float:
    """How many trials any test needs on average that refutes the claim by this event (or its complement).

    A trial is an output of either input. A test that ends with probability 1, and that errs with probability at most α
    whatever probabilities p′, q′ keep the claim, has E[trials]·KL(p, q ‖ p′, q′) ≥ ln(1/α) for each of them (Wald 1945,
    through the likelihood ratio that knows p, q, p′ and q′): the nearest p′, q′ demand the most. KL is convex and what
    keeps the claim is a polygon, so that the nearest ones lie on one of its edges.

    Args:
        claim: what is to be refuted.
        p: P[E].
        q: Q[E]; with P[E] it breaks the claim, for the event or for its complement.
        alpha: the probability of a false alarm.

    Raises:
        ValueError: p and q keep the claim.
    """
    if max(claim.excess(larger, smaller) for larger, smaller in directions((p, p), (q, q))) <= 0:
        raise ValueError(f"p = {p} and q = {q} do not break ({claim.epsilon}, {claim.delta})-DP")
    factor, delta = math.exp(claim.epsilon), claim.delta
    # p′ ≤ e^ε·q′ + δ and 1 − q′ ≤ e^ε·(1 − p′) + δ meet where both are equalities.
    corner = (1 - delta) / (1 + factor)

    def beside_0(share: float) -> float:
        return _divergence(p, factor * share * corner + delta) + _divergence(q, share * corner)

    def beside_1(share: float) -> float:
        return _divergence(p, 1 - share * corner) + _divergence(q, 1 - factor * share * corner - delta)

    least = min(
        optimize.minimize_scalar(edge, bounds=(0, 1), method="bounded", options={"xatol": 1e-12}).fun
        for edge in (beside_0, beside_1)
    )
    return math.log(1 / alpha) / least if least > ROUNDING else math.inf


def _divergence(p: float, q: float) -> float:
    """The relative entropy of two coins, in nats."""
    return float(special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q))
