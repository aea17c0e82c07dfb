"""An audit that keeps to a time: short where the target is plainly broken, as powerful as the seconds allow if not.

First every scenario is rehearsed: a few trials are timed and thrown away, which says how many fit. Then come two
rounds, each with half of α: a short one, which ends the audit where a claim is refuted or the target fails, and one of
all the trials. Given the number of trials, the findings do not depend on the time anything took.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass

from attacklab.attacks.base import Attack
from attacklab.batches import Bench, Outline, Role, Sample
from attacklab.execution import Here
from attacklab.findings import Finding, Verdict
from attacklab.referee import CHOOSING_SHARE, audit
from attacklab.targets import Target, TargetError

SHORT_ROUND = 1 << 10
"""Trials of the first round: a blatant flaw shows within a few hundred."""

MOST_TRIALS = 1 << 17
"""More are not taken however fast the target is."""

REHEARSING_SHARE = 20
"""A scenario is rehearsed until that takes its share of the seconds, divided by this."""

MOST_REHEARSED = 1 << 9


@dataclass(frozen=True, slots=True)
class Audited:
    """What an audit came to.

    Attributes:
        trials: the most outputs of either input that an event was to be judged on; with the same seed they give the
            same findings again.
        findings: those of the round that decided.
    """

    trials: int
    findings: list[Finding]


class _Planned(Here):
    """Runs batches here; each attack looks for its scenarios once, however many rounds there are."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self._outlines: dict[int, tuple[Outline, ...]] = {}

    def outlines(self, attack: int) -> tuple[Outline, ...]:
        if attack not in self._outlines:
            self._outlines[attack] = super().outlines(attack)
        return self._outlines[attack]


def audit_within(
    target: Target, attacks: Sequence[Attack], *, seconds: float, trials: int | None, alpha: float, seed: int
) -> Audited:
    """Run attacks against a target for about so long.

    Args:
        target: the implementation.
        attacks: which attacks.
        seconds: how long judging should take at most; what an attack draws to find a pair is not limited by it.
        trials: the most outputs of either input on which an event is judged; None for as many as fit into `seconds`,
            rounded down to a power of two so that small changes of speed do not change them.
        alpha: the probability of any false alarm in both rounds, were the claim true.
        seed: what all randomness is derived from.

    Raises:
        ValueError: `seconds`, `trials`, `alpha` or `seed` is out of range.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
    """
    if not seconds > 0:
        raise ValueError(f"seconds must be greater than 0, not {seconds}")
    runner = _Planned(Bench(target, attacks, seed))
    if trials is None:
        trials = _affordable(target, attacks, runner, seconds)
    rounds = [trials] if trials <= SHORT_ROUND else [SHORT_ROUND, trials]
    for most in rounds:
        findings = audit(target, attacks, trials=most, alpha=alpha / len(rounds), seed=seed, where=lambda _: runner)
        if {finding.verdict for finding in findings} & {Verdict.VIOLATED, Verdict.ERROR}:
            break
    return Audited(trials, findings)


def _affordable(target: Target, attacks: Sequence[Attack], runner: _Planned, seconds: float) -> int:
    """The trials that fit into the seconds that finding and rehearsing the scenarios leaves."""
    started = time.perf_counter()
    scenarios: list[tuple[int, int, Outline]] = []
    for place, attack in enumerate(attacks):
        if attack.applies_to(target):
            with contextlib.suppress(TargetError):  # the first round reports it
                scenarios += [(place, number, outline) for number, outline in enumerate(runner.outlines(place))]
    enough = seconds / (REHEARSING_SHARE * max(1, len(scenarios)))
    cost = sum(_seconds_a_trial(runner, *scenario, enough) for scenario in scenarios)
    left = seconds - (time.perf_counter() - started)
    trials = 1
    while trials < MOST_TRIALS and 2 * trials * cost <= left:
        trials *= 2
    return trials


def _seconds_a_trial(runner: _Planned, place: int, number: int, outline: Outline, enough: float) -> float:
    """What a trial of a scenario takes, from ever longer samples until one took `enough` seconds."""
    trials = 1
    while True:
        sample = Sample(place, number, outline.digest(), Role.CHOOSE, (0,), outline.answers, trials, spend_all=True)
        started = time.perf_counter()
        try:
            for _ in runner.counts(sample, sample.batches()):
                pass
        except TargetError:  # the first round reports it
            return 0.0
        taken = time.perf_counter() - started
        if (taken >= enough and trials > 1) or trials >= MOST_REHEARSED:  # a first call takes longer than the next
            return taken / trials * (1 + 1 / CHOOSING_SHARE)
        trials *= 2
