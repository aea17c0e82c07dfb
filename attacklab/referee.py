"""The referee: runs a target against attacks and says what was found. Nothing else runs a target.

One α a run is split evenly over the attacks that apply, and each attack's share over its scenarios. Where a scenario
has several candidate events, one sample chooses and a fresh one judges. Both samples grow until they have decided: the
evidence against a claim may be looked at as often as one likes (see `betting`). All randomness is derived from the
seed, the attack's name, the scenario, the role of the sample, the side of the pair and the batch, so that a finding
does not depend on what else ran.
"""

from __future__ import annotations

import enum
import math
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from attacklab.attacks import ATTACKS
from attacklab.attacks.base import Attack, Event, Scenario
from attacklab.betting import evidence, judge
from attacklab.claims import PrivacyClaim
from attacklab.findings import Counts, Finding, Verdict, described_pair
from attacklab.floats import require_ieee_arithmetic
from attacklab.inference import Assessment, assess, share_of_alpha
from attacklab.power import smallest_detectable_advantage
from attacklab.targets import Outputs, Target, TargetError

DEFAULT_TRIALS = 100_000
DEFAULT_ALPHA = 1e-6
BATCH_OUTPUTS = 1 << 16
"""Outputs drawn at a time: large enough to hide the cost of a call, small enough that memory stays constant."""

CHOOSING_SHARE = 10
"""At most one trial is spent on choosing an event for so many spent on judging it."""

CHOOSING_ALPHA = 0.05
"""The confidence at which candidates are ranked; it costs no α, because judging uses fresh outputs."""

FIRST_LOOK = 64
GROWTH = 1.5
"""The evidence is looked at after so many trials, and then each time that their number has grown by this factor."""


class _Role(enum.IntEnum):
    PROBE = 0
    CHOOSE = 1
    JUDGE = 2


def audit(
    target: Target,
    attacks: Sequence[Attack] = ATTACKS,
    *,
    trials: int = DEFAULT_TRIALS,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    spend_all: bool = False,
    spec: str | None = None,
) -> list[Finding]:
    """Run attacks against a target.

    Args:
        target: the implementation.
        attacks: which attacks, all by default; those that do not apply give a NOT_APPLICABLE finding and cost no α.
        trials: the most outputs of either input on which an event is judged.
        alpha: the probability of any false alarm in the whole run, were the claim true.
        seed: what all randomness is derived from.
        spend_all: whether to go on to the last trial when a claim has been refuted before, for closer bounds.
        spec: the words after `attacklab audit` that load this target, for the line that replays a finding.

    Returns:
        One finding a scenario, in the order of the attacks.

    Raises:
        ValueError: `trials`, `alpha` or `seed` is out of range.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
    """
    require_ieee_arithmetic()
    if trials < 1:
        raise ValueError(f"trials must be at least 1, not {trials}")
    if seed < 0:
        raise ValueError(f"seed must be at least 0, not {seed}")
    share = share_of_alpha(alpha, max(1, sum(attack.applies_to(target) for attack in attacks)))
    findings: list[Finding] = []
    for attack in attacks:
        findings += _Trial(target, attack, trials, share, seed, spend_all, spec).findings()
    require_ieee_arithmetic()  # a target may have loaded a library that changed it
    return findings


