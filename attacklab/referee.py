"""The referee: runs a target against attacks and says what was found.

One α a run is split over the attacks that have something to try (see `shares`), and each attack's share evenly over
its scenarios. One sample chooses among a scenario's candidate events the one that promises most evidence (see
`choosing`), and says how many trials it will take to refute the claim by it; a fresh sample judges it. Both samples
grow until they have decided: the evidence against a claim may be looked at as often as one likes (see `betting`). If
a call for many outputs raises, both samples are drawn anew, one output a call. Where
the choosing sample shows that the chosen event keeps the claim, the fresh one is hardly larger than it, and the power
that is stated is that of the trials drawn. What is drawn, and that it does not depend on what else runs or where, is
told in `batches`; where it is drawn, in `execution`.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from attacklab.attacks import ATTACKS, BlackBox, sized
from attacklab.attacks.base import Attack
from attacklab.attacks.common.failures import FAILS
from attacklab.claims import Claim, PrivacyClaim
from attacklab.errors import LabFault, OutOfTime, Refused, TargetError, UsageError
from attacklab.findings import (
    FAILURE,
    Counts,
    EventCode,
    Finding,
    Severity,
    Verdict,
    described_pair,
    environment,
)
from attacklab.floats import default_errors, require_ieee_arithmetic
from attacklab.loaded_code import loaded_code
from attacklab.ordinary import supported
from attacklab.processes.batches import FIRST_LOOK, REFUSES, Bench, Outline, Role, Sample, applies
from attacklab.processes.checkpoint import Checkpoint, Recorded
from attacklab.processes.runners import Here, Runner, Say
from attacklab.statistics.betting import evidence, judge
from attacklab.statistics.choosing import choosing_trials, promised_evidence
from attacklab.statistics.inference import Assessment, keeps_surely, largest_excess, share_of_alpha
from attacklab.statistics.power import (
    POWER,
    can_refute,
    detects,
    fewest_trials,
    smallest_detectable_advantage,
    trials_needed,
)
from attacklab.statistics.reasons import refuted_reason
from attacklab.targets import Target

DEFAULT_TRIALS = 100_000
DEFAULT_ALPHA = 1e-6

MOST_TRIALS = 10**12
"""More than anybody can draw; beyond it, counts would leave the integers that doubles hold."""

LARGEST_BUDGET = 10**8
"""The most trials that anybody is asked to spend on an event. A claim that takes more is untestable by sampling."""

SURELY = 1e-9
"""The probability with which an event that breaks the claim is taken to keep it, so that fewer trials judge it."""

BLACK_BOX_SHARE = 0.25
"""The part of a run's α that the black box has to itself."""

BEYOND = "; NaN or an infinity on one side only is beyond the claim: a note on robustness, not a refutation"

NOT_REPLAYABLE = (
    "; no line replays this: the target gives other outputs under the same seed, so it draws from something other than "
    "the generator that it is given; --isolate seeds the global generators of random and numpy.random"
)

EARLY = 4
"""The evidence is not looked at before so many times fewer trials than are needed at the rates seen."""

CHOOSING_ALPHA = 0.05
"""The confidence at which choosing ends early; it costs no α, because judging uses fresh outputs."""


@dataclass(frozen=True, slots=True)
class Advance:
    """How far an audit is.

    Attributes:
        attack: the name of the attack that runs.
        scenario: which of its scenarios, from 1.
        scenarios: how many it has.
        choosing: whether an event is being chosen, not judged.
        done: trials drawn of this sample.
        trials: how many there will be at the most.
        needed: how many will refute the claim at the rates seen so far; None while choosing, and where those rates keep
            the claim.
    """

    attack: str
    scenario: int
    scenarios: int
    choosing: bool
    done: int
    trials: int
    needed: int | None = None


