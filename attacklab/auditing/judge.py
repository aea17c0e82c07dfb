"""One attack on one target: its scenarios are planned, and each is judged.

An attack picks pairs and events, from outputs on which no event is judged.

One sample chooses among a scenario's candidate events the one that promises most evidence (see `choosing`), and says
how many trials it will take to refute the claim by it; a fresh sample judges it. Both samples grow until they have
decided: the evidence against a claim may be looked at as often as one likes (see `betting`). If a call for many outputs
raises, both samples are drawn anew, one output a call. If the choosing sample shows that the chosen event keeps the
claim, the fresh sample is hardly larger, and the stated power is the power of the trials that were drawn. See `samples`
for what is drawn, and why that depends on nothing else that runs, and `drawing` for where it is drawn.
"""

from __future__ import annotations

import contextlib
import functools
import math
import sys
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from attacklab.attacks.base import FEW, Attack, Event, Scenario
from attacklab.auditing import DEFAULT_TRIALS as DEFAULT_TRIALS
from attacklab.auditing.clock import Clock
from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.auditing.samples import NUMBER_BYTES, REFUSES, Role, Sample, counted, naming, replays, seed_of
from attacklab.auditing.statistics.betting import evidence, judge
from attacklab.auditing.statistics.choosing import (
    POWER,
    choosing_trials,
    detects,
    expected_evidence,
    promised_evidence,
    smallest_detectable_advantage,
    trials_needed,
)
from attacklab.auditing.statistics.inference import Assessment, clopper_pearson, keeps_surely, largest_excess
from attacklab.auditing.statistics.reasons import refuted_reason
from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.errors import LabFault, OutOfTime, OutsideDomain, Refused, TargetError
from attacklab.model.findings import FAILURE, NO_COUNTS, Counts, Finding, Samples, Verdict, described_pair, upper_text
from attacklab.model.targets import Kind, Outputs, Target, are_numbers

LARGEST_BUDGET = 10**8
"""The most trials that anybody is asked to spend on an event. A claim that takes more is untestable by sampling."""

WRONGLY_SETTLED = 1e-9
"""The probability with which an event that breaks the claim is taken to keep it, so that fewer trials judge it."""

BEYOND_CLAIM = "; the claim does not cover NaN or an infinity on one input only, so this does not refute it"

NOT_REPLAYABLE = (
    "; this cannot be replayed: under the same seed, your function gives other outputs, so it draws from something "
    "other than the generator that it is given; --in-env here seeds the global generators of random and numpy.random"
)

PROVE_INSTEAD = "; prove it instead (attacklab prove)"
"""How a reason ends where no number of trials that can be drawn would decide."""

ADVICE = "raise --trials (in Python trials=, or seconds=)"

EARLY = 4
"""How many times earlier than expected the evidence is first looked at."""

SUSPICIOUS = 20.0
"""Odds against the claim. If the claim is true, fresh trials reach odds of x with probability at most 1/x."""

PLAUSIBLE = 0.2
"""The error probability of an interval of plausible rates, half of it on either side: about 1.3 standard errors."""

CHOOSING_ALPHA = 0.05
"""The error probability at which choosing ends early; it costs no α, because judging uses fresh outputs."""


Plan: TypeAlias = "tuple[PlannedScenario, ...] | Finding"
"""The scenarios that an attack wants judged, or a finding that says why there are none."""


