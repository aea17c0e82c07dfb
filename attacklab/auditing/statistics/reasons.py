"""Why a claim is refuted, in one line: the counts, the odds that decided, and bounds to recompute the ε or δ from.

The evidence decides (see `betting`). As odds it says how much richer a gambler got who staked on the claim being false;
if the claim is true, odds of x to 1 ever come up with a probability of at most 1/x.

Bounds on P[E] and on Q[E] must each hold, so it takes more trials for them to exceed the claim than for the evidence.
They are given at the audit's own confidence if they exceed it there, and else at the highest of `CONFIDENCES` at which
they do; if they never do, the odds stand alone. Bounds of lower confidence lie within those of higher confidence, so
what is said at confidence 1 − β is wrong with a probability of at most β, whichever level was picked. Every figure is
rounded to its safe side, and the ε or δ follows from the figures as they are written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from attacklab.auditing.statistics.betting import confidence_sequence, evidence
from attacklab.model.claims import PrivacyClaim, directions
from attacklab.model.findings import Counts, lower_text, upper_text

CONFIDENCES = (0.999, 0.99, 0.95)
"""The confidences that are tried, in this order, if the bounds at the audit's own do not exceed the claim."""

DIGITS = range(3, 18)
"""The numbers of digits that are tried for a figure, until it shows that the claim is exceeded."""

ALIKE = 9
"""If several cases exceed the claim equally, to this many decimal places, the first of `SIDES` is shown."""

WRITTEN_OUT = 6
"""Larger odds than ten to this power are given as a power of ten."""

SIDES = (("P[E]", "Q[E]"), ("P[not E]", "Q[not E]"), ("Q[E]", "P[E]"), ("Q[not E]", "P[not E]"))
"""The names of the two probabilities that each entry of `claims.directions` compares, in the same order."""


def refuted_reason(judged: PrivacyClaim, counts: Counts, alpha: float, *, fails: bool) -> str:
    """Say why the counts of an event (of the target's failures, if `fails`) refute the point `judged` of a claim."""
    summary = f"{counted(counts, fails=fails)}: odds of {odds_text(evidence(judged, counts))} to 1 against the claim"
    return "; ".join([summary, *_bounded(judged, counts, alpha)])


def counted(counts: Counts, *, fails: bool) -> str:
    """Say how often an event (a failure of the target, if `fails`) happened on each input."""
    event = "the target failed" if fails else "E happened"
    second = f"in {counts.second:,} on the second"
    return f"{event} in {counts.first:,} of {counts.trials:,} trials on the first input and {second}"


def odds_text(log_odds: float) -> str:
    """Return odds as text, rounded down, from their natural logarithm."""
    power = log_odds / math.log(10)
    return f"10^{math.floor(power):,}" if power >= WRITTEN_OUT else f"{math.floor(float(lower_text(10**power, 2))):,}"


def confidence_text(alpha: float) -> str:
    """Return the confidence of an audit, as text."""
    return f"(confidence 1 − {upper_text(alpha, 2)})"


def above_text(bound: float, claimed: float) -> str:
    """Return a lower bound above `claimed` as text, in as few digits as show that it is above."""
    return next((text for digits in DIGITS if float(text := lower_text(bound, digits)) > claimed), repr(bound))


def _bounded(judged: PrivacyClaim, counts: Counts, alpha: float) -> Iterator[str]:
    """Yield one text: the bounds that exceed the claim at the highest confidence. Yield nothing if no bounds do."""
    levels = [(alpha / 2, confidence_text(alpha))]  # the other half of α is that of the evidence
    levels += [(1 - share, f"(confidence {100 * share:g} %)") for share in CONFIDENCES if 1 - share > alpha]
    for level, confidence in levels:
        first, second = (confidence_sequence(hits, counts.trials, level / 2) for hits in (counts.first, counts.second))
        cases = zip(directions(first, second), SIDES, strict=True)
        bounds, names = max(cases, key=lambda case: round(judged.excess(*case[0]), ALIKE))
        if judged.excess(*bounds) > 0:
            yield _shown(judged, bounds, names, confidence)
            return


def _shown(judged: PrivacyClaim, bounds: tuple[float, float], names: tuple[str, str], confidence: str) -> str:
    """Return the two bounds as text, and the ε or the δ that follows from the figures as they are written."""
    for digits in DIGITS:
        at_least, at_most = lower_text(bounds[0], digits), upper_text(bounds[1], digits)
        epsilon = upper_text(judged.epsilon, digits)
        p, q = float(at_least), float(at_most)
        delta = PrivacyClaim(float(epsilon)).excess(p, q)
        if delta > judged.delta:
            break
    because = f"{confidence}, because {names[0]} ≥ {at_least} and {names[1]} ≤ {at_most}"
    if judged.delta:
        return f"δ ≥ {above_text(delta, judged.delta)} at ε = {epsilon} {because}"
    return f"ε ≥ {above_text(math.log(p / q), judged.epsilon)} {because}"