@default_errors
def audit(
    target: Target,
    attacks: Sequence[Attack] | None = None,
    *,
    trials: int = DEFAULT_TRIALS,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    spend_all: bool = False,
    spec: str | None = None,
    where: Callable[[Bench], Runner] = Here,
    checkpoint: Path | None = None,
    report: Callable[[Advance], object] = lambda _: None,
    say: Say = lambda _: None,
) -> list[Finding]:
    """Run attacks against a target.

    Args:
        target: the implementation.
        attacks: which attacks, all of `ATTACKS` by default; those that do not apply, or find nothing to
            try on this target, give a NOT_APPLICABLE finding and cost no α.
        trials: the most outputs of either input on which an event is judged. Besides, up to a tenth of that number is
            spent on choosing it; at a large e^ε up to half.
        alpha: the probability of any false alarm in the whole run, were the claim true.
        seed: what all randomness is derived from.
        spend_all: whether to go on to the last trial whatever has been seen before, for closer bounds.
        spec: the words after `attacklab audit` that load this target, for the line that replays a finding.
        where: where trials run, this process by default; the `runner` of any `Workers` runs them there.
        checkpoint: a file to keep results in, and to go on from if it holds some of this run.
        report: is told after every batch how far the audit is.
        say: is told, in one line, what was found in the checkpoint.

    Returns:
        One finding a scenario, in the order of the attacks; the same ones wherever they run.

    Raises:
        ValueError: `trials`, `alpha` or `seed` is out of range, or the checkpoint belongs to another run.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
    """
    require_ieee_arithmetic()
    require_settings(trials, alpha, seed)
    attacks = [sized(attack, trials) for attack in (ATTACKS if attacks is None else attacks)]
    findings: list[Finding] = []
    with contextlib.ExitStack() as ends:
        bench = Bench(target, attacks, seed)
        runner = where(bench)
        if checkpoint is not None:
            run = _identity(target, attacks, trials=trials, alpha=alpha, seed=seed, spend_all=spend_all)
            try:
                runner = Recorded(runner, ends.enter_context(_WhileThereIsSpace(checkpoint, run, say)))
            except OSError as error:
                say(_not_kept(error))
        judges = [
            Judge(
                target,
                attack,
                place,
                runner,
                seed=seed,
                spend_all=spend_all,
                spec=spec,
                report=report,
                replays=functools.partial(bench.replays, place),
            )
            for place, attack in enumerate(attacks)
        ]
        plans = [judge.plan() for judge in judges]
        parts = shares(attacks, [bool(plan.outlines) for plan in plans], alpha)
        for judge, plan, share in zip(judges, plans, parts, strict=True):
            findings += judge.findings(plan, trials, share)
    require_ieee_arithmetic()  # a target may have loaded a library that changed it
    return supported(findings)


class _WhileThereIsSpace(Checkpoint):
    """A checkpoint that ends with the first result that cannot be written, and says so; the audit goes on."""

    def __init__(self, path: Path, run: Mapping[str, Any], say: Say) -> None:
        super().__init__(path, run, say)
        self._say, self._is_full = say, False

    def keep(self, key: list[Any], result: Any) -> None:
        """Append a result, if it can be written."""
        if not self._is_full:
            try:
                super().keep(key, result)
            except OSError as error:
                self._is_full = True
                self._say(_not_kept(error))


def _not_kept(error: OSError) -> str:
    told = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error)
    return f"{told}; the audit goes on, and no further results are kept"


def shares(attacks: Sequence[Attack], trying: Sequence[bool], alpha: float) -> list[float]:
    """The α of each attack.

    The black box gets `BLACK_BOX_SHARE` of the run's α where other attacks have something to try too, because it looks
    for every flaw that none of them was written for. The others split the rest evenly.

    Args:
        attacks: those that run.
        trying: which of them have something to try.
        alpha: of the run.

    Returns:
        One α an attack; those of the attacks that have something to try add up to `alpha` at the most.
    """
    learning = [isinstance(attack, BlackBox) for attack in attacks]
    counts = Counter(kind for kind, tries in zip(learning, trying, strict=True) if tries)
    parts = {True: BLACK_BOX_SHARE, False: 1 - BLACK_BOX_SHARE} if len(counts) == 2 else {True: 1.0, False: 1.0}
    return [share_of_alpha(parts[kind] * alpha, max(1, counts[kind])) for kind in learning]


