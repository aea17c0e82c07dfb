"""An audit that keeps to a time: real targets give from two to five million outputs a second.

Every scenario is rehearsed before it is judged: a few trials are timed and thrown away. That says how many trials of an
attack its share of the seconds leaves time for, in steps (1, 2, 5, 10, 20, …), so that small differences in speed
change nothing. Given those numbers, findings depend on the seed alone.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says so.

Where one refuted claim is enough, a short round comes first, and each round has half of α: what is plainly broken is
refuted by a few hundred trials, and the audit ends there. Attacks look for their scenarios when their turn comes, so
that those behind the one that refutes cost nothing.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attacklab.auditing.attacks import ATTACKS, sized
from attacklab.auditing.attacks.base import Attack, Learning
from attacklab.auditing.ordinary import supported
from attacklab.auditing.referee import DEFAULT_ALPHA, Advance, Judge, Plan, is_testable, require_settings, shares
from attacklab.auditing.statistics.choosing import choosing_trials
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.errors import AttackError, LabFault, OutOfTime, Refused, TargetError, UsageError
from attacklab.model.findings import Finding, Verdict
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Release, Target
from attacklab.processes.batches import FIRST_LOOK, Bench, Outline, Role, Sample, applies
from attacklab.processes.runners import InProcess, Runner, Say

DEFAULT_SECONDS = 60.0
"""How long an audit may take where nothing else is asked for."""

SHORT_ROUND = 1_000
"""Trials of the short round: a blatant flaw shows within a few hundred."""

STEPS: tuple[int, ...] = (*(factor * 10**power for power in range(6) for factor in (1, 2, 5)), 1_000_000)
"""The numbers of trials that there may be time for."""

REHEARSING_SHARE = 50
"""A scenario is rehearsed until that takes its share of the seconds, divided by this."""

SLOW_SHARE = 10
"""An attack has only one scenario rehearsed if that takes more than its share of the seconds, divided by this."""

MISJUDGED = 10
"""A trial is taken to cost no less than this part of the mean that was measured, whatever seems to be a call's cost."""


@dataclass(frozen=True, slots=True)
class TimedAttack:
    """What one attack found in a timed audit.

    Attributes:
        attack: the attack.
        trials: the most outputs of either input on which an event of it was judged.
        alpha: its part of α, in all rounds together.
        findings: those of the last round that it took part in.
    """

    attack: Attack
    trials: int
    alpha: float
    findings: tuple[Finding, ...]


@default_errors
def timed_audit(
    target: Target,
    attacks: Sequence[Attack] | None = None,
    *,
    seconds: float = DEFAULT_SECONDS,
    trials: int | None = None,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    until_refuted: bool = False,
    spend_all: bool = False,
    spec: str | None = None,
    where: Callable[[Bench], Runner] = InProcess,
    report: Callable[[Advance], object] = lambda _: None,
    say: Say = lambda _: None,
) -> list[TimedAttack]:
    """Run attacks against a target for about so long.

    Args:
        target: the implementation.
        attacks: which attacks, all of `ATTACKS` by default.
        seconds: how long it may take, about, besides what attacks compute while they look for scenarios.
        trials: the most outputs of either input on which an event is judged; None for as many as there is time for.
        alpha: the probability of any false alarm in the whole run, were the claim true; split over the attacks that
            apply, as `shares` of the referee does.
        seed: what all randomness is derived from.
        until_refuted: whether to end with the first attack that refutes the claim, and to make a short round for that
            before the one with all trials; otherwise every attack has one round.
        spend_all: as in `audit`.
        spec: as in `audit`.
        where: where trials run, as in `audit`.
        report: is told after every batch how far the audit is.
        say: is told, in one line an attack, the measured rate and the trials.

    Returns:
        What each attack found, in their order; attacks that were not reached are left out.

    Raises:
        ValueError: `seconds`, `trials`, `alpha` or `seed` is out of range.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
    """
    if not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(f"seconds must be finite and greater than 0, not {seconds}")
    require_ieee_arithmetic()
    require_settings(1 if trials is None else trials, alpha, seed)
    meter = _Meter(target.release, seconds)
    if trials is None:
        target = replace(target, release=meter)
    attacks = ATTACKS if attacks is None else attacks
    applying = [_applies(attack, target) for attack in attacks]

    def judging(attack: Attack) -> Judge:
        bench = Bench(target, [attack], seed)
        return Judge(target, attack, bench, where(bench), spend_all=spend_all, spec=spec, report=report)

    turns = [
        _Turn(attack, judging, share, meter)
        for attack, share in zip(attacks, shares(attacks, applying, alpha), strict=True)
    ]
    ahead, rounds = turns, 2 if until_refuted else 1
    if until_refuted:
        for place, turn in enumerate(turns):
            share = min(seconds / max(1, sum(applying)), meter.left / max(1, sum(applying[place:])))
            turn.judge(min(trials or turn.affordable(share), SHORT_ROUND), rounds)
            if turn.refutes:
                return _results(turns[: place + 1])
        if any(turn.shows(Verdict.ERROR) for turn in turns):
            return _results(turns)
        # An attack whose share was too small for the whole short round stays with that: trials tell the rounds.
        ahead = [turn for turn in turns if turn.goes_on]
    for place, turn in enumerate(ahead):
        remaining = sum(later.applies for later in ahead[place:])
        most = trials or turn.affordable(meter.left / max(1, remaining), say)
        if most > turn.trials:
            turn.judge(most, rounds)
        if until_refuted and turn.refutes:
            break
    return _results(turns)


