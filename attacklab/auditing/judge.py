"""One attack on one target: its scenarios are planned, and each is judged.

One sample chooses among a scenario's candidate events the one that promises most evidence (see `choosing`), and says
how many trials it will take to refute the claim by it; a fresh sample judges it. Both samples grow until they have
decided: the evidence against a claim may be looked at as often as one likes (see `betting`). If a call for many outputs
raises, both samples are drawn anew, one output a call. Where the choosing sample shows that the chosen event keeps the
claim, the fresh one is hardly larger than it, and the power that is stated is that of the trials drawn. What is drawn,
and that it does not depend on what else runs or where, is told in `samples`; where it is drawn, in `drawing`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from attacklab.attacks.base import Attack, Event, Scenario
from attacklab.auditing.clock import Clock
from attacklab.auditing.drawing import Draws
from attacklab.auditing.repairs import finding_of
from attacklab.auditing.samples import REFUSES, Role, Sample, counted, replays
from attacklab.auditing.scenarios import applies, found_scenarios
from attacklab.auditing.statistics.betting import evidence, judge
from attacklab.auditing.statistics.choosing import choosing_trials, expected_evidence, promised_evidence
from attacklab.auditing.statistics.inference import (
    Assessment,
    clopper_pearson,
    keeps_surely,
    largest_excess,
    share_of_alpha,
)
from attacklab.auditing.statistics.power import (
    POWER,
    can_refute,
    detects,
    fewest_trials,
    smallest_detectable_advantage,
    trials_needed,
)
from attacklab.auditing.statistics.reasons import refuted_reason
from attacklab.model.claims import Claim, PrivacyClaim
from attacklab.model.errors import LabFault, OutOfTime, Refused, TargetError
from attacklab.model.findings import FAILURE, PROVE_INSTEAD, Counts, Finding, Verdict, described_pair, upper_text
from attacklab.model.targets import Target

DEFAULT_TRIALS = 100_000
"""The outputs of either input on which an event is judged where more can hardly refute the claim."""

LARGEST_BUDGET = 10**8
"""The most trials that anybody is asked to spend on an event. A claim that takes more is untestable by sampling."""

WRONGLY_SETTLED = 1e-9
"""The probability with which an event that breaks the claim is taken to keep it, so that fewer trials judge it."""

BEYOND_CLAIM = "; NaN or an infinity on one side only is beyond the claim, so this is a note and no refutation"

NOT_REPLAYABLE = (
    "; no line replays this: the target gives other outputs under the same seed, so it draws from something other than "
    "the generator that it is given; --in-env here seeds the global generators of random and numpy.random"
)

EARLY = 4
"""The evidence is not looked at before so many times fewer trials than are needed at the rates seen."""

SUSPICIOUS = 20.0
"""Odds against the claim that fresh trials reach in one of so many cases at most where it is true; see `betting`."""

PLAUSIBLE = 0.2
"""The confidence at which rates may lie beyond those seen, half of it on either side: about 1.3 standard errors."""

CHOOSING_ALPHA = 0.05
"""The confidence at which choosing ends early; it costs no α, because judging uses fresh outputs."""


@dataclass(frozen=True, slots=True)
class Advance:
    """How far an audit is."""

    attack: str
    scenario: int  # which of the attack's scenarios, from 1
    scenarios: int
    choosing: bool  # whether an event is being chosen, not judged
    done: int  # trials drawn of this sample
    trials: int  # the most that there will be
    needed: int | None = None  # how many will refute the claim at the rates seen while choosing, if any do


Plan: TypeAlias = "tuple[PlannedScenario, ...] | Finding"
"""The scenarios that an attack wants judged, or what is found instead where there are none."""


@dataclass(frozen=True)
class Judge:
    """Plans and judges one attack on one target."""

    target: Target
    attack: Attack
    draws: Draws
    seed: int  # what all randomness is derived from
    _: KW_ONLY
    spend_all: bool = False  # whether to go on to the last trial whatever has been seen before
    spec: str | None = None  # the words after `attacklab audit` that load the target, for the line that replays
    advice: str = "raise --trials"  # what to do where more trials could decide
    enough: int | None = None  # after so many trials no more are drawn unless they may still refute the claim
    report: Callable[[Advance], object] = lambda _: None  # is told after every batch how far it is

    def plan(self, clock: Clock | None = None) -> Plan:
        """Look for the attack's scenarios on this target; of the time that a clock has left, in half."""
        started = time.perf_counter()
        try:
            if not applies(self.attack, self.target):
                reason = f"{self.attack.name} does not apply to a {self.target.kind} target"
                return self.finding(Verdict.NOT_APPLICABLE, reason)
            with clock.looking() if clock else contextlib.nullcontext():
                scenarios, size = found_scenarios(self.draws, self.attack, self.seed, clock)
        except (TargetError, LabFault) as error:
            seconds = time.perf_counter() - started
            if isinstance(error, OutOfTime):  # more trials could decide
                return self.finding(Verdict.INCONCLUSIVE, str(error), seconds=seconds, counts=Counts(0, 0, 0))
            return self.finding(Verdict.ERROR, str(error), seconds=seconds)
        if not scenarios:
            return self.finding(Verdict.NOT_APPLICABLE, f"{self.attack.name} found nothing to try on this target")
        return tuple(PlannedScenario(self, each, size, place, len(scenarios)) for place, each in enumerate(scenarios))

    def findings(
        self, plan: Plan, trials: int, alpha: float, *, seconds: float = math.inf, until_refuted: bool = False
    ) -> list[Finding]:
        """Judge each scenario on at most so many outputs of either input, and with its part of α and of the seconds.

        At the end of its seconds a scenario is judged on what there is. With `until_refuted` the first that refutes the
        claim is the last.
        """
        flag = "spend_all" if self.spend_all else ""

        def replay(trials: int) -> str:
            budget = {"trials": trials, "alpha": alpha, "seed": self.seed}
            return replay_line(self.spec, self.target.name, [self.attack], flag, **budget)

        if isinstance(plan, Finding):
            return [replace(plan, replay=replay(trials))]
        share, findings, end = share_of_alpha(alpha, len(plan)), list[Finding](), self.draws.now() + seconds
        for planned in plan:
            most = min(trials, planned.scenario.trials or trials)
            started = time.perf_counter()
            finding = planned.judged(most, share, (end - self.draws.now()) / (len(plan) - planned.number))
            if finding.verdict is not Verdict.VIOLATED or planned.replays():
                used = (
                    most if self.enough is None or finding.refutes or finding.counts is None else finding.counts.trials
                )
                finding = replace(finding, replay=replay(used))
            else:
                finding = replace(finding, reason=finding.reason + NOT_REPLAYABLE)
            findings.append(replace(finding, seconds=time.perf_counter() - started))
            if until_refuted and finding.refutes:
                break
        return findings

    def finding(self, verdict: Verdict, reason: str, **rest: Any) -> Finding:
        """A finding of this attack on this target; `rest` are its other fields."""
        return finding_of(self.target, self.attack.name, verdict, reason, seed=self.seed, **rest)