def require_settings(trials: int, alpha: float, seed: int) -> None:
    """Refuse settings of an audit that are out of range, before anything runs.

    Raises:
        UsageError: one of them is.
    """
    if trials < 1:
        raise UsageError(f"trials must be at least 1, not {trials}")
    if trials > MOST_TRIALS:
        raise UsageError(f"trials must be at most {MOST_TRIALS}, not {trials}")
    if seed < 0:
        raise UsageError(f"seed must be at least 0, not {seed}")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie in (0, 1), not {alpha}")


def _identity(target: Target, attacks: Sequence[Attack], **settings: float) -> dict[str, Any]:
    """Whatever the results of an audit depend on."""
    return {
        "target": target.name,
        "target_version": target.version,
        "kind": target.kind,
        "claim": target.claim.to_json(),
        "sensitivity": target.sensitivity,
        "bounds": target.bounds,
        "noise_scale": target.noise_scale,
        "relation": target.relation,
        "domain": None if target.domain is None else target.domain.to_json(),
        "pairs": [described_pair(pair) for pair in target.pairs],
        "attacks": [repr(attack) for attack in attacks],
        "code": loaded_code() | getattr(target.release, "code", {}),
        **settings,
        **environment(),
    }


@dataclass(frozen=True)
class Plan:
    """The scenarios that an attack wants judged, or what is found instead where there are none.

    Attributes:
        outlines: the scenarios.
        seconds: how long it took to find them.
        verdict: of the one finding where there are none.
        reason: of that finding.
    """

    outlines: tuple[Outline, ...]
    seconds: float = 0.0
    verdict: Verdict = Verdict.NOT_APPLICABLE
    reason: str = ""


@dataclass(frozen=True)
class Judge:
    """Plans and judges one attack on one target.

    Attributes:
        target: the implementation.
        attack: the attack.
        place: its place among those that the runner knows.
        runner: where trials run.
        seed: what all randomness is derived from.
        spend_all: whether to go on to the last trial whatever has been seen before.
        spec: the words after `attacklab audit` that load the target, for the line that replays a finding.
        report: is told after every batch how far it is.
        replays: whether a seed replays the target, by the number of a scenario.
    """

    target: Target
    attack: Attack
    place: int
    runner: Runner
    _: KW_ONLY
    seed: int
    spend_all: bool = False
    spec: str | None = None
    report: Callable[[Advance], object] = lambda _: None
    replays: Callable[[int], bool] = lambda _: True

    def plan(self) -> Plan:
        """Look for the attack's scenarios on this target."""
        started = time.perf_counter()
        try:
            if not applies(self.attack, self.target):
                return Plan((), reason=f"{self.attack.name} does not apply to a {self.target.kind} target")
            outlines = self.runner.outlines(self.place)
        except (TargetError, LabFault) as error:
            verdict = Verdict.INCONCLUSIVE if isinstance(error, OutOfTime) else Verdict.ERROR
            return Plan((), time.perf_counter() - started, verdict, str(error))
        reason = f"{self.attack.name} found nothing to try on this target"
        return Plan(outlines, time.perf_counter() - started, reason=reason)

    def findings(self, plan: Plan, trials: int, alpha: float) -> list[Finding]:
        """Judge all that was planned.

        Args:
            plan: what `plan` gave.
            trials: the most outputs of either input on which an event is judged.
            alpha: the probability of any false alarm of this attack.

        Returns:
            One finding a scenario, or one that says why there is none.
        """
        return _Trial(self, trials, alpha).findings(plan)

    def finding(self, verdict: Verdict, reason: str, **rest: object) -> Finding:
        """A finding of this attack on this target.

        Args:
            verdict: of the finding.
            reason: why, in one line.
            rest: its other fields, by name.
        """
        common: dict[str, object] = {
            "target": self.target.name,
            "target_version": self.target.version,
            "attack": self.attack.name,
            "verdict": verdict,
            "reason": reason,
            "claim": self.target.claim,
            "relation": self.target.relation,
            "ceiling": self.target.claim.ceiling,
            "seed": self.seed,
        }
        return Finding(**{**common, **rest})  # type: ignore[arg-type] # checked by the dataclass's own field names