@dataclass
class _Trial:
    """One attack on one target."""

    target: Target
    attack: Attack
    trials: int
    alpha: float
    seed: int
    spend_all: bool
    spec: str | None
    _probes: int = field(default=0, init=False)

    def findings(self) -> list[Finding]:
        if not self.attack.applies_to(self.target):
            reason = f"{self.attack.name} does not apply to a {self.target.kind} target"
            return [self._finding(Verdict.NOT_APPLICABLE, reason)]
        started = time.perf_counter()
        try:
            scenarios = tuple(self.attack.scenarios(self.target, self._probe))
        except TargetError as error:
            return [self._finding(Verdict.ERROR, str(error), seconds=time.perf_counter() - started)]
        alpha = share_of_alpha(self.alpha, len(scenarios))
        return [self._judged(scenario, number, alpha) for number, scenario in enumerate(scenarios)]

    def _judged(self, scenario: Scenario, number: int, alpha: float) -> Finding:
        started = time.perf_counter()
        try:
            claim = self.target.claim.composed(scenario.answers)
        except ValueError:
            reason = f"the claim promises nothing of {scenario.answers} answers together"
            return self._finding(Verdict.INCONCLUSIVE, reason, pair=described_pair(scenario.pair))
        try:
            event, spent = self._chosen(scenario, number, claim)
            counts, assessment = self._judged_event(scenario, number, event, claim, alpha)
        except TargetError as error:
            return self._finding(
                Verdict.ERROR, str(error), pair=described_pair(scenario.pair), seconds=time.perf_counter() - started
            )
        detectable = None if assessment.violated else self._detectable(claim, assessment, alpha)
        verdict, reason = _verdict(assessment, detectable, claim.ceiling)
        return self._finding(
            verdict,
            reason,
            claim=claim,
            pair=described_pair(scenario.pair),
            event=event.description,
            answers=scenario.answers,
            counts=counts,
            first=assessment.first,
            second=assessment.second,
            advantage=assessment.advantage,
            ceiling=claim.ceiling,
            epsilon_lower=assessment.epsilon_lower,
            delta_lower=assessment.delta_lower,
            smallest_detectable=detectable,
            alpha=alpha,
            trials=2 * (spent + counts.trials) * scenario.answers,
            seconds=time.perf_counter() - started,
        )

    def _chosen(self, scenario: Scenario, number: int, claim: PrivacyClaim) -> tuple[Event, int]:
        """The candidate that looks best, and how many trials it took to see."""
        if len(scenario.events) == 1:
            return scenario.events[0], 0
        most = max(1, self.trials // CHOOSING_SHARE)
        for counts in self._looks(scenario, number, _Role.CHOOSE, scenario.events, most):
            shown = [assess(claim, count, CHOOSING_ALPHA).excess_lower for count in counts]
            if max(shown) > 0:
                break
        return scenario.events[int(np.argmax(shown))], counts[0].trials

    def _judged_event(
        self, scenario: Scenario, number: int, event: Event, claim: PrivacyClaim, alpha: float
    ) -> tuple[Counts, Assessment]:
        for (counts,) in self._looks(scenario, number, _Role.JUDGE, (event,), self.trials):
            if evidence(claim, counts) >= math.log(2 / alpha):
                break
        return counts, judge(claim, counts, alpha)

    def _detectable(self, claim: PrivacyClaim, assessment: Assessment, alpha: float) -> float | None:
        # An event and its complement refute the same claims; the rarer of the two says how small an advantage shows.
        rates = (assessment.first.estimate, assessment.second.estimate)
        base_rate = min(*rates, *(1 - rate for rate in rates))
        return smallest_detectable_advantage(claim, self.trials, alpha, base_rate)

    def _looks(
        self, scenario: Scenario, number: int, role: _Role, events: Sequence[Event], most: int
    ) -> Iterator[list[Counts]]:
        """The counts of each event after ever more trials, up to `most`; only after all where all are to be spent."""
        counts = [Counts(0, 0, 0)] * len(events)
        step = max(1, BATCH_OUTPUTS // scenario.answers)
        done = batch = 0
        while done < most:
            look = most if self.spend_all else min(most, max(FIRST_LOOK, math.ceil(done * GROWTH)))
            while done < look:
                rows = min(step, look - done)
                inside = [
                    [_inside(event, outputs) for event in events]
                    for outputs in self._batch(scenario, number, role, batch, rows)
                ]
                counts = [before + Counts.of(*sides) for before, *sides in zip(counts, *inside, strict=True)]
                done, batch = done + rows, batch + 1
            yield counts

    def _batch(self, scenario: Scenario, number: int, role: _Role, batch: int, rows: int) -> Iterator[Outputs]:
        """Outputs for the first and for the second input, a row a trial."""
        for side, input_ in enumerate((scenario.pair.first, scenario.pair.second)):
            outputs = self.target.outputs(
                input_,
                rows * scenario.answers,
                self._rng(number, role, side, batch),
                sees_failures=scenario.sees_failures,
            )
            yield outputs.reshape(rows, scenario.answers, *outputs.shape[1:]) if scenario.answers > 1 else outputs

    def _probe(self, input_: object, trials: int) -> Outputs:
        self._probes += 1
        return self.target.outputs(input_, trials, self._rng(self._probes, _Role.PROBE, 0, 0))

    def _rng(self, number: int, role: _Role, side: int, batch: int) -> np.random.Generator:
        key = (zlib.crc32(self.attack.name.encode()), number, int(role), side, batch)
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=key))

    def _finding(self, verdict: Verdict, reason: str, **rest: object) -> Finding:
        common: dict[str, object] = {
            "target": self.target.name,
            "target_version": self.target.version,
            "attack": self.attack.name,
            "verdict": verdict,
            "reason": reason,
            "claim": self.target.claim,
            "ceiling": self.target.claim.ceiling,
            "seed": self.seed,
            "replay": self._replay(),
        }
        return Finding(**{**common, **rest})  # type: ignore[arg-type] # checked by the dataclass's own field names

    def _replay(self) -> str:
        if self.spec is None:
            settings = f"trials={self.trials}, alpha={self.alpha!r}, seed={self.seed}"
            settings += ", spend_all=True" if self.spend_all else ""
            return f"audit({self.target.name}, [{self.attack!r}], {settings})"
        settings = f"--trials {self.trials} --alpha {self.alpha!r} --seed {self.seed}"
        settings += " --spend-all" if self.spend_all else ""
        return f"attacklab audit {self.spec} --attack {self.attack.name} {settings}"


def _inside(event: Event, outputs: Outputs) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = event.contains(outputs)
    if inside.shape != (len(outputs),) or inside.dtype != np.bool_:
        raise TypeError(f"event {event.description!r} gave {inside.dtype}{inside.shape}, not one bool a trial")
    return inside


def _verdict(assessment: Assessment, detectable: float | None, ceiling: float) -> tuple[Verdict, str]:
    if assessment.violated:
        first, second = assessment.first, assessment.second
        return Verdict.VIOLATED, (
            f"P[E] in [{first.lower:.3g}, {first.upper:.3g}] and Q[E] in [{second.lower:.3g}, {second.upper:.3g}] "
            f"need ε ≥ {assessment.epsilon_lower:.3g}"
        )
    if detectable is None:
        return Verdict.INCONCLUSIVE, "with so few trials no advantage of this event can refute the claim"
    return Verdict.NOT_DETECTED, (
        f"of an event this rare an advantage of {detectable:.3g} would have been detected "
        f"(of any event the claim allows {ceiling:.3g})"
    )
