"""Proving a claim on a neighbouring pair by the exact output laws of the implementation, or refuting it.

Both laws come from running the target's sampler on every sequence of random bits. Where they close, everything said is
exact. Where they do not (an output that can be any integer, say), at most 2^−62 of the mass is left open: what is
refuted is the claim itself, and what is proved may be the claim with `SLACK` added to δ only; the finding says so.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from attacklab.claims import PrivacyClaim
from attacklab.errors import UsageError
from attacklab.findings import Estimate, Finding, Verdict, described_pair, lower_text, upper_text
from attacklab.laws import Certificate, Decision, Law, Limits, NeverEnds, Progress, advantage, certify, enumerate_law
from attacklab.laws.enclosures import float_above, float_below
from attacklab.neighbours import NeighbouringPair, Relation
from attacklab.targets import Kind, Target

SLACK = Fraction(1, 1 << 58)
"""Added to δ where a law does not close: 3.5e-18."""

LIMITS = Limits(unresolved=Fraction(1, 1 << 62))
CLOSING_RUNS = 512
"""How many runs are spent on seeing whether a law closes."""

MOST_EPSILON = 1 << 20
"""The largest ε for which e^ε is enclosed."""

METHOD = "exact_law"
"""What stands in a finding where an attack's name would."""


def laws_of(
    target: Target,
    pair: NeighbouringPair,
    *,
    limits: Limits = LIMITS,
    progress: Callable[[Progress], None] | None = None,
) -> tuple[Law, Law]:
    """The exact output laws of a target on a pair.

    Raises:
        ValueError: the target has no sampler.
        LawError: the sampler cannot be enumerated; the message says why.
    """
    if target.sampler is None:
        raise UsageError(f"{target.name} takes no random bits, so its law cannot be found; audit it instead")
    first, second = (_law(partial(target.sampler, input_), limits, progress) for input_ in (pair.first, pair.second))
    return first, second


def _law(sampler: Callable[..., Any], limits: Limits, progress: Callable[[Progress], None] | None) -> Law:
    """The closed law if a few runs close it, for then a claim is proved with nothing added to δ; else the enclosure."""
    few = replace(limits, unresolved=Fraction(0), runs=min(limits.runs, CLOSING_RUNS))
    with contextlib.suppress(NeverEnds):
        law = enumerate_law(sampler, limits=few, progress=progress)
        if law.closed:
            return law
    return enumerate_law(sampler, limits=limits, progress=progress)


def prove(
    target: Target,
    pair: NeighbouringPair,
    *,
    limits: Limits = LIMITS,
    progress: Callable[[Progress], None] | None = None,
    spec: str | None = None,
) -> Finding:
    """Decide a target's claim on one pair.

    Args:
        target: one that has a sampler.
        pair: the two inputs.
        limits: when to stop enumerating.
        progress: called now and then while enumerating.
        spec: the words after `attacklab prove` that repeat this, for the line that replays the finding.

    Returns:
        PROVED, VIOLATED, or INCONCLUSIVE where the limits left too much of a law open.

    Raises:
        ValueError: the target has no sampler, claims nothing of such a pair, or claims an ε above 2^20.
        LawError: the sampler cannot be enumerated; the message says why.
    """
    if not target.covers(pair):
        raise UsageError(f"{target.name} claims for {target.relation} neighbours, nothing of a pair by {pair.relation}")
    claim = target.claim
    if not isinstance(claim, PrivacyClaim):
        raise UsageError(f"only a claim of an epsilon (and delta) can be proved, not {claim}")
    if claim.epsilon > MOST_EPSILON:
        raise UsageError(f"a claim must have an epsilon of at most 2^20 to be proved, not {claim.epsilon}")
    started = time.perf_counter()
    first, second = laws_of(target, pair, limits=limits, progress=progress)
    certificate = certify(claim.epsilon, claim.delta, first, second)
    distance = advantage(first, second)
    return Finding(
        target=target.name,
        target_version=target.version,
        attack=METHOD,
        verdict=_verdict(claim, certificate, first, second),
        reason=_reason(claim, certificate, first, second),
        claim=claim,
        relation=target.relation,
        pair=described_pair(pair),
        event=_described_event(certificate),
        advantage=Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
        ceiling=claim.ceiling,
        epsilon_lower=certificate.epsilon_bounds[0],
        delta_lower=float_below(certificate.delta_bounds.lower),
        laws=certificate.digests,
        seconds=time.perf_counter() - started,
        replay=f"attacklab prove {spec}" if spec else f"prove({target.name}, pair)",
    )


def default_pair(target: Target) -> NeighbouringPair:
    """A small pair as far apart as the target's kind allows: what `prove` uses unless it is told another.

    Raises:
        ValueError: a dataset can be anything, so no pair can be made up for it.
    """
    step = target.sensitivity
    if target.kind is Kind.NOISE:
        return NeighbouringPair.answers(0.0, step, sensitivity=step)
    if target.kind is Kind.SELECTION:
        return NeighbouringPair.utilities([step, 0.0, 0.0], [0.0, step, step], sensitivity=step)
    if target.bounds is not None:
        lower, upper = target.bounds
        if target.relation is Relation.SUBSTITUTE:
            return NeighbouringPair.records([lower], [upper], Relation.SUBSTITUTE)
        return NeighbouringPair.records([lower], [lower, upper], Relation.ADD_REMOVE)
    raise UsageError(f"a {target.kind} target needs a pair of its own")


def _verdict(claim: PrivacyClaim, certificate: Certificate, first: Law, second: Law) -> Verdict:
    if certificate.decision is Decision.REFUTED:
        return Verdict.VIOLATED
    slack = 0 if first.closed and second.closed else SLACK
    if certificate.decision is Decision.PROVED or certificate.delta_bounds.upper <= Fraction(claim.delta) + slack:
        return Verdict.PROVED
    return Verdict.INCONCLUSIVE


def _reason(claim: PrivacyClaim, certificate: Certificate, first: Law, second: Law) -> str:
    least, most = certificate.epsilon_bounds
    outcomes = f"{len(first)} and {len(second)} outcomes"
    there = f" at δ = {claim.delta:g}" if claim.delta else ""
    delta = upper_text(float_above(certificate.delta_bounds.upper))
    if first.closed and second.closed:
        said = "no finite ε" if math.isinf(most) else f"ε = {most:.12g}"
        return f"closed laws of {outcomes}: they need {said}{there}, and δ({claim.epsilon:g}) = {delta}"
    left = float(max(first.unresolved, second.unresolved))
    return (
        f"laws of {outcomes}, {left:.2g} of the mass left open: outcomes known on both sides need "
        f"ε ≥ {lower_text(least, 12)}{there}, and δ({claim.epsilon:g}) ≤ {delta}"
    )


def _described_event(certificate: Certificate) -> str:
    outcomes = sorted(map(str, certificate.event))
    if not outcomes:
        return ""
    shown = ", ".join(outcomes[:8]) + (", …" if len(outcomes) > 8 else "")
    return f"{'second' if certificate.reverse else 'first'} input likelier than allowed: {shown}"