def _results(turns: Sequence[_Turn]) -> list[TimedAttack]:
    results = [turn.result() for turn in turns]
    named = iter(supported([finding for result in results for finding in result.findings]))
    return [replace(result, findings=tuple(itertools.islice(named, len(result.findings)))) for result in results]


def _applies(attack: Attack, target: Target) -> bool:
    with contextlib.suppress(AttackError):
        return applies(attack, target)
    return True  # the referee says what it raised


class _Meter:
    """A release whose time is taken; while scenarios are looked for, it draws nothing for which there is no time.

    Args:
        release: the release.
        seconds: how long it may draw.
    """

    def __init__(self, release: Release, seconds: float) -> None:
        self._release, self._seconds = release, seconds
        self._spent, self._fastest, self._rate_is_unknown = 0.0, math.inf, True
        self._kept: float | None = None
        self._is_doubted = True
        """Whether the rate is measured again before it first leaves no time: both outputs it is from may be held up."""

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        if self._kept is not None:
            self._require_time(self._kept, input_, trials, rng)
        return self._timed(input_, trials, rng)

    def _require_time(self, kept: float, input_: Any, trials: int, rng: np.random.Generator) -> None:
        if trials > 1 and self._rate_is_unknown:
            self._rehearse(input_, trials, rng)
        if not self._affords(trials, kept) and self._is_doubted and self._fastest < self.left:
            self._is_doubted = False
            self._timed(copy.deepcopy(input_), 1, copy.deepcopy(rng))
        if not self._affords(trials, kept):
            raise OutOfTime(
                f"there is no time left to look for what it tries: the target takes {self._fastest:.2g} s for an "
                "output; allow more seconds"
            )

    def _affords(self, trials: int, kept: float) -> bool:
        needed = trials * self._fastest if math.isfinite(self._fastest) else 0.0
        return self.left > 0 and self.left - needed >= kept

    def _rehearse(self, input_: Any, trials: int, rng: np.random.Generator) -> None:
        """Find the rate from ever longer calls, so that what a call costs is not taken for what an output costs."""
        self._timed(copy.deepcopy(input_), 1, copy.deepcopy(rng))  # what the first call costs is not seen again
        self._rate_is_unknown, size, before = False, 1, self._spent
        while size < trials and self._spent - before < self._seconds / REHEARSING_SHARE:
            self._timed(copy.deepcopy(input_), size, copy.deepcopy(rng))
            size *= 4

    def _timed(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        started = time.perf_counter()
        try:
            return self._release(input_, trials, rng)
        finally:
            elapsed = time.perf_counter() - started
            self._spent += elapsed
            self._fastest = min(self._fastest, elapsed / trials)

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._seconds - self._spent)

    @contextlib.contextmanager
    def charging(self) -> Iterator[None]:
        """While outputs are drawn and judged, maybe in other processes: all of the time counts."""
        started, before = time.perf_counter(), self._spent
        try:
            yield
        finally:
            self._spent = max(self._spent, before + time.perf_counter() - started)

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """While scenarios are looked for: half of the seconds that are left now are kept."""
        self._kept = self.left / 2
        try:
            yield
        finally:
            self._kept = None