@dataclass(frozen=True)
class _Trial:
    """One attack judged on so many trials with its share of α, each output by a call of its own if `one_by_one`."""

    judge: Judge
    trials: int
    alpha: float
    one_by_one: bool = False

    def findings(self, plan: Plan) -> list[Finding]:
        if not plan.outlines:
            drawn = Counts(0, 0, 0) if plan.verdict is Verdict.INCONCLUSIVE else None  # more trials could decide
            return [self._finding(plan.verdict, plan.reason, seconds=plan.seconds, counts=drawn)]
        alpha = share_of_alpha(self.alpha, len(plan.outlines))
        return [self._of(outline)._judged(plan.outlines, place, alpha) for place, outline in enumerate(plan.outlines)]

    def _of(self, outline: Outline) -> _Trial:
        """This trial with as many trials as the scenario takes at the most."""
        return self if outline.trials is None else replace(self, trials=min(self.trials, outline.trials))

    def _judged(self, outlines: Sequence[Outline], number: int, alpha: float) -> Finding:
        started = time.perf_counter()
        outline = outlines[number]
        here = {"pair": outline.pair, "severity": outline.severity, "answers": outline.answers}
        try:
            claim = self.judge.target.claim.composed(outline.answers)
        except ValueError:
            reason = f"the claim promises nothing of {outline.answers} answers together"
            return self._finding(Verdict.UNTESTABLE, reason, **here | {"answers": 1})
        if not is_testable(claim, self.trials, alpha):
            return self._finding(
                Verdict.UNTESTABLE, _untestable(claim, alpha), **here, claim=claim, ceiling=claim.ceiling, alpha=alpha
            )
        try:
            try:
                decision = self._decided(outlines, number, claim, alpha)
            except Refused:  # as evidence takes half of α, another beginning leaves the verdict within α
                decision = replace(self, one_by_one=True)._decided(outlines, number, claim, alpha)
        except (TargetError, LabFault) as error:
            seconds = time.perf_counter() - started
            return self._finding(
                Verdict.ERROR, str(error), pair=outline.pair, seconds=seconds, severity=outline.severity
            )
        event, judged, seen, needed, counts, assessment = decision
        description = (*outline.events, REFUSES.description)[event]
        fails = description == FAILS.description
        detectable = None if assessment.violated else _detectable(judged, counts, alpha)
        if assessment.violated:
            verdict, reason = Verdict.VIOLATED, refuted_reason(judged, counts, alpha, fails=fails)
        elif detectable is not None:
            verdict, reason = Verdict.NOT_DETECTED, _not_refuted(detectable, claim.ceiling)
        else:
            verdict, reason = _undecided(judged, counts, alpha, max(self.trials, LARGEST_BUDGET))
        if verdict is Verdict.VIOLATED and outline.severity is Severity.ROBUSTNESS:
            reason += BEYOND
        replays = verdict is not Verdict.VIOLATED or self.judge.replays(number)
        if verdict is Verdict.NOT_DETECTED and needed is not None and needed > self.trials:
            reason += (
                f"; at the rates seen so far, about {_about(needed)} trials would refute the claim; raise --trials"
            )
        return self._finding(
            verdict,
            reason if replays else reason + NOT_REPLAYABLE,
            **here | ({} if replays else {"replay": ""}),
            flaw=FAILURE if fails else self.judge.attack.flaw,
            claim=claim,
            judged_at=None if judged == claim else judged,
            event=description,
            code=self._code(outline, number, event) if verdict is Verdict.VIOLATED else None,
            counts=counts,
            first=assessment.first,
            second=assessment.second,
            advantage=assessment.advantage,
            ceiling=claim.ceiling,
            epsilon_lower=assessment.epsilon_lower,
            delta_lower=assessment.delta_lower,
            smallest_detectable=detectable,
            trials_needed=needed,
            alpha=alpha,
            trials=2 * (seen.trials + counts.trials) * outline.answers,
            seconds=time.perf_counter() - started,
        )

    def _code(self, outline: Outline, number: int, event: int) -> EventCode | None:
        """The event as Python source, for a target that a command line can name."""
        if self.judge.spec is None:
            return None
        try:
            code = self.judge.runner.code(self.judge.place, number, event, outline.digest())
        except (TargetError, LabFault):
            return None
        return code and replace(code, target=self.judge.spec)

    def _decided(
        self, outlines: Sequence[Outline], number: int, claim: Claim, alpha: float
    ) -> tuple[int, PrivacyClaim, Counts, int | None, Counts, Assessment]:
        """The event chosen, the point at which it is judged, what was seen while choosing, and what judging gave.

        Raises:
            Refused: a call for many outputs raised.
        """
        event, epsilon, seen = self._chosen(outlines, number, claim)
        judged = claim.at(epsilon)
        needed = trials_needed(judged, seen.first / seen.trials, seen.second / seen.trials, alpha)
        return event, judged, seen, needed, *self._judged_event(outlines, number, event, judged, alpha, seen, needed)

    def _chosen(self, outlines: Sequence[Outline], number: int, claim: Claim) -> tuple[int, float, Counts]:
        """The place of the candidate that promises most, the ε at which it does, and what was seen of it."""
        points = points_of(claim)
        events = tuple(range(len(outlines[number].events) + 1))  # the last: that the target fails
        most = choosing_trials(claim, self.trials)
        with contextlib.closing(self._looks(outlines, number, Role.CHOOSE, events, most)) as looks:
            for seen in looks:
                counts = seen if seen[-1].first or seen[-1].second else seen[:-1]
                if largest_excess(points, counts, CHOOSING_ALPHA) > 0:
                    break
        first, second = [one.first for one in counts], [one.second for one in counts]
        promised = promised_evidence(points, first, second, counts[0].trials)
        best, place = np.unravel_index(int(promised.argmax()), promised.shape)
        return int(best), points[place].epsilon, counts[best]

    def _judged_event(
        self,
        outlines: Sequence[Outline],
        number: int,
        event: int,
        claim: PrivacyClaim,
        alpha: float,
        seen: Counts,
        needed: int | None,
    ) -> tuple[Counts, Assessment]:
        enough = seen.trials if is_settled(claim, seen, alpha) else self.trials
        first = first_look(seen, needed)
        with contextlib.closing(
            self._looks(outlines, number, Role.JUDGE, (event,), self.trials, needed, first)
        ) as looks:
            for (counts,) in looks:
                if evidence(claim, counts) >= math.log(2 / alpha) or counts.trials >= enough:
                    break
        return counts, judge(claim, counts, alpha)

    def _looks(
        self,
        outlines: Sequence[Outline],
        number: int,
        role: Role,
        events: tuple[int, ...],
        most: int,
        needed: int | None = None,
        first: int = FIRST_LOOK,
    ) -> Generator[list[Counts], None, None]:
        """The counts of each event after ever more trials, up to `most`; only after all where all are to be spent."""
        outline = outlines[number]
        sample = Sample(
            self.judge.place,
            number,
            outline.digest(),
            role,
            events,
            outline.answers,
            most,
            spend_all=self.judge.spend_all,
            output_bytes=outline.output_bytes,
            first_look=first,
            one_by_one=self.one_by_one,
        )
        counts = [Counts(0, 0, 0)] * len(events)
        with contextlib.closing(self.judge.runner.counts(sample, sample.batches())) as results:
            for batch, drawn in zip(sample.batches(), results, strict=True):
                counts = [before + new for before, new in zip(counts, drawn, strict=True)]
                choosing = role is Role.CHOOSE
                self.judge.report(
                    Advance(self.judge.attack.name, number + 1, len(outlines), choosing, batch.done, most, needed)
                )
                if batch.looked_at:
                    yield counts

    def _finding(self, verdict: Verdict, reason: str, **rest: object) -> Finding:
        return self.judge.finding(verdict, reason, **{"replay": self._replay(), **rest})

    def _replay(self) -> str:
        if self.judge.spec is None:
            settings = f"trials={self.trials}, alpha={self.alpha!r}, seed={self.judge.seed}"
            settings += ", spend_all=True" if self.judge.spend_all else ""
            return f"audit({self.judge.target.name}, [{self.judge.attack!r}], {settings})"
        settings = f"--trials {self.trials} --alpha {self.alpha!r} --seed {self.judge.seed}"
        settings += " --spend-all" if self.judge.spend_all else ""
        return f"attacklab audit {self.judge.spec} --attack {self.judge.attack.name} {settings}"


