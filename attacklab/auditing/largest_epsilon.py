"""Finds the largest lower bound on a target's ε that a sample proves, rather than whether it refutes a claim.

An audit of a claim may look often and stop early, which costs some of its bound. Here all trials are spent and looked
at once, so the bound is an exact one for a fixed number of trials, and one bet has the whole α. What is bounded is the
ratio of the event's two probabilities, not each of them (see `ratio`).

What refutes a small ε best is seldom what shows a large one: that is a rarer event, which the other input hardly ever
shows. The black box ranks events by the ε that they promise to prove, and learns them from as many outputs as that
takes. Every event of every scenario is counted on a choosing sample. The most promising scenarios are counted again, on
half as many trials as will judge, and the event with the largest lower bound on ε is judged on fresh outputs.

If a call for many outputs raises, the sample is drawn anew, one output a call. Where that happens to the sample that
judges, and failures depend on the data, the bound is wrong with a probability of at most 2α; otherwise at most α.

No sample shows more than about ln(P[E]·trials/ln(1/α)), which is what an event gives that the other input never shows.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', for maximising a lower bound on ε.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from attacklab.attacks import BlackBox, sized
from attacklab.attacks.base import Attack, Event
from attacklab.auditing.judge import PlannedScenario, Rules
from attacklab.auditing.samples import Role, Sample
from attacklab.auditing.statistics.choosing import SHARE
from attacklab.auditing.statistics.inference import assess
from attacklab.auditing.statistics.ratio import READINGS, Reading
from attacklab.auditing.statistics.reasons import above_text, confidence_text, counted
from attacklab.model.errors import LabFault, Refused, TargetError
from attacklab.model.findings import FAILURE, Counts, Finding, Verdict, lower_text
from attacklab.model.floats import require_ieee_arithmetic

CHOOSING_DOUBT = 100.0
"""Events are compared by their bounds at α divided by this factor, because the best of many events has been lucky, a
rare one most of all. Ties are broken by the bounds at α, then by the bounds at 1/2."""

FINALISTS = 4
"""How many scenarios are counted again."""

AGAIN = 2
"""The second count takes `trials // AGAIN` trials, where `trials` is the number that will judge."""


@dataclass(frozen=True)
class _Bet:
    """An event of a scenario that may be judged, and the bound on ε that it promises."""

    planned: PlannedScenario
    event: Event
    reading: Reading
    shown: tuple[float, ...]  # estimated bounds on the ε of one answer, at α/`CHOOSING_DOUBT`, at α and at 1/2
    one_by_one: bool  # whether each output is drawn by a call of its own


def largest_epsilon(rules: Rules, attacks: Sequence[Attack], *, trials: int, alpha: float) -> list[Finding]:
    """Find the largest lower bound on a target's ε, at the δ that it claims (of a profile, at its nominal point's δ).

    See `audit` for the arguments. The search begins at the target's claim, and the verdict is about this claim. Each
    scenario's event is chosen on a tenth of the trials; for the best few scenarios it is chosen again, on half.

    Returns:
        One finding whose `epsilon_lower` is the bound, and one for each attack that had nothing to try or failed.
    """
    started = time.perf_counter()
    chosen = [
        attack.proving_within(trials) if isinstance(attack, BlackBox) else sized(attack, trials) for attack in attacks
    ]
    plans = [rules.plan(attack) for attack in chosen]
    planned = [one for plan in plans if isinstance(plan, tuple) for one in plan if not one.is_beyond_claim]
    outcomes = [_chosen(one, max(1, trials // SHARE), alpha) for one in planned]
    bets = [bet for bet in outcomes if isinstance(bet, _Bet)]
    findings = [failure for failure in (*plans, *outcomes) if isinstance(failure, Finding)]
    finalists = sorted(bets, key=lambda bet: bet.shown, reverse=True)[:FINALISTS]
    again = [_chosen(bet.planned, max(1, trials // AGAIN), alpha) for bet in finalists]
    better = [bet for bet in again if isinstance(bet, _Bet)]
    findings += [failure for failure in again if isinstance(failure, Finding)]
    if better:
        findings.insert(0, _judged(max(better, key=lambda bet: bet.shown), trials, alpha))
    require_ieee_arithmetic()  # a target may have loaded a library that changed it
    seconds = time.perf_counter() - started
    return [replace(finding, seconds=seconds) for finding in findings]


def _chosen(planned: PlannedScenario, trials: int, alpha: float) -> _Bet | Finding:
    """Return the best bet of a scenario, or a finding that says why there is none."""
    claim = planned.claim
    if claim is None:
        return planned.without_claim()
    try:
        seen, one_by_one = _counted(planned, planned.sample(Role.CHOOSE, planned.events, trials))
    except (TargetError, LabFault) as error:
        return planned.finding(Verdict.ERROR, str(error))
    shown = {
        (event, reading): tuple(
            reading.guessed(counts, claim.nominal.delta, doubt) / planned.answers
            for doubt in (alpha / CHOOSING_DOUBT, alpha, 1 / 2)
        )
        for event, counts in enumerate(seen)
        for reading in READINGS
    }
    event, reading = max(shown, key=shown.__getitem__)
    return _Bet(planned, planned.events[event], reading, shown[event, reading], one_by_one)


def _judged(bet: _Bet, trials: int, alpha: float) -> Finding:
    """Judge the event of a bet on a fresh sample of `trials` trials, and return the finding."""
    planned = bet.planned
    claim = planned.rules.target.claim.composed(planned.answers)
    judged = claim.nominal
    try:
        (counts,), _ = _counted(planned, planned.sample(Role.JUDGE, (bet.event,), trials, one_by_one=bet.one_by_one))
    except (TargetError, LabFault) as error:
        return planned.finding(Verdict.ERROR, str(error))
    assessment = assess(judged, counts, alpha)
    epsilon = bet.reading.epsilon(counts, judged.delta, alpha)
    violated = epsilon > judged.epsilon
    could = READINGS[0].epsilon(Counts(trials, 0, trials), judged.delta, alpha)  # the most that any counts could show
    undecided = Verdict.NOT_DETECTED if could > judged.epsilon else Verdict.INCONCLUSIVE
    samples = planned.samples(claim, bet.event, judged, counts, assessment)
    text = above_text(epsilon, judged.epsilon) if violated else lower_text(epsilon)
    at_delta = f" at δ = {lower_text(judged.delta)}" if judged.delta else ""
    happened = counted(counts, fails=planned.flaw(bet.event) == FAILURE)
    return planned.finding(
        Verdict.VIOLATED if violated else undecided,
        f"{happened}, which shows ε ≥ {text}{at_delta} {confidence_text(alpha)}",
        flaw=planned.flaw(bet.event),
        claim=claim,
        evidence=replace(samples, epsilon_lower=epsilon, delta_lower=assessment.delta_lower if violated else 0.0),
        alpha=alpha,
        trials=2 * planned.answers * (max(1, trials // SHARE) + trials // AGAIN + trials),
    )


def _counted(planned: PlannedScenario, sample: Sample) -> tuple[list[Counts], bool]:
    """Return each event's counts, and whether each output had its own call (it had if a call for many raised)."""
    try:
        (counts,) = planned.looks(sample)
    except Refused:
        sample = replace(sample, one_by_one=True)
        (counts,) = planned.looks(sample)
    return counts, sample.one_by_one
