"""Exact laws of the lab's own targets, where they can be found."""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.laws import Decision, LawError, Limits, advantage, certify, one_uniform, step_law
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.proof import default_pair, prove
from attacklab.model.bisection import least
from attacklab.model.findings import EXACT_LAW, Estimate, Finding, Laws, Scope, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target
from experiments import targets

LIMITS = Limits(unresolved=Fraction(1, 1 << 62), runs=1 << 11, tapes=1 << 10)
"""The limits for an enumeration; laws that need more are not found here."""

RUNS_OF_TERMS = 1 << 8
"""The limit on runs for targets with a certificate, since noise by inversion would need far more runs."""

VERDICTS = {
    Decision.PROVED: Verdict.PROVED,
    Decision.REFUTED: Verdict.VIOLATED,
    Decision.UNDECIDED: Verdict.INCONCLUSIVE,
}

ONE_UNIFORM = "naive_randomized_response"
"""The target besides selections that compares one uniform number with thresholds."""

FARTHEST = 1 << 12
"""At the utility −FARTHEST an outcome's weight is lost beside the weight of the utility 0 in every format."""


def law_finding(name: str, epsilon: float) -> Finding:
    """Return the finding of the exact law about the target `name` at ε."""
    target = getattr(targets, name)(epsilon)
    if target.sampler is not None:
        try:
            spec = f"experiments.targets:{name} --epsilon {epsilon}"
            return prove(target, _pair(target), limits=_limits(target), spec=spec)
        except LawError as error:
            return _finding(target, Verdict.INCONCLUSIVE, str(error))
    if target.kind is Kind.SELECTION or target.name == ONE_UNIFORM:
        with contextlib.suppress(LawError):
            return _one_uniform_finding(target)
    return _finding(
        target, Verdict.NOT_APPLICABLE, "it draws from no bits that it is given, and compares no one uniform number"
    )


def _limits(target: Target) -> Limits:
    is_cut = target.certificate is not None and target.kind is not Kind.SELECTION
    return replace(LIMITS, runs=RUNS_OF_TERMS) if is_cut else LIMITS


def _pair(target: Target) -> NeighbouringPair:
    """Return the pair on which laws are compared; for a dataset target, the first that it or its domain declares."""
    if target.kind is Kind.DATASET and target.domain is not None and not target.pairs:
        return next(target.domain.pairs(target.relation))
    return default_pair(target)


def _one_uniform_finding(target: Target) -> Finding:
    """Return the finding of the exact laws of a naive mechanism that compares one uniform number with thresholds."""
    if target.kind is Kind.SELECTION:
        depth = last_drawn(target)
        pair = NeighbouringPair.utilities([0.0, -depth], [0.0, -depth - 1.0], sensitivity=target.sensitivity)
    else:
        pair = _pair(target)
    first, second = (step_law(one_uniform(target.release, input_)) for input_ in (pair.first, pair.second))
    certificate = certify(target.claim.nominal.epsilon, Fraction(target.claim.nominal.delta), first, second)
    distance = advantage(first, second)
    most = certificate.epsilon_bounds[1]
    needed = "no finite ε" if math.isinf(most) else f"ε = {most:.17g}"
    return _finding(
        target,
        VERDICTS[certificate.decision],
        f"closed laws of {len(first)} and {len(second)} outcomes: they need {needed}",
        pair=described_pair(pair),
        evidence=Laws(
            advantage=Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
            ceiling=target.claim.ceiling,
            epsilon_lower=certificate.epsilon_bounds[0],
            delta_lower=float_below(certificate.delta_bounds.lower),
            digests=(first.digest(), second.digest()),
        ),
    )


def last_drawn(target: Target) -> int:
    """Return the largest whole number by which an outcome's utility may be below another's if it can still be drawn.

    Raises:
        LawError: the target does not compare one uniform number with thresholds.
    """

    def is_lost(worse: int) -> bool:
        return len(step_law(one_uniform(target.release, np.array([0.0, -worse])))) < 2

    return least(is_lost, 0, FARTHEST) - 1


def _finding(target: Target, verdict: Verdict, reason: str, **rest: Any) -> Finding:
    return Finding.on(target, EXACT_LAW, verdict, reason, scope=Scope(), **rest)