@functools.lru_cache(maxsize=64)
def points_of(claim: Claim) -> tuple[PrivacyClaim, ...]:
    """The points of a claim's profile at which an event may be judged, as `Claim.near` gives them.

    They are kept, because they are the same for every scenario and some claims take long to find them.
    """
    return tuple(claim.near(epsilon) for epsilon in claim.points)


def is_testable(claim: Claim, trials: int, alpha: float) -> bool:
    """Whether any event at all could refute a claim in so many trials, or in as many as anybody is asked to spend.

    Args:
        claim: what is claimed of one trial.
        trials: the most that it is judged on.
        alpha: the probability of a false alarm.
    """
    return any(can_refute(point, max(trials, LARGEST_BUDGET), alpha) for point in points_of(claim))


def _about(trials: int) -> str:
    return f"{float(f'{trials:.2g}'):,.0f}"


def _base_rate(counts: Counts) -> float:
    # An event and its complement refute the same claims; the rarer of the two says how small an advantage shows.
    rates = (counts.first / counts.trials, counts.second / counts.trials)
    return min(*rates, *(1 - rate for rate in rates))


def _detectable(claim: PrivacyClaim, counts: Counts, alpha: float) -> float | None:
    return smallest_detectable_advantage(claim, counts.trials, alpha, _base_rate(counts))


