"""Deciding an (ε, δ) claim on a pair for every source whose bits are within γ of fair."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from attacklab.laws import Bounds, Deadline, Limits, OutOfTime, exp_bounds, log_bounds
from attacklab.laws.enclosures import float_above, float_below
from attacklab.laws.errors import LawError
from attacklab.laws.imperfect_bits import BitTree, EndlessBits, bit_tree, worst_delta, worst_ratio
from attacklab.laws.outcomes import with_python_numbers
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import UsageError, UsageTypeError
from attacklab.model.findings import Finding, Verdict, lower_text, upper_text
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Target


def require_judged_by_source(target: Target, within: float) -> None:
    """Refuse what is not judged source by source.

    Raises:
        UsageError: γ is not an int or a float in [0, 1/2), or the claim is not an (ε, δ) of outputs alone.
    """
    if not isinstance(within, int | float) or isinstance(within, bool):
        raise UsageTypeError(f"bits_within must be a Python number, such as 0.01, not {within!r}")
    if not 0 <= within < 0.5:
        raise UsageError(f"--bits-within must be from 0 to less than 0.5, not {within}")
    if within and not isinstance(target.claim, PrivacyClaim):
        advice = "leave --covers work out" if target.covers_work else "claim one by --epsilon and --delta"
        raise UsageError(
            f"{target.name} claims {target.claim}, and only an (ε, δ) of outputs alone is judged for bits that are not "
            f"fair; {advice}"
        )


def for_bits_within(
    fair: Finding, target: Target, pair: NeighbouringPair, within: float, limits: Limits, seconds: float
) -> Finding:
    """What is found for bits within γ of fair, where a claim is proved for fair ones; else what was found for these.

    Args:
        fair: of the same target and pair, by exact laws.
        target: what was proved; it claims an (ε, δ).
        pair: the two inputs.
        within: γ.
        limits: when to stop looking for sequences of bits.
        seconds: when to stop whatever is being done.

    Raises:
        LawError: the sampler is not the same function of its bits as before.
    """
    scope = replace(fair.scope, bits_within=within) if fair.scope is not None else None
    fair = replace(fair, scope=scope)
    if fair.verdict is Verdict.PROVED_WITH_SLACK:
        reason = (
            "its laws do not close, and the worst source of bits is found for closed ones alone; let it draw a public "
            "number of bits, which no loop can exceed"
        )
        return replace(fair, verdict=Verdict.INCONCLUSIVE, reason=reason)
    if fair.verdict is not Verdict.PROVED:
        return fair
    try:
        fields = Deadline(seconds).run(lambda: _decided(fair, target, pair, within, limits))
    except EndlessBits as endless:
        fields = {"verdict": Verdict.INCONCLUSIVE, "reason": str(endless)}
    except OutOfTime:
        reason = f"{seconds:.3g} s were not enough to find the worst source of bits; allow more by --seconds"
        fields = {"verdict": Verdict.INCONCLUSIVE, "reason": reason}
    return replace(fair, **{"advantage": None, "epsilon_lower": None, "delta_lower": None, **fields})


def _decided(fair: Finding, target: Target, pair: NeighbouringPair, within: float, limits: Limits) -> dict[str, Any]:
    first, second = (_tree(target, input_, limits) for input_ in (pair.first, pair.second))
    if (first.law().digest(), second.law().digest()) != fair.laws:
        raise LawError("the sampler gave other outputs for the same bits than before; let it draw from `bits` alone")
    claim = target.claim.nominal
    epsilon, delta = Fraction(claim.epsilon), Fraction(claim.delta)
    rest: dict[str, Any]
    bits = (
        "fair bits keep the claim, and "
        f"those within {within:g} of fair, at most {max(first.most_bits, second.most_bits)} of them a run"
    )
    if not delta:
        worst, (least, most) = worst_ratio(first, second, within), exp_bounds(epsilon)
        is_kept, is_broken = worst.ratio <= least, worst.ratio > most
        lower, upper = log_bounds(Bounds(worst.ratio, worst.ratio))
        needed = "no finite ε" if math.isinf(upper) else f"ε = {upper:.12g}"
        reason = f"{bits}, need {needed}; claimed {claim.epsilon:g}"
        likelier = f"{'second' if worst.reverse else 'first'} input likelier than allowed, by the worst source of bits"
        rest = {"epsilon_lower": lower, "event": f"{likelier}: {worst.outcome!r}" if is_broken else ""}
    else:
        found = worst_delta(first, second, epsilon, within)
        is_kept, is_broken = found.upper <= delta, found.lower > delta
        rest = {"delta_lower": float_below(found.lower)}
        from_to = f"{lower_text(rest['delta_lower'])} to {upper_text(float_above(found.upper))}"
        reason = f"{bits}, need a δ from {from_to} at ε = {claim.epsilon:g}; claimed {claim.delta:g}"
    verdict = Verdict.PROVED if is_kept else Verdict.VIOLATED if is_broken else Verdict.INCONCLUSIVE
    return {"verdict": verdict, "reason": reason, **rest}


def _tree(target: Target, input_: Any, limits: Limits) -> BitTree:
    sampler = target.sampler
    assert sampler is not None  # noqa: S101 - a proof has been found by it
    if not target.numpy_as_python:
        return bit_tree(sampler, input_, limits=limits)
    return bit_tree(lambda bits: with_python_numbers(sampler(input_, bits)), limits=limits)
