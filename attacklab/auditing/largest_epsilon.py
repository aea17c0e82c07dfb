"""The largest ε that a sample proves a target to have, rather than whether it refutes a claim.

An audit of a claim may look often and stop early, which costs some of its bound. Here all trials are spent and looked
at once, so the bound is an exact one for a fixed number of trials, and one bet has the whole α. What is bounded is the
ratio of the event's two probabilities, not each of them (see `ratio`).

The attacks look for what refutes a claim, and what refutes a small ε best is seldom what shows a large one: that is a
rarer event, which the other input hardly ever shows. So they run in rounds, each on the target with a larger claim: the
ε that the best bet of the round before seems to show. The black box needs no rounds: it ranks events by the ε that they
promise to prove, and learns them from as many outputs as that takes. Every event of every scenario is counted on a
choosing sample. The most promising scenarios of all rounds are counted again, on half as many trials as will judge, and
the event with the largest lower bound on ε is judged on fresh outputs. An event that every output of one input showed
and none of the other, on both samples, is judged at once: no other can show more.

If a call for many outputs raises, the sample is drawn anew, one output a call. Where that happens to the sample that
judges, and refusals depend on the data, the bound is wrong with a probability of at most 2α; it is α everywhere else.

No sample shows more than about ln(P[E]·trials/ln(1/α)), which is what an event gives that the other input never shows.

Source: Bichsel, Steffen, Bogunovic and Vechev 2021, 'DP-Sniper: Black-Box Discovery of Differential Privacy Violations
using Classifiers', for maximising a lower bound on ε. The rounds are ours.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from attacklab.attacks import ATTACKS, BlackBox, sized
from attacklab.attacks.base import Attack, Event
from attacklab.auditing.drawing import Draws
from attacklab.auditing.judge import Advance, Judge, PlannedScenario, replay_line
from attacklab.auditing.repairs import explained
from attacklab.auditing.samples import Role, Sample
from attacklab.auditing.statistics.choosing import SHARE
from attacklab.auditing.statistics.inference import assess
from attacklab.auditing.statistics.ratio import READINGS, Reading
from attacklab.auditing.statistics.reasons import above_text, confidence_text, counted
from attacklab.model.claims import PrivacyClaim
from attacklab.model.errors import LabFault, Refused, TargetError
from attacklab.model.findings import FAILURE, Counts, Finding, Verdict, lower_text
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Target

ROUNDS = 4
"""At most so many rounds; a further one is run only if the last raised the ε that is shown by `RISE`."""

RISE = 0.05

CHOOSING_DOUBT = 100.0
"""Choosing goes by a bound at so many times smaller an α: the best of many has been lucky, a rare event most of all.
Where that bound is 0 for several events, the bound at α decides, and then the rates that were seen."""

FINALISTS = 4
"""How many scenarios are counted again."""

AGAIN = 2
"""They are counted again on one trial for so many that will judge."""


@dataclass(frozen=True)
class _Bet:
    """An event of a scenario, how its bound is read, what it seems to show, and how it is drawn."""

    planned: PlannedScenario
    event: Event
    reading: Reading
    shown: tuple[float, ...]  # the ε of one answer, with less and less doubt, so that what shows none can be compared
    one_by_one: bool
    always: bool  # whether all outputs of one input showed the event, and none of the other


@default_errors
def largest_epsilon(
    draws: Draws,
    attacks: Sequence[Attack] | None,
    *,
    trials: int,
    alpha: float,
    seed: int,
    spec: str | None,
    report: Callable[[Advance], object],
) -> list[Finding]:
    """Find the largest lower bound on a target's ε, at the δ that it claims (of a profile, at its nominal point's δ).

    The arguments are those of `audit`. The target's claim is where the search begins, and what the verdict is about.
    Each scenario is chosen on a tenth of the trials, the best few on half.

    Returns:
        One finding whose `epsilon_lower` is the bound, and one for each attack that had nothing to try or failed, up to
        the one whose event no other can better.
    """
    require_ieee_arithmetic()
    started = time.perf_counter()
    chosen = tuple(
        attack.proving_within(trials) if isinstance(attack, BlackBox) else sized(attack, trials)
        for attack in (ATTACKS if attacks is None else attacks)
    )
    target = draws.target
    search = _Search(draws, chosen, trials, alpha, seed, report)
    bets, findings = search.bets()
    if bets and bets[-1].always:
        better = bets[-1:]
    else:
        finalists = sorted(bets, key=lambda bet: bet.shown, reverse=True)[:FINALISTS]
        again = [search.again(bet) for bet in finalists]
        better = [bet for bet in again if isinstance(bet, _Bet)]
        findings += [failure for failure in again if isinstance(failure, Finding)]
    if better:
        findings.insert(0, search.judged(max(better, key=lambda bet: bet.shown)))
    require_ieee_arithmetic()  # a target may have loaded a library that changed it
    # All attacks run again: what one of them finds is where the next round of the others begins.
    replay = replay_line(spec, target.name, attacks, "maximise_epsilon", trials=trials, alpha=alpha, seed=seed)
    seconds = time.perf_counter() - started
    return [explained(replace(finding, replay=replay, seconds=seconds), target) for finding in findings]


@dataclass(frozen=True)
class _Search:
    draws: Draws
    attacks: tuple[Attack, ...]
    trials: int
    alpha: float
    seed: int
    report: Callable[[Advance], object]

    @property
    def target(self) -> Target:
        return self.draws.target

    def bets(self) -> tuple[list[_Bet], list[Finding]]:
        """The best bet of each scenario, and what the first round found in place of bets.

        The search ends with a bet that was always right, on a second sample as well; no other is.
        """
        bets, findings, claimed, shown = [], [], self.target, -math.inf
        known: set[tuple[int, str]] = set()
        for turn in range(ROUNDS):
            fresh = []
            for outcome in self._round(claimed, known, first=turn == 0):
                if isinstance(outcome, Finding):
                    findings += [outcome] if turn == 0 else []
                    continue
                again = self.again(outcome) if outcome.always else outcome
                if isinstance(again, _Bet) and again.always:
                    return [again], findings
                fresh.append(replace(outcome, always=False))
            bets += fresh
            best = max((bet.shown[0] for bet in fresh), default=0.0)
            if best <= shown + RISE:
                break
            nominal, shown = self.target.claim.nominal, best
            stronger = PrivacyClaim(max(best, nominal.epsilon), nominal.delta)
            claimed = replace(self.target, claim=stronger)
        return bets, findings

    def _round(self, claimed: Target, known: set[tuple[int, str]], *, first: bool) -> Iterator[_Bet | Finding]:
        """The best bets of the scenarios that are not known yet, and what is found in place of others."""
        draws = self.draws.claiming(claimed)
        for place, attack in enumerate(self.attacks):
            if isinstance(attack, BlackBox) and not first:
                continue
            judge = Judge(claimed, attack, draws, self.seed, spend_all=True, report=self.report)
            plan = judge.plan()
            if isinstance(plan, Finding):
                yield plan
                continue
            for planned in plan:
                scenario = (place, planned.key())
                if not planned.is_beyond_claim and scenario not in known:
                    known.add(scenario)
                    claiming = replace(planned, judge=replace(judge, target=self.target))
                    yield self.chosen(claiming, max(1, self.trials // SHARE))

    def again(self, bet: _Bet) -> _Bet | Finding:
        """The best bet of a bet's scenario on a larger sample, or why there is none."""
        return self.chosen(bet.planned, max(1, self.trials // AGAIN))

    def chosen(self, planned: PlannedScenario, trials: int) -> _Bet | Finding:
        """The best bet of a scenario, or why there is none."""
        claim = planned.claim
        if claim is None:
            return planned.without_claim()
        delta, answers = claim.nominal.delta, planned.answers
        try:
            seen, one_by_one = _counted(planned, planned.sample(Role.CHOOSE, planned.events, trials))
        except (TargetError, LabFault) as error:
            return planned.judge.finding(Verdict.ERROR, str(error), pair=planned.pair)
        shown = {
            (event, reading): tuple(
                reading.guessed(counts, delta, alpha) / answers
                for alpha in (self.alpha / CHOOSING_DOUBT, self.alpha, 1 / 2)
            )
            for event, counts in enumerate(seen)
            for reading in READINGS
        }
        event, reading = max(shown, key=shown.__getitem__)
        counts = seen[event]
        always = {counts.first, counts.second} == {0, counts.trials}
        return _Bet(planned, planned.events[event], reading, shown[event, reading], one_by_one, always)

    def judged(self, bet: _Bet) -> Finding:
        """What a fresh sample shows of a bet."""
        planned, judge = bet.planned, bet.planned.judge
        judged = self.target.claim.composed(planned.answers).nominal
        sample = planned.sample(Role.JUDGE, (bet.event,), self.trials, one_by_one=bet.one_by_one)
        try:
            (counts,), _ = _counted(planned, sample)
        except (TargetError, LabFault) as error:
            fields = {"pair": planned.pair, "answers": planned.answers}
            return judge.finding(Verdict.ERROR, str(error), **fields)
        assessment = assess(judged, counts, self.alpha)
        epsilon = bet.reading.epsilon(counts, judged.delta, self.alpha)
        violated = epsilon > judged.epsilon
        shown = planned.shown(bet.event, judged, counts, assessment)
        return judge.finding(
            Verdict.VIOLATED if violated else self._undecided(judged),
            _reason(counts, epsilon, judged, self.alpha, fails=shown["flaw"] == FAILURE),
            **shown,
            epsilon_lower=epsilon,
            delta_lower=assessment.delta_lower if violated else 0.0,
            alpha=self.alpha,
            trials=2 * planned.answers * (max(1, self.trials // SHARE) + self.trials // AGAIN + self.trials),
        )

    def _undecided(self, claim: PrivacyClaim) -> Verdict:
        """Whether any counts could have refuted the claim."""
        could = READINGS[0].epsilon(Counts(self.trials, 0, self.trials), claim.delta, self.alpha)
        return Verdict.NOT_DETECTED if could > claim.epsilon else Verdict.INCONCLUSIVE


def _counted(planned: PlannedScenario, sample: Sample) -> tuple[list[Counts], bool]:
    """The counts of the events, and whether they are of outputs drawn one a call: so are all after a refusal."""
    try:
        (counts,) = planned.looks(sample)
    except Refused:
        sample = replace(sample, one_by_one=True)
        (counts,) = planned.looks(sample)
    return counts, sample.one_by_one


def _reason(counts: Counts, epsilon: float, judged: PrivacyClaim, alpha: float, *, fails: bool) -> str:
    shown = above_text(epsilon, judged.epsilon) if epsilon > judged.epsilon else lower_text(epsilon)
    at_delta = f" at δ = {lower_text(judged.delta)}" if judged.delta else ""
    return f"{counted(counts, fails=fails)}, which shows ε ≥ {shown}{at_delta} {confidence_text(alpha)}"