@dataclass(frozen=True)
class Rules:
    """The settings that all attacks of an audit share."""

    draws: Draws
    seed: int  # what all randomness is derived from
    spend_all: bool = False  # whether to go on to the last trial whatever has been seen before
    enough: int | None = None  # after this many trials no more are drawn unless they may still refute the claim
    report: Callable[[str], object] = lambda _: None  # called after every batch with a line: how far the audit has come

    @property
    def target(self) -> Target:
        """The target that is audited."""
        return self.draws.target

    def finding(self, attack: Attack, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """Return a finding of an attack on the target; `rest` are the other fields of the finding."""
        return Finding.on(self.target, attack.name, verdict, reason, seed=self.seed, **rest)

    def plan(self, attack: Attack, clock: Clock | None = None) -> Plan:
        """Look for an attack's scenarios on the target, in at most half of the time that a clock, if any, leaves."""
        started = time.perf_counter()
        try:
            if not applies(attack, self.target):
                reason = f"{attack.name} does not apply to a {self.target.kind} target"
                return self.finding(attack, Verdict.NOT_APPLICABLE, reason)
            scenarios, size = found_scenarios(self.draws, attack, self.seed, clock)
        except (TargetError, LabFault) as error:
            # More trials could decide where the time was too short.
            verdict, rest = Verdict.ERROR, dict[str, Any]()
            if isinstance(error, OutOfTime):
                verdict, rest = Verdict.INCONCLUSIVE, {"evidence": Samples()}
            return self.finding(attack, verdict, str(error), seconds=time.perf_counter() - started, **rest)
        if not scenarios:
            return self.finding(attack, Verdict.NOT_APPLICABLE, f"{attack.name} found nothing to try on this target")
        count = len(scenarios)
        return tuple(PlannedScenario(self, attack, each, size, place, count) for place, each in enumerate(scenarios))


@dataclass(frozen=True)
class PlannedScenario:
    """A scenario of an attack on a target, to be judged."""

    rules: Rules
    attack: Attack
    scenario: Scenario  # its inputs are as the target takes them
    output_bytes: int  # about how many bytes an output has, as the attack's probes showed
    number: int  # its place among the attack's scenarios, from 0
    scenarios: int  # the number of the attack's scenarios

    @functools.cached_property
    def claim(self) -> Claim | None:
        """The claim for one trial; None if nothing is claimed for that number of answers together."""
        try:
            return self.rules.target.claim.composed(self.answers)
        except ValueError:
            return None

    @functools.cached_property
    def pair(self) -> dict[str, Any]:
        """The two inputs in plain values."""
        return described_pair(self.scenario.pair)

    @property
    def is_beyond_claim(self) -> bool:
        """Whether the inputs are farther apart than the claim covers. What they show is noted, but refutes nothing."""
        return bool(self.rules.target.why_too_far(self.scenario.pair))

    @property
    def answers(self) -> int:
        """How many answers the adversary collects in one trial."""
        return self.scenario.answers

    @property
    def events(self) -> tuple[Event, ...]:
        """The events of the scenario and, last, the event that the target fails."""
        return (*self.scenario.events, REFUSES)

    def finding(self, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """Return a finding on the scenario's pair; `rest` are the other fields of the finding."""
        return self.rules.finding(self.attack, verdict, reason, pair=self.pair, **rest)

    def without_claim(self) -> Finding:
        """Return the finding that nothing is claimed for this number of answers together."""
        reason = f"the claim promises nothing about {self.answers} answers together{PROVE_INSTEAD}"
        return self.finding(Verdict.INCONCLUSIVE, reason, evidence=Samples(answers=self.answers, untestable=True))

    def sample(self, role: Role, events: tuple[Event, ...], trials: int, **rest: Any) -> Sample:
        """Describe trials to draw, without drawing any; `rest` are other fields of the sample."""
        return Sample(self.attack.name, self.scenario, self.number, role, events, trials, self.rules.spend_all, **rest)

    def replays(self) -> bool:
        """Whether the target gives the same outputs again under the same seed."""
        return replays(self.sample(Role.PROBE, (), 0), self.rules.draws, self.rules.seed)

    def looks(
        self, sample: Sample, needed: int | None = None, seconds: float = math.inf
    ) -> Generator[list[Counts], None, None]:
        """Yield the counts of each event after more and more trials; end after the batch in which the seconds run out.

        If all trials are to be spent, there is one look, after the last trial. `needed` only goes into the report.

        Raises:
            Refused: a call for many outputs raised.
        """
        counts = [NO_COUNTS] * len(sample.events)
        rules, end = self.rules, self.rules.draws.now() + seconds
        doing = "choosing" if sample.role is Role.CHOOSE else "judging"
        about = f"{self.attack.name} {self.number + 1}/{self.scenarios}, {doing}"
        about += "" if needed is None else f" (about {needed:,} trials needed)"
        with contextlib.closing(counted(sample, rules.draws, rules.seed)) as results:
            for batch, drawn in results:
                counts = [before + new for before, new in zip(counts, drawn, strict=True)]
                rules.report(f"{about}: {batch.done:,} of {sample.trials:,} trials")
                is_late = rules.draws.now() > end
                if batch.looked_at or is_late:
                    yield counts
                if is_late:
                    return

    def judged(self, trials: int, alpha: float, seconds: float = math.inf) -> Finding:
        """Choose an event, in at most half of the seconds, and judge it. The finding has no replay command yet."""
        claim = self.claim
        if claim is None:
            return self.without_claim()
        if not any(detects(point, 1.0, 0.0, max(trials, LARGEST_BUDGET), alpha) for point in points_of(claim)):
            reason = _untestable(claim, alpha)
            untested = Samples(answers=self.answers, untestable=True)
            return self.finding(Verdict.INCONCLUSIVE, reason, evidence=untested, claim=claim, alpha=alpha)
        try:
            try:
                return self._decided(claim, trials, alpha, seconds)
            except Refused:  # as evidence takes half of α, another beginning leaves the verdict within α
                return self._decided(claim, trials, alpha, seconds, one_by_one=True)
        except (TargetError, LabFault) as error:
            return self.finding(Verdict.ERROR, str(error))

    def _decided(self, claim: Claim, trials: int, alpha: float, seconds: float, *, one_by_one: bool = False) -> Finding:
        """Choose an event on one sample, judge it on a fresh one; raise Refused if a call for many outputs raised."""
        rules, end = self.rules, self.rules.draws.now() + seconds
        drawn_as = {"output_bytes": self.output_bytes, "one_by_one": one_by_one}
        choosing = self.sample(Role.CHOOSE, self.events, choosing_trials(claim, trials), **drawn_as)
        event, judged_at, seen = self._chosen(choosing, claim, trials, alpha, seconds / 2)
        needed = trials_needed(judged_at, seen.first / seen.trials, seen.second / seen.trials, alpha)
        enough = min(trials, rules.enough or trials)
        # It keeps the claim so surely, and its opposite would show so plainly, that as many trials will do: a quarter
        # more than would show an advantage of an event as rare as this, in case a fresh sample has it less rare.
        plainly = detects(judged_at, 1.0, _base_rate(seen), int(seen.trials / 1.25), alpha)
        if plainly and keeps_surely(judged_at, seen, WRONGLY_SETTLED):
            enough = min(enough, max(seen.trials, choosing_trials(claim, enough)))
        # Where the rates seen keep the claim, fewer trials than were chosen on would not show what these did not.
        first_look = seen.trials if needed is None else min(seen.trials, needed // EARLY)
        judging = self.sample(Role.JUDGE, (event,), trials, first_look=first_look, **drawn_as)
        with contextlib.closing(self.looks(judging, needed, end - rules.draws.now())) as looks:
            for (counts,) in looks:
                if evidence(judged_at, counts) >= math.log(2 / alpha):
                    break
                if counts.trials >= enough and not (rules.enough and may_refute([judged_at], [counts], trials, alpha)):
                    break
        drawn = 2 * (seen.trials + counts.trials) * self.answers
        finding = self._ruled(claim, event, judged_at, counts, trials, alpha, needed)
        return replace(finding, trials=drawn)

    def _chosen(
        self, sample: Sample, claim: Claim, trials: int, alpha: float, seconds: float
    ) -> tuple[Event, PrivacyClaim, Counts]:
        """Return the most promising event, the point of the claim that it would refute, and its counts.

        Drawing stops once an event breaks the claim at `CHOOSING_ALPHA`. It also stops, past the size of a sample for
        `DEFAULT_TRIALS`, once no event may refute the claim in `trials` trials.
        """
        points, enough = points_of(claim), choosing_trials(claim, DEFAULT_TRIALS)
        with contextlib.closing(self.looks(sample, seconds=seconds)) as looks:
            for seen in looks:
                counts = seen if seen[-1].first or seen[-1].second else seen[:-1]
                if largest_excess(points, counts, CHOOSING_ALPHA) > 0:
                    break
                if enough <= counts[0].trials < sample.trials and not may_refute(points, counts, trials, alpha):
                    break
        first, second = [event.first for event in counts], [event.second for event in counts]
        promised = promised_evidence(points, first, second, counts[0].trials)
        best, place = map(int, np.unravel_index(int(promised.argmax()), promised.shape))
        return sample.events[best], claim.at(points[place].epsilon), counts[best]

    def _ruled(
        self,
        claim: Claim,
        event: Event,
        judged_at: PrivacyClaim,
        counts: Counts,
        most: int,
        alpha: float,
        needed: int | None,
    ) -> Finding:
        """Return the finding from fresh counts of an event. At the rates seen, `needed` trials refute the claim."""
        assessment, detectable, untestable = judge(judged_at, counts, alpha), None, False
        flaw = self.flaw(event)
        if assessment.violated:
            verdict = Verdict.VIOLATED
            reason = refuted_reason(judged_at, counts, alpha, fails=flaw == FAILURE)
            if self.is_beyond_claim:
                verdict, reason = Verdict.NOT_APPLICABLE, reason + BEYOND_CLAIM
        else:
            detectable = smallest_detectable_advantage(judged_at, counts.trials, alpha, _base_rate(counts))
            verdict, reason, untestable = _undecided(claim, judged_at, counts, most, alpha, detectable)
        samples = self.samples(claim, event, judged_at, counts, assessment)
        samples = replace(samples, smallest_detectable=detectable, trials_needed=needed, untestable=untestable)
        return self.finding(verdict, reason, flaw=flaw, claim=claim, alpha=alpha, evidence=samples)

    def flaw(self, event: Event) -> str:
        """Return the flaw that is shown if this event refutes the claim."""
        return event.flaw or self.attack.flaw

    def samples(
        self, claim: Claim, event: Event, judged_at: PrivacyClaim, counts: Counts, assessment: Assessment
    ) -> Samples:
        """Return the part of a finding that samples give: the event, its counts, and bounds at the point judged."""
        at = None if judged_at == claim else judged_at
        told: dict[str, Any] = {"event": event.description, "code": event.line, "judged_at": at}
        return Samples(**told, **assessment.bounds, ceiling=claim.ceiling, counts=counts, answers=self.answers)


@functools.lru_cache(maxsize=64)
def points_of(claim: Claim) -> tuple[PrivacyClaim, ...]:
    """Return the points of a claim's profile at which an event may be judged, as `Claim.at` gives them.

    They are kept, because they are the same for every scenario and some claims take long to find them.
    """
    return tuple(claim.at(epsilon) for epsilon in claim.points)


def may_refute(claims: Sequence[PrivacyClaim], seen: Sequence[Counts], trials: int, alpha: float) -> bool:
    """Whether plausible rates of one of the counted events would refute one of the claims in `trials` trials."""
    hits = np.array([(counts.first, counts.second) for counts in seen])
    lower, upper = clopper_pearson(hits, seen[0].trials, PLAUSIBLE)
    apart = (upper[:, 0], lower[:, 1]), (lower[:, 0], upper[:, 1])
    promised = max(float(expected_evidence(claims, p, q).max()) for p, q in apart)
    return promised * trials >= math.log(2 / alpha)


def _base_rate(counts: Counts) -> float:
    # An event and its complement refute the same claims; the rarer of the two says how small an advantage shows.
    rates = (counts.first / counts.trials, counts.second / counts.trials)
    return min(*rates, *(1 - rate for rate in rates))


def _undecided(
    claim: Claim, judged_at: PrivacyClaim, counts: Counts, trials: int, alpha: float, detectable: float | None
) -> tuple[Verdict, str, bool]:
    """Return the verdict on a claim not refuted, the reason (what to do), and whether no number of trials decides."""
    if detectable is not None:
        reason = (
            f"not refuted; an advantage of {upper_text(detectable)} on this event would have been detected "
            f"(power {POWER:.0%}); the claim allows {claim.ceiling:.3g}"
        )
        suspicious = evidence(judged_at, counts) >= math.log(SUSPICIOUS)  # at the rates of fresh trials, not by chance
        rates = counts.first / counts.trials, counts.second / counts.trials
        more = trials_needed(judged_at, *rates, alpha) if suspicious else None
        if more is not None and more > trials:
            reason += f"; at the rates of these trials, about {_about(more)} would refute the claim; {ADVICE}"
        return Verdict.NOT_DETECTED, reason, False
    fewest = trials_needed(judged_at, 1.0, _base_rate(counts), alpha)
    if fewest is not None and fewest <= max(trials, LARGEST_BUDGET):
        few = "there are too few trials for this event to refute the claim"
        return Verdict.INCONCLUSIVE, f"{few}; at least {_about(fewest)} are needed; {ADVICE}", False
    takes = "no number of trials" if fewest is None else f"no fewer than {_about(fewest)} trials"
    return Verdict.INCONCLUSIVE, f"{takes} could refute the claim by this event{PROVE_INSTEAD}", True


def _untestable(claim: Claim, alpha: float) -> str:
    """Say why sampling cannot refute a claim by any event."""
    counts = [trials_needed(point, 1.0, 0.0, alpha) for point in points_of(claim)]
    fewest = min((count for count in counts if count is not None), default=None)
    takes = "no number of trials that is feasible" if fewest is None else f"no fewer than {_about(fewest)} trials"
    return (
        f"{takes} could refute {claim}, even by an event sure on one input and impossible on the other{PROVE_INSTEAD}"
    )


def _about(trials: int) -> str:
    return f"{float(f'{trials:.2g}'):,.0f}"


# What an attack finds to try


def applies(attack: Attack, target: Target) -> bool:
    """Whether an attack applies to a target.

    Raises:
        AttackError: the attack raised an exception.
    """
    with naming(attack.name):
        return attack.applies_to(target)


def found_scenarios(
    draws: Draws, attack: Attack, seed: int, clock: Clock | None = None
) -> tuple[tuple[Scenario, ...], int]:
    """Find an attack's scenarios on pairs that the claim covers; stop when the attack probes outside the domain.

    Returns:
        The scenarios, whose inputs are as the target takes them, and about how many bytes an output has.

    Raises:
        TargetError: the target failed while it was probed.
        AttackError: the attack failed.
        OutOfTime: the clock leaves no time for the outputs that the attack would look at.
    """
    target = draws.target
    if clock is not None:
        clock.keep_half()
    probe = Prober(target, draws if clock is None else clock.draw, seed, attack.name)
    probe.needs_numbers = target.kind is not Kind.DATASET and not getattr(attack, "whole_outputs", False)
    with naming(attack.name), contextlib.suppress(_NotNumbers):
        offered = list[Scenario]()
        with contextlib.suppress(OutsideDomain):
            for scenario in attack.scenarios(target, probe):
                offered.append(scenario)
        cast = (replace(scenario, pair=target.cast_pair(scenario.pair)) for scenario in offered)
        scenarios = tuple(scenario for scenario in cast if target.covers(scenario.pair))
        if not probe.output_bytes:  # it looked at none
            for scenario in scenarios if target.kind is Kind.DATASET else scenarios[:1]:
                for input_ in (scenario.pair.first, scenario.pair.second):
                    with contextlib.suppress(TargetError):  # what it gives where it fails is seen elsewhere
                        probe(input_, 1)
        return scenarios, max(NUMBER_BYTES, probe.output_bytes)
    return (), NUMBER_BYTES


class _NotNumbers(Exception):
    """An attack on numbers met outputs that are not numbers."""


class Prober:
    """Draws outputs for an attack to look at. No event is judged on them."""

    def __init__(self, target: Target, draw: Callable[[Request], Drawn], seed: int, name: str) -> None:
        self._target, self._draw, self._seed, self.name = target, draw, seed, name
        self._calls = 0
        self.needs_numbers = False  # whether outputs that are not numbers are of no use to whoever looks
        self.words = 0  # how many random words of 64 bits the target has taken from its generators
        self.output_bytes = 0  # about how large its largest outputs were

    def __call__(self, input_: object, trials: int) -> Outputs:
        """Draw `trials` outputs for an input.

        Raises:
            OutsideDomain: the domain does not hold the input.
            TargetError: the target failed.
            OutOfTime: the clock leaves no time for this many.
            _NotNumbers: numbers are needed, and the outputs are something else.
        """
        cast = self._target.cast(input_)
        if not self._target.takes(cast):
            raise OutsideDomain(f"the attack needs an input outside the domain of {self._target.name}")
        self._calls += 1
        request = Request(cast, trials, seed_of(self._seed, self.name, self._calls, Role.PROBE, 0, 0))
        drawn = self._draw(request)
        outputs = drawn.outputs
        self.words += drawn.words
        if trials:
            few = outputs[:FEW]
            size = sum(map(sys.getsizeof, few)) if few.dtype == object else few.nbytes
            self.output_bytes = max(self.output_bytes, size // len(few))
        if self.needs_numbers and not are_numbers(outputs):
            raise _NotNumbers
        return outputs