class _Turn:
    """One attack on a target, through all rounds."""

    def __init__(self, attack: Attack, judging: Callable[[Attack], Judge], alpha: float, meter: _Meter) -> None:
        self._attack, self._judging, self._alpha, self._meter = attack, judging, alpha, meter
        self._judge = judging(sized(attack, STEPS[0]))
        self._costs: list[_Cost] | None = None
        self._findings: list[Finding] = []
        self.trials = 0

    @property
    def applies(self) -> bool:
        return _applies(self._judge.attack, self._judge.target)

    @functools.cached_property
    def _plan(self) -> Plan:
        with self._meter.looking():
            return self._judge.plan()

    @property
    def _outlines(self) -> tuple[Outline, ...]:
        return self._plan if isinstance(self._plan, tuple) else ()

    @property
    def goes_on(self) -> bool:
        """Whether there is anything to judge, and the short round was not cut."""
        return self.trials == SHORT_ROUND and any(finding.pair is not None for finding in self._findings)

    def shows(self, verdict: Verdict) -> bool:
        return any(finding.verdict is verdict for finding in self._findings)

    @property
    def refutes(self) -> bool:
        return any(finding.refutes for finding in self._findings)

    def judge(self, trials: int, rounds: int) -> None:
        """Judge all that was planned in one of so many rounds, with its share of the attack's α."""
        self.trials = trials
        attack = sized(self._attack, trials)
        if attack != self._judge.attack:
            self._judge = self._judging(attack)
            self.__dict__.pop("_plan", None)
        plan = self._plan
        with self._meter.charging():
            self._findings = self._judge.findings(plan, trials, share_of_alpha(self._alpha, rounds))
        require_ieee_arithmetic()  # a target may have loaded a library that changed it

    def result(self) -> TimedAttack:
        return TimedAttack(self._attack, self.trials, self._alpha, tuple(self._findings))

    def affordable(self, seconds: float, say: Say = lambda _: None) -> int:
        """How many trials there is time for, at least 1."""
        if self._costs is None:
            self._costs = self._rehearsed(seconds) if self.applies and seconds else []
        if not self._costs or not seconds:
            return STEPS[0]  # the referee says why there is nothing to judge
        trials = max(step for step in STEPS if step == STEPS[0] or self._cost(step) <= seconds)
        rate = 1 / sum(cost.trial for cost in self._costs)
        say(f"{self._judge.target.name}, {self._judge.attack.name}: {rate:.2g} trials a second, so up to {trials}")
        return trials

    def _cost(self, trials: int) -> float:
        """The seconds that it takes to judge all scenarios on so many trials, and to find those that are learned."""
        assert self._costs is not None  # noqa: S101 - asked after the rehearsal
        claim = self._judge.target.claim
        judging = sum(
            cost.of(choosing_trials(claim.composed(cost.answers), trials)) + cost.of(trials) for cost in self._costs
        )
        attack = sized(self._attack, trials)
        if not isinstance(attack, Learning):
            return judging
        output = sum(cost.trial / (2 * cost.answers) for cost in self._costs) / len(self._costs)
        return judging + output * attack.looks

    def _rehearsed(self, seconds: float) -> list[_Cost]:
        """What the scenarios cost."""
        costs: list[_Cost] = []
        outlines = [
            (number, outline)
            for number, outline in enumerate(self._outlines)
            if (claim := self._judge.claim_of(outline)) and is_testable(claim, STEPS[-1], self._alpha)
        ]
        with contextlib.suppress(TargetError, LabFault):  # the referee reports it
            for place, (number, outline) in enumerate(outlines, start=1):
                started = time.perf_counter()
                enough = seconds / (REHEARSING_SHARE * len(outlines))
                with self._meter.charging():
                    try:
                        costs.append(self._timed(number, outline, enough))
                    except Refused:  # as it will be judged then
                        costs.append(self._timed(number, outline, enough, one_by_one=True))
                if time.perf_counter() - started > seconds / SLOW_SHARE:
                    return costs + [replace(costs[-1], answers=outline.answers) for _, outline in outlines[place:]]
        return costs

    def _timed(self, number: int, outline: Outline, enough: float, *, one_by_one: bool = False) -> _Cost:
        """The cost of one scenario, from ever longer samples until one took `enough` seconds."""
        seconds = functools.partial(self._seconds, number, one_by_one)
        # A first call takes longer, and any may be held up.
        shortest = elapsed = min(seconds(1) for _ in range(2))
        trials = 1
        while trials == 1 or (elapsed < enough and trials < SHORT_ROUND):
            trials *= 2
            elapsed = seconds(trials)
            if elapsed > 2 * trials * shortest:
                elapsed = min(elapsed, seconds(trials))
        if elapsed < 2 * shortest and trials < FIRST_LOOK:  # most of it does not depend on the number of trials
            trials = FIRST_LOOK
            elapsed = seconds(trials)
        trial = max((elapsed - shortest) / (trials - 1), elapsed / trials / MISJUDGED)
        return _Cost(trial, max(0.0, elapsed - trial * trials), outline.answers)

    def _seconds(self, number: int, one_by_one: bool, trials: int) -> float:
        sample = self._judge.sample(
            self._outlines, number, Role.CHOOSE, (0,), trials, spend_all=True, one_by_one=one_by_one
        )
        started = time.perf_counter()
        for _ in self._judge.runner.counts(sample, sample.batches()):
            pass
        return time.perf_counter() - started


@dataclass(frozen=True, slots=True)
class _Cost:
    """What judging a scenario costs, in seconds: each trial, and besides each batch of them."""

    trial: float
    batch: float
    answers: int

    def of(self, trials: int) -> float:
        sample = Sample(0, 0, "", Role.JUDGE, (0,), self.answers, trials, spend_all=False)
        return trials * self.trial + self.batch * sum(1 for _ in sample.batches())