def replay_line(
    spec: str | None, target: str, attacks: Sequence[Attack] | None, flag: str = "", **budget: float
) -> str:
    """The line that makes a finding of some attacks, or of all, again; `flag` is what else was set of `audit`."""
    flags = [flag] * bool(flag)
    if spec is None:
        named = [] if attacks is None else [f"[{', '.join(map(repr, attacks))}]"]
        settings = [f"{name}={value}" for name, value in budget.items()] + [f"{name}=True" for name in flags]
        return f"audit({', '.join([target, *named, *settings])})"
    options = [f"--attack {attack.name}" for attack in attacks or ()]
    options += [f"--{name.replace('_', '-')}" for name in flags]
    options += [f"--{name} {value}" for name, value in budget.items()]
    return " ".join(["attacklab audit", spec, *options])


class _Decision(NamedTuple):
    """The event that was chosen, what was seen while choosing, and what judging it gave."""

    event: Event
    judged_at: PrivacyClaim
    seen: Counts
    needed: int | None
    counts: Counts
    assessment: Assessment


@dataclass(frozen=True)
class PlannedScenario:
    """A scenario of an attack on a target, to be judged."""

    judge: Judge
    scenario: Scenario  # its inputs are as the target takes them
    output_bytes: int  # about how many bytes an output has, as the attack's probes showed
    number: int  # its place among those of the attack
    scenarios: int  # how many the attack has

    @functools.cached_property
    def claim(self) -> Claim | None:
        """What is claimed of one trial; None if nothing is claimed of so many answers together."""
        try:
            return self.judge.target.claim.composed(self.answers)
        except ValueError:
            return None

    @functools.cached_property
    def pair(self) -> dict[str, Any]:
        """The two inputs in plain values."""
        return described_pair(self.scenario.pair)

    @property
    def is_beyond_claim(self) -> bool:
        """Whether nothing is claimed of the pair: what the target does on it is only noted."""
        return self.judge.target.exceeds_sensitivity(self.scenario.pair)

    def key(self) -> str:
        """A text that tells this scenario from any other of its attack."""
        events = [(event.description, event.line, event.flaw) for event in self.scenario.events]
        return json.dumps([self.pair, events, self.answers, self.scenario.trials], sort_keys=True)

    @property
    def answers(self) -> int:
        """How many answers the adversary collects in one trial."""
        return self.scenario.answers

    @property
    def events(self) -> tuple[Event, ...]:
        """Its events; the last: that the target fails."""
        return (*self.scenario.events, REFUSES)

    def without_claim(self) -> Finding:
        """What is found where nothing is claimed of a trial."""
        reason = f"the claim promises nothing of {self.answers} answers together{PROVE_INSTEAD}"
        return self.judge.finding(Verdict.INCONCLUSIVE, reason, pair=self.pair)

    def sample(self, role: Role, events: tuple[Event, ...], trials: int, **rest: Any) -> Sample:
        """Trials to draw; `rest` are other fields of the sample."""
        settings = {"spend_all": self.judge.spend_all, **rest}
        return Sample(self.judge.attack.name, self.scenario, self.number, role, events, trials, **settings)

    def replays(self) -> bool:
        """Whether the target gives the same outputs again under the same seed."""
        return replays(self.sample(Role.PROBE, (), 0), self.judge.draws, self.judge.seed)

    def looks(
        self, sample: Sample, needed: int | None = None, seconds: float = math.inf
    ) -> Generator[list[Counts], None, None]:
        """The counts of each event after ever more trials; the last after the batch in which the seconds have passed.

        Where all trials are to be spent, there is one look, after all. `needed` is for the report.

        Raises:
            Refused: a call for many outputs raised.
        """
        counts = [Counts(0, 0, 0)] * len(sample.events)
        name, choosing, end = self.judge.attack.name, sample.role is Role.CHOOSE, self.judge.draws.now() + seconds
        with contextlib.closing(counted(sample, self.judge.draws, self.judge.seed)) as results:
            for batch, drawn in results:
                counts = [before + new for before, new in zip(counts, drawn, strict=True)]
                self.judge.report(
                    Advance(name, self.number + 1, self.scenarios, choosing, batch.done, sample.trials, needed)
                )
                is_late = self.judge.draws.now() > end
                if batch.looked_at or is_late:
                    yield counts
                if is_late:
                    return

    def judged(self, trials: int, alpha: float, seconds: float = math.inf) -> Finding:
        """What is found of it, without the line that replays it; half of the seconds may pass while choosing."""
        claim = self.claim
        if claim is None:
            return self.without_claim()
        fields: dict[str, Any] = {"pair": self.pair}
        if not is_testable(claim, trials, alpha):
            fields |= {"answers": self.answers, "claim": claim, "alpha": alpha}
            return self.judge.finding(Verdict.INCONCLUSIVE, _untestable(claim, alpha), **fields)
        try:
            try:
                decision = self._decided(claim, trials, alpha, seconds)
            except Refused:  # as evidence takes half of α, another beginning leaves the verdict within α
                decision = self._decided(claim, trials, alpha, seconds, one_by_one=True)
        except (TargetError, LabFault) as error:
            return self.judge.finding(Verdict.ERROR, str(error), **fields)
        return self._finding(claim, decision, trials, alpha)

    def _decided(
        self, claim: Claim, trials: int, alpha: float, seconds: float, *, one_by_one: bool = False
    ) -> _Decision:
        """Choose on one sample what promises most, and judge it on a fresh one; Refused if a call for many raised."""
        drawn_as = {"output_bytes": self.output_bytes, "one_by_one": one_by_one}
        choosing = self.sample(Role.CHOOSE, self.events, choosing_trials(claim, trials), **drawn_as)
        end = self.judge.draws.now() + seconds
        event, judged_at, seen = self._chosen(choosing, claim, trials, alpha, seconds / 2)
        needed = trials_needed(judged_at, seen.first / seen.trials, seen.second / seen.trials, alpha)
        enough = min(trials, self.judge.enough or trials)
        if is_settled(judged_at, seen, alpha):
            enough = min(enough, max(seen.trials, choosing_trials(claim, enough)))
        judging = self.sample(Role.JUDGE, (event,), trials, first_look=first_look(seen, needed), **drawn_as)
        with contextlib.closing(self.looks(judging, needed, end - self.judge.draws.now())) as looks:
            for (counts,) in looks:
                if evidence(judged_at, counts) >= math.log(2 / alpha):
                    break
                if counts.trials >= enough and not (
                    self.judge.enough and may_refute([judged_at], [counts], trials, alpha)
                ):
                    break
        return _Decision(event, judged_at, seen, needed, counts, judge(judged_at, counts, alpha))

    def _chosen(
        self, sample: Sample, claim: Claim, trials: int, alpha: float, seconds: float
    ) -> tuple[Event, PrivacyClaim, Counts]:
        """The candidate that promises most, the point at which it does, and what was seen of it.

        No more is drawn once one surely breaks the claim; nor, of a sample that is larger than for `DEFAULT_TRIALS`,
        once none may refute it in so many trials.
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

    def _finding(self, claim: Claim, decision: _Decision, trials: int, alpha: float) -> Finding:
        assessment, counts = decision.assessment, decision.counts
        shown = self.shown(decision.event, decision.judged_at, counts, assessment)
        detectable = None
        if not assessment.violated:
            base_rate = _base_rate(counts)
            detectable = smallest_detectable_advantage(decision.judged_at, counts.trials, alpha, base_rate)
        fails, advice = shown["flaw"] == FAILURE, self.judge.advice
        verdict, reason = _ruling(decision, claim, trials, alpha, detectable, fails=fails, advice=advice)
        if verdict is Verdict.VIOLATED and self.is_beyond_claim:
            verdict, reason = Verdict.NOT_APPLICABLE, reason + BEYOND_CLAIM
        return self.judge.finding(
            verdict,
            reason,
            **shown,
            spec=self.judge.spec or "" if verdict is Verdict.VIOLATED else "",
            epsilon_lower=assessment.epsilon_lower,
            delta_lower=assessment.delta_lower,
            smallest_detectable=detectable,
            trials_needed=decision.needed,
            alpha=alpha,
            trials=2 * (decision.seen.trials + counts.trials) * self.answers,
        )

    def shown(self, event: Event, judged_at: PrivacyClaim, counts: Counts, assessment: Assessment) -> dict[str, Any]:
        """What a finding says of an event that was judged at a point of the claim, by the names of its fields."""
        return {
            "pair": self.pair,
            "answers": self.answers,
            "flaw": event.flaw or self.judge.attack.flaw,
            "claim": self.claim,
            "judged_at": None if self.claim is not None and judged_at == self.claim else judged_at,
            "event": event.description,
            "line": event.line,
            "counts": counts,
            "first": assessment.first,
            "second": assessment.second,
            "advantage": assessment.advantage,
        }


@functools.lru_cache(maxsize=64)
def points_of(claim: Claim) -> tuple[PrivacyClaim, ...]:
    """The points of a claim's profile at which an event may be judged, as `Claim.near` gives them.

    They are kept, because they are the same for every scenario and some claims take long to find them.
    """
    return tuple(claim.at(epsilon) for epsilon in claim.points)


def is_testable(claim: Claim, trials: int, alpha: float) -> bool:
    """Whether any event at all could refute a claim in so many trials, or in as many as anybody is asked to spend."""
    return any(can_refute(point, max(trials, LARGEST_BUDGET), alpha) for point in points_of(claim))


def is_settled(claim: PrivacyClaim, seen: Counts, alpha: float) -> bool:
    """Whether an event keeps the claim so surely, and its opposite would show so plainly, that as many trials will do.

    They are a quarter more than would show an advantage of an event as rare as this, in case a fresh sample has it less
    rare.
    """
    return keeps_surely(claim, seen, WRONGLY_SETTLED) and detects(
        claim, 1.0, _base_rate(seen), int(seen.trials / 1.25), alpha
    )


def may_refute(claims: Sequence[PrivacyClaim], seen: Sequence[Counts], trials: int, alpha: float) -> bool:
    """Whether rates near those of some event of a sample would refute one of several claims in so many trials."""
    hits = np.array([(counts.first, counts.second) for counts in seen])
    lower, upper = clopper_pearson(hits, seen[0].trials, PLAUSIBLE)
    apart = (upper[:, 0], lower[:, 1]), (lower[:, 0], upper[:, 1])
    promised = max(float(expected_evidence(claims, p, q).max()) for p, q in apart)
    return promised * trials >= math.log(2 / alpha)


def first_look(seen: Counts, needed: int | None) -> int:
    """From how many trials on the evidence is worth a look, given how many refute the claim at the rates seen.

    Where those rates keep it, as many as were chosen on are drawn first: fewer would not show what these did not.
    """
    return seen.trials if needed is None else min(seen.trials, needed // EARLY)


def _base_rate(counts: Counts) -> float:
    # An event and its complement refute the same claims; the rarer of the two says how small an advantage shows.
    rates = (counts.first / counts.trials, counts.second / counts.trials)
    return min(*rates, *(1 - rate for rate in rates))


def _ruling(
    decision: _Decision,
    claim: Claim,
    trials: int,
    alpha: float,
    detectable: float | None,
    *,
    fails: bool,
    advice: str,
) -> tuple[Verdict, str]:
    """The verdict and its reason, with the advice where more trials could decide."""
    judged_at, counts = decision.judged_at, decision.counts
    if decision.assessment.violated:
        return Verdict.VIOLATED, refuted_reason(judged_at, counts, alpha, fails=fails)
    if detectable is not None:
        reason = (
            f"not refuted; an advantage of {upper_text(detectable)} on this event would have been detected "
            f"(power {POWER:.0%}); the claim allows {claim.ceiling:.3g}"
        )
        more = _would_refute(judged_at, counts, alpha)
        if more is not None and more > trials:
            reason += f"; at the rates of these trials, about {_about(more)} would refute the claim; {advice}"
        return Verdict.NOT_DETECTED, reason
    fewest = trials_needed(judged_at, 1.0, _base_rate(counts), alpha)
    if fewest is not None and fewest <= max(trials, LARGEST_BUDGET):
        return Verdict.INCONCLUSIVE, (
            "with so few trials no advantage on this event can refute the claim; "
            f"it takes at least {_about(fewest)}; {advice}"
        )
    takes = "no number of trials" if fewest is None else f"no fewer than {_about(fewest)} trials"
    return Verdict.INCONCLUSIVE, f"{takes} of this event could refute the claim{PROVE_INSTEAD}"


def _would_refute(judged_at: PrivacyClaim, counts: Counts, alpha: float) -> int | None:
    """How many trials refute the claim at the rates of fresh ones; None where these may well be chance."""
    if evidence(judged_at, counts) < math.log(SUSPICIOUS):
        return None
    return trials_needed(judged_at, counts.first / counts.trials, counts.second / counts.trials, alpha)


def _untestable(claim: Claim, alpha: float) -> str:
    """Why no event at all can refute a claim by sampling."""
    counts = [fewest_trials(point, alpha) for point in points_of(claim)]
    fewest = min((count for count in counts if count is not None), default=None)
    takes = "no number of trials that can be drawn" if fewest is None else f"no fewer than {_about(fewest)} trials"
    return (
        f"{takes} could refute {claim}, even by an event that one input always shows and the other never{PROVE_INSTEAD}"
    )


def _about(trials: int) -> str:
    return f"{float(f'{trials:.2g}'):,.0f}"
