"""Proving a claim on a neighbouring pair by the exact output laws of the implementation, or refuting it.

Both laws come from running the target's sampler on every sequence of random bits. Where they close, everything said is
exact. Where they do not (an output that can be any integer, say), at most 2^−62 of the mass is left open: what is
refuted is the claim itself, and what is proved may be the claim with `SLACK` added to δ only; the finding says so. For
a claim of another kind than (ε, δ) that means `SLACK` added to each δ of its privacy profile.
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

from attacklab.claims import Claim, PrivacyClaim, Profile
from attacklab.errors import OutsideDomain, UsageError
from attacklab.findings import Estimate, Finding, Verdict, described_pair, lower_text, upper_text
from attacklab.laws import (
    Certificate,
    Decision,
    Law,
    Limits,
    Need,
    NeverEnds,
    Progress,
    Ruling,
    advantage,
    enumerate_law,
    judge,
)
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.own import FindsItsLaw
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
    if isinstance(target.sampler, FindsItsLaw):
        first, second = (
            target.sampler.law(input_, limits=limits, progress=progress) for input_ in (pair.first, pair.second)
        )
    else:
        first, second = (
            _law(partial(target.sampler, input_), limits, progress) for input_ in (pair.first, pair.second)
        )
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
        if target.relation is not None and pair.relation not in (None, target.relation):
            told = f"its claim is for {target.relation} neighbours, and the pair is one by {pair.relation}"
        else:
            told = "the pair lies outside its domain"
        raise UsageError(f"{target.name} claims nothing of this pair: {told}; give another pair")
    claim = target.claim
    _require_small_epsilons(claim)
    started = time.perf_counter()
    first, second = laws_of(target, pair, limits=limits, progress=progress)
    ruling = judge(claim, first, second, slack=SLACK)
    distance = advantage(first, second)
    point, certificate = ruling.point, ruling.certificate
    return Finding(
        target=target.name,
        target_version=target.version,
        attack=METHOD,
        verdict=_verdict(ruling),
        reason=_reason(ruling, first, second),
        claim=claim,
        judged_at=None if point == claim else point,
        relation=target.relation,
        pair=described_pair(pair),
        event=_described_event(ruling),
        advantage=Estimate(float(distance.lower), float_below(distance.lower), float_above(distance.upper)),
        ceiling=claim.ceiling,
        epsilon_lower=certificate.epsilon_bounds[0] if certificate else None,
        delta_lower=float_below(certificate.delta_bounds.lower) if certificate else None,
        laws=(first.digest(), second.digest()),
        seconds=time.perf_counter() - started,
        replay=f"attacklab prove {spec}" if spec else f"prove({target.name}, pair)",
    )


def _require_small_epsilons(claim: Claim) -> None:
    epsilons = claim.points if isinstance(claim, (PrivacyClaim, Profile)) else ()
    if max(epsilons, default=0.0) > MOST_EPSILON:
        raise UsageError(
            f"a claim must have an epsilon of at most 2^20 to be proved, not {max(epsilons)}; claim a smaller one"
        )


def default_pair(target: Target) -> NeighbouringPair:
    """The first pair that a target declares, or else a small one as far apart as its kind and its domain allow.

    It is what `prove` uses unless it is told another.

    Raises:
        UsageError: no pair can be made up for it: a dataset can be anything, or its domain holds no such pair.
    """
    if target.pairs:
        return target.pairs[0]
    try:
        return target.adapted(_apart(target))
    except OutsideDomain as error:
        raise UsageError(f"{error}; give a pair") from error


def _apart(target: Target) -> NeighbouringPair:
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


def _verdict(ruling: Ruling) -> Verdict:
    if ruling.decision is Decision.REFUTED:
        return Verdict.VIOLATED
    if ruling.decision is Decision.PROVED or ruling.kept_with_slack:
        return Verdict.PROVED
    return Verdict.INCONCLUSIVE


def _reason(ruling: Ruling, first: Law, second: Law) -> str:
    is_closed = first.closed and second.closed
    laws = f"{'closed ' if is_closed else ''}laws of {len(first)} and {len(second)} outcomes"
    if not is_closed:
        laws += f", {float(max(first.unresolved, second.unresolved)):.2g} of the mass left open"
    if ruling.certificate is not None:
        return f"{laws}: {_point_needed(ruling.certificate, is_closed=is_closed)}"
    if ruling.need is None:
        return laws
    return f"{laws}{'' if is_closed else ','} {_needed(ruling.need)}; claimed {ruling.need.claimed:g}"


def _needed(need: Need) -> str:
    if math.isinf(need.lower):
        return f"need more than any finite {need.symbol}"
    at = f" (by order α = {need.order:.10g})" if need.order is not None else ""
    return f"need {need.symbol} ≥ {lower_text(need.lower, 4)}{at}"


def _point_needed(certificate: Certificate, *, is_closed: bool) -> str:
    least, most = certificate.epsilon_bounds
    there = f" at δ = {certificate.delta:g}" if certificate.delta else ""
    delta = upper_text(float_above(certificate.delta_bounds.upper))
    if is_closed:
        said = "no finite ε" if math.isinf(most) else f"ε = {most:.12g}"
        return f"they need {said}{there}, and δ({certificate.epsilon:g}) = {delta}"
    return (
        f"outcomes known on both sides need ε ≥ {lower_text(least, 12)}{there}, "
        f"and δ({certificate.epsilon:g}) ≤ {delta}"
    )


def _described_event(ruling: Ruling) -> str:
    outcomes = sorted(map(str, ruling.event))
    if not outcomes:
        return ""
    shown = ", ".join(outcomes[:8]) + (", …" if len(outcomes) > 8 else "")
    return f"{'second' if ruling.reverse else 'first'} input likelier than allowed: {shown}"