def is_settled(claim: PrivacyClaim, seen: Counts, alpha: float) -> bool:
    """Whether an event keeps the claim so surely, and its opposite would show so plainly, that as many trials will do.

    They are a quarter more than would show an advantage of an event as rare as this, in case a fresh sample has it less
    rare.

    Args:
        claim: the point at which the event is judged.
        seen: its counts in the choosing sample.
        alpha: at which it is judged.
    """
    return keeps_surely(claim, seen, SURELY) and detects(claim, 1.0, _base_rate(seen), int(seen.trials / 1.25), alpha)


def first_look(seen: Counts, needed: int | None) -> int:
    """From how many trials on the evidence is worth a look.

    Args:
        seen: the counts of the event in the choosing sample.
        needed: how many trials refute the claim at those rates; None if they keep it. Then as many as were chosen on
            are drawn before the first look: fewer would not show what these did not.
    """
    return seen.trials if needed is None else min(seen.trials, needed // EARLY)


def _not_refuted(detectable: float, ceiling: float) -> str:
    return (
        f"not refuted; an advantage of {detectable:.3g} on this event would have been detected (power {POWER:.0%}); "
        f"the claim allows {ceiling:.3g}"
    )


def _undecided(claim: PrivacyClaim, counts: Counts, alpha: float, budget: int) -> tuple[Verdict, str]:
    """What is said of an event that could not have refuted the claim on so few trials."""
    fewest = trials_needed(claim, 1.0, _base_rate(counts), alpha)
    if fewest is not None and fewest <= budget:
        return Verdict.INCONCLUSIVE, (
            "with so few trials no advantage on this event can refute the claim; "
            f"it takes at least {_about(fewest)}; raise --trials"
        )
    takes = "no number of trials" if fewest is None else f"no fewer than {_about(fewest)} trials"
    return Verdict.UNTESTABLE, f"{takes} of this event could refute the claim; prove it instead (attacklab prove)"


def _untestable(claim: Claim, alpha: float) -> str:
    """Why no event at all can refute a claim by sampling."""
    counts = [fewest_trials(point, alpha) for point in points_of(claim)]
    known = min((count for count in counts if count is not None), default=None)
    takes = "no number of trials that can be drawn" if known is None else f"no fewer than {_about(known)} trials"
    return (
        f"{takes} could refute {claim}, even by an event that one input always shows and the other never; "
        "prove it instead (attacklab prove)"
    )
