"""The referee: runs a target against attacks and says what was found, within a budget of trials or of seconds.

One α a run is split over the attacks that have something to try (see `shares`), over the rounds, and each attack's
share evenly over its scenarios. The event that judges a scenario is chosen on one sample and judged on a fresh one; see
`judge`. Where the budget is a time, as it is where nothing is said of either, a clock says how many trials it
leaves (see `clock`), and those beyond `DEFAULT_TRIALS` are drawn only as long as they may refute the claim, and no
other attack has.

Where one refuted claim is enough, a short round comes first, and each round has half of α: what is plainly broken is
refuted by a few hundred trials, and the audit ends there. It is enough too where a time is kept and an output takes
`SLOW` seconds or longer, for which the black box comes first: no other attack looks for so much by so few outputs.

Where a time is kept or one refuted claim is enough, attacks look for their scenarios when their turn comes, so that
those behind the one that refutes cost nothing, and α is split over all that apply. Otherwise all look before anything
is judged, and α is split over those that found something.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any

from attacklab.attacks import ATTACKS, Alignment, BlackBox, sized
from attacklab.attacks.base import Attack, Learning
from attacklab.auditing.alignment import SAMPLED_TRIALS, alignment
from attacklab.auditing.clock import FAST, STEPS, Clock
from attacklab.auditing.drawing import Draws, Load, Say
from attacklab.auditing.judge import DEFAULT_TRIALS, Advance, Judge, Plan, PlannedScenario, is_testable, replay_line
from attacklab.auditing.largest_epsilon import largest_epsilon
from attacklab.auditing.ordinary import supported
from attacklab.auditing.repairs import explained, finding_of
from attacklab.auditing.samples import Role
from attacklab.auditing.scenarios import applies
from attacklab.auditing.statistics.choosing import choosing_trials
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.claims.base import require_numbers
from attacklab.model.errors import AttackError, UsageError, UsageTypeError
from attacklab.model.findings import Finding, Interrupted, Verdict
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease

DEFAULT_ALPHA = 1e-6

DEFAULT_SECONDS = 60.0
"""How long an audit may take where nothing is said of trials or seconds; most take a small part of that."""

MOST_TRIALS = 10**12
"""More than anybody can draw; beyond it, counts would leave the integers that doubles hold."""

SHORT_ROUND = 1_000
"""Trials of the short round: a blatant flaw shows within a few hundred."""

SLOW = 1e-3
"""From so many seconds an output on, time is too dear to go on after a claim is refuted."""

ALIGNED_SHARE = 1 / 16
"""The part of a run's α that the alignment has, beside attacks."""

BESIDE_SECONDS = 20.0
"""How long the alignment may take beside attacks, where a time is kept."""

BLACK_BOX_SHARE = 0.25
"""The part of a run's α that the black box has to itself."""


def audit(
    target: Target,
    attacks: Sequence[Attack] | None = None,
    *,
    trials: int | None = None,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    spend_all: bool = False,
    spec: str | None = None,
    executor: Executor | None = None,
    load: Load | None = None,
    here_seconds: float = 0.0,
    report: Callable[[Advance], object] = lambda _: None,
    say: Say = lambda _: None,
    seconds: float | None = None,
    until_refuted: bool = False,
    maximise_epsilon: bool = False,
    ideal_noise: bool = False,
) -> list[Finding]:
    """Run attacks against a target.

    Args:
        target: the implementation.
        attacks: which attacks, all of `ATTACKS` by default; those that do not apply, or find nothing to
            try on this target, give a NOT_APPLICABLE finding and cost no α.
        trials: the most outputs of either input on which an event is judged. Besides, up to a tenth of that number is
            spent on choosing it; at a large e^ε up to half. Where nothing is said of seconds either, `DEFAULT_SECONDS`
            is the budget; with `spend_all` or `maximise_epsilon`, `DEFAULT_TRIALS` is.
        alpha: the probability of any false alarm in the whole run, were the claim true.
        seed: what all randomness is derived from.
        spend_all: whether to go on to the last trial whatever has been seen before, for closer bounds.
        spec: the words after `attacklab audit` that load this target, for the line that replays a finding.
        executor: draws the outputs, in place of this process; any `concurrent.futures.Executor`.
        load: makes the target in a worker of the executor; by default the target itself is sent.
        here_seconds: how long outputs are drawn in this process before the executor is used.
        report: is told after every batch how far the audit is.
        say: is told, in one line, of each attack its rate and trials, with `seconds`; and if the target cannot be sent.
        seconds: how long it may take, about, besides what attacks compute while they look for scenarios: the budget in
            place of `trials`, of which each attack gets as many as there is time for, 5 million at the most. An event
            is judged on more than `DEFAULT_TRIALS` only while it may still refute the claim.
        until_refuted: whether to end with the first attack that refutes the claim, and to make a short round for that
            before the one with all trials. Attacks that were not reached have no finding. Where a time is kept, and
            not all trials are to be spent, an output of `SLOW` seconds or more means the same, and the attack that
            refutes ends with the first scenario by which it does.
        maximise_epsilon: whether to look for the largest ε that can be proved, not for what refutes the claim; see
            `largest_epsilon`. The first finding's `epsilon_lower` is the bound.
        ideal_noise: whether to take the samplers at their word, and to ask for the code around them: the attack
            `alignment` alone, whose black box sees rounded outputs. Give no attacks with it.

    Returns:
        One finding a scenario, in the order of the attacks; the same ones wherever they run. With `maximise_epsilon`
        the bound, and one for each attack that had nothing to try or failed.

    Raises:
        ValueError: `trials`, `seconds`, `alpha` or `seed` is out of range (a `UsageTypeError` where it is not a number,
            or not an integer), or two of the settings exclude each other.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
    """
    if maximise_epsilon and (seconds is not None or until_refuted):
        raise UsageError("the largest epsilon is found by so many trials; leave out seconds and until_refuted")
    draws = Draws(target, executor, here_seconds=here_seconds, load=load, say=say)
    if trials is None and seconds is None and (spend_all or maximise_epsilon):
        trials = DEFAULT_TRIALS
    _require_settings(trials, seconds, alpha, seed)
    trials, alpha, seed = trials and int(trials), float(alpha), int(seed)  # JSON holds no numbers of numpy
    if maximise_epsilon and trials:
        return largest_epsilon(draws, attacks, trials=trials, alpha=alpha, seed=seed, spec=spec, report=report)
    chosen = chosen_attacks(attacks, ATTACKS, ideal_noise=ideal_noise)
    settings: dict[str, Any] = {"trials": trials, "seconds": seconds, "seed": seed, "spec": spec}
    aligned, others, alpha = aligned_first(target, chosen, alpha=alpha, **settings)
    settings |= {"until_refuted": until_refuted, "spend_all": spend_all, "draws": draws, "report": report, "say": say}
    try:
        results = Audit(target, others, alpha=alpha, **settings).results()
    except Interrupted as interrupt:
        raise Interrupted([aligned, *interrupt.findings] if aligned else interrupt.findings) from interrupt
    return after(aligned, [finding for result in results for finding in result.findings])


def chosen_attacks(
    attacks: Sequence[Attack] | None, default: Sequence[Attack], *, ideal_noise: bool
) -> tuple[Attack, ...]:
    """The attacks that an audit runs; `attacks` and `ideal_noise` are arguments of `audit`."""
    if not ideal_noise:
        return tuple(default if attacks is None else attacks)
    if attacks is not None:
        raise UsageError("ideal_noise takes no attacks, as it runs the alignment alone; leave one out")
    return (Alignment(),)


def after(aligned: Finding | None, sampled: Sequence[Finding]) -> list[Finding]:
    """The findings of an audit, the alignment's first.

    It tells nothing of the noise itself: where the samples could decide nothing, that it found nothing is left out.
    """
    decides = not sampled or any(finding.verdict in (Verdict.VIOLATED, Verdict.NOT_DETECTED) for finding in sampled)
    if aligned is None or (aligned.verdict is Verdict.NOT_DETECTED and not decides):
        return list(sampled)
    return [aligned, *sampled]


def aligned_first(
    target: Target, chosen: Sequence[Attack], *, alpha: float, seconds: float | None = None, **settings: Any
) -> tuple[Finding | None, tuple[Attack, ...], float]:
    """What the attack `alignment` finds if it is chosen, the other attacks, and the α that is left to them.

    Beside others it has `BESIDE_SECONDS` at most. Where it decides nothing there, it stands among the attacks that do
    not apply, with the reason. The settings are those of `aligned_finding`.
    """
    others = tuple(attack for attack in chosen if not isinstance(attack, Alignment))
    if len(others) == len(chosen):
        return None, others, alpha
    if not others:
        return aligned_finding(target, alpha=alpha, seconds=seconds, **settings), others, alpha
    most = min(BESIDE_SECONDS, seconds or BESIDE_SECONDS)
    found = aligned_finding(target, alpha=ALIGNED_SHARE * alpha, seconds=most, **settings)
    if found.pair is not None:
        alpha *= 1 - ALIGNED_SHARE
    if found.verdict not in (Verdict.VIOLATED, Verdict.NOT_DETECTED):
        found = replace(found, verdict=Verdict.NOT_APPLICABLE, counts=None)
    return found, others, alpha


def aligned_finding(
    target: Target,
    *,
    alpha: float,
    seed: int,
    trials: int | None = None,
    seconds: float | None = None,
    spec: str | None = None,
    again: Callable[[int, float], str] | None = None,
) -> Finding:
    """What the attack `alignment` finds; the arguments are those of `audit`.

    Where trials are given, no time is kept. `again` gives the line that replays it from the trials and α, in place of
    that of the command line.
    """

    def sampled(rounded: Target, trials: int, alpha: float) -> list[Finding]:
        run = Audit(rounded, [BlackBox()], trials=trials, alpha=alpha, seed=seed)
        return [finding for result in run.results() for finding in result.findings]

    def line(trials: int) -> str:
        if again:
            return again(trials, alpha)
        return replay_line(spec, target.name, [Alignment()], trials=trials, alpha=alpha, seed=seed)

    most = min(trials or SAMPLED_TRIALS, SAMPLED_TRIALS)
    if not Alignment().applies_to(target):
        why = "its draws are random bits, of which a proof says more (attacklab prove)"
    elif isinstance(target.release, ProcessRelease):
        why = "it runs in another process, where its draws are not seen"
    else:
        limit = seconds or DEFAULT_SECONDS if trials is None else math.inf
        try:
            return explained(
                alignment(target, sampled, seed=seed, seconds=limit, trials=most, alpha=alpha, again=line), target
            )
        except UsageError as error:  # it names no pair
            why = str(error)
    return finding_of(target, Alignment().name, Verdict.NOT_APPLICABLE, why, seed=seed, replay=line(most))


@dataclass(frozen=True)
class Audit:
    """An audit to run; its fields are the arguments of `audit`.

    Either `trials` or `seconds` is its budget; without either, `DEFAULT_SECONDS` is.
    """

    target: Target
    attacks: Sequence[Attack]
    _: KW_ONLY
    trials: int | None = None
    seconds: float | None = None
    alpha: float = DEFAULT_ALPHA
    seed: int = 0
    until_refuted: bool = False
    spend_all: bool = False
    spec: str | None = None
    draws: Draws | None = None
    report: Callable[[Advance], object] = lambda _: None
    say: Say = lambda _: None

    @default_errors
    def results(self) -> list[Turn]:
        """What each attack found, in their order; attacks that were not reached are left out.

        Raises:
            ValueError: a setting is out of range.
            ArithmeticModeError: this process does not compute as IEEE 754 says.
            Interrupted: Ctrl-C; it holds what was found by then.
        """
        require_ieee_arithmetic()
        _require_settings(self.trials, self.seconds, self.alpha, self.seed)
        turns = self._turns()
        try:
            self._judge(turns, slow=self._is_slow(turns))
        except KeyboardInterrupt as interrupt:
            made = supported([finding for turn in turns for finding in turn.findings], self.target)
            raise Interrupted(made) from interrupt
        require_ieee_arithmetic()  # a target may have loaded a library that changed it
        named = iter(supported([finding for turn in turns for finding in turn.findings], self.target))
        for turn in turns:
            turn.findings = tuple(itertools.islice(named, len(turn.findings)))
        return [turn for turn in turns if turn.trials]

    def _judge(self, turns: Sequence[Turn], *, slow: bool) -> None:
        """Let the attacks of each round judge what they planned."""
        until_refuted = self.until_refuted or slow
        for most, ahead in self._rounds(turns, slow=slow):
            for place, turn in enumerate(ahead):
                trials = min(most, self.trials or turn.affordable(ahead[place:]))
                if self.trials is None and any(turn.refutes for turn in turns):
                    trials = min(trials, DEFAULT_TRIALS)  # what is refuted needs no subtler evidence
                self._tell(turn, trials)
                if trials > turn.trials:
                    turn.judge_all(trials, rounds=2 if until_refuted else 1, until_refuted=slow)
                if turn.refutes and (until_refuted or getattr(turn.attack, "decides_alone", False)):
                    break

    def _tell(self, turn: Turn, trials: int) -> None:
        """Say how fast an attack's trials are drawn, where a time is kept."""
        if self.trials is None and turn.testable and (self.seconds is not None or trials < DEFAULT_TRIALS):
            self.say(turn.described(trials))

    def _is_slow(self, turns: Sequence[Turn]) -> bool:
        """Whether a time is kept and an output takes long, as looking for the first scenarios shows."""
        if self.trials is None and not self.spend_all:
            turns = _black_box_first(turns)
            for place, turn in enumerate(turns):
                if turn.applies:
                    turn.affordable(turns[place:])
                    if turn.clock is not None and math.isfinite(turn.clock.output):
                        return turn.clock.output >= SLOW
        return False

    def _rounds(self, turns: Sequence[Turn], *, slow: bool) -> Iterator[tuple[int, Sequence[Turn]]]:
        """The most trials of each round, and who takes part in it, in what order."""
        if slow:
            turns = _black_box_first(turns)
        if self.until_refuted or slow:
            yield SHORT_ROUND, turns
            if any(turn.refutes or turn.fails for turn in turns):
                return
            # An attack whose share was too small for the whole short round stays with that where one refuted claim was
            # asked for: trials tell the rounds.
            turns = [turn for turn in turns if turn.goes_on and (turn.trials == SHORT_ROUND or not self.until_refuted)]
        yield MOST_TRIALS, turns

    def _turns(self) -> list[Turn]:
        """The attacks with their shares of α, the budget and what draws their trials."""
        draws = self.draws or Draws(self.target)
        clock = None if self.trials is not None else Clock(self.seconds or DEFAULT_SECONDS, draws.now)
        planned_first = None if self.until_refuted else self.trials
        settings: dict[str, Any] = {"spend_all": self.spend_all, "spec": self.spec, "report": self.report}
        settings |= {} if self.seconds is None else {"advice": "allow more seconds or trials"}
        settings |= {} if clock is None else {"enough": DEFAULT_TRIALS}
        judges = (
            Judge(self.target, sized(attack, planned_first or STEPS[0]), draws, self.seed, **settings)
            for attack in self.attacks
        )
        turns = [Turn(attack, judge, clock) for attack, judge in zip(self.attacks, judges, strict=True)]
        trying = [isinstance(turn.plan, tuple) if planned_first else turn.applies for turn in turns]
        for turn, share in zip(turns, shares(self.attacks, trying, self.alpha), strict=True):
            turn.alpha = share
        return turns


@dataclass
class Turn:
    """One attack in an audit, through all rounds, and what it found."""

    attack: Attack
    judge: Judge  # learns from as many outputs as `trials` warrant
    clock: Clock | None  # None where no time is kept
    alpha: float = 1.0  # the attack's part of α, in all rounds together
    trials: int = 0  # the most outputs of either input on which an event was judged in the last round
    findings: tuple[Finding, ...] = ()  # of that round
    seconds: float = math.inf  # how long it may take, where a time is kept

    @property
    def applies(self) -> bool:
        """Whether the attack applies to the target."""
        with contextlib.suppress(AttackError):
            return applies(self.judge.attack, self.judge.target)
        return True  # judging says what it raised

    @functools.cached_property
    def plan(self) -> Plan:
        """The scenarios; while they are looked for, half of the seconds that are left are kept."""
        return self.judge.plan(self.clock)

    @property
    def testable(self) -> list[PlannedScenario]:
        """The scenarios that a sample could decide."""
        planned = self.plan if isinstance(self.plan, tuple) else ()
        return [each for each in planned if each.claim and is_testable(each.claim, STEPS[-1], self.alpha)]

    def affordable(self, ahead: Sequence[Turn]) -> int:
        """How many trials there is time for, where the attacks ahead share what is left as they share α."""
        assert self.clock is not None  # noqa: S101 - asked where a time is kept
        if not (self.applies and self.clock.left and self.clock.limit):
            return STEPS[0]  # judging says why there is nothing to judge
        self.seconds = self.clock.left * self.alpha / sum(turn.alpha for turn in ahead if turn.applies)
        testable = self.testable
        if not (testable or isinstance(self.attack, Learning)):
            return STEPS[0]
        return max(step for step in STEPS if step == STEPS[0] or self._cost(self.clock, testable, step) <= self.seconds)

    def _cost(self, clock: Clock, testable: Sequence[PlannedScenario], trials: int) -> float:
        """The seconds that so many trials take: to find scenarios that are learned, to choose and to judge."""
        larger = sized(self.attack, trials)
        learning = larger.looks if isinstance(larger, Learning) and larger != self.judge.attack else 0
        seconds = clock.cost(learning)
        for planned in testable:
            for most in (choosing_trials(self.judge.target.claim.composed(planned.answers), trials), trials):
                batches = sum(1 for _ in planned.sample(Role.JUDGE, (), most, spend_all=False).batches())
                seconds += 2 * clock.cost(most * planned.answers, batches, self._output(clock, planned))
        return seconds

    @staticmethod
    def _output(clock: Clock, planned: PlannedScenario) -> float:
        """The seconds of an output that judges a scenario."""
        return clock.output_on(planned.scenario.pair.first)

    def described(self, trials: int) -> str:
        """How fast its trials are drawn, and so how many of them judge at the most."""
        assert self.clock is not None  # noqa: S101 - as above
        rate = 1 / max(1e-9, self.clock.cost(2 * sum(planned.answers for planned in self.testable)))
        return f"{self.judge.target.name}, {self.attack.name}: {rate:.2g} trials a second, so up to {trials}"

    def judge_all(self, trials: int, rounds: int, *, until_refuted: bool) -> None:
        """Judge what was planned in one of so many rounds, with its share of the attack's α; all, or until refuted."""
        attack = sized(self.attack, trials)
        if attack != self.judge.attack:
            self.judge = replace(self.judge, attack=attack)
            self.__dict__.pop("plan", None)
        plan = self.plan
        if self.findings and isinstance(plan, Finding) and plan.verdict is Verdict.INCONCLUSIVE:
            return  # there is no time to look for more, so what the short round found stays
        self.trials = trials
        clock, seconds, output, started = self.clock, self.seconds, math.inf, 0.0
        if clock:
            output = max((self._output(clock, planned) for planned in self.testable), default=clock.output)
            seconds, started = clock.limit if output < FAST else seconds, clock.now()
        share = share_of_alpha(self.alpha, rounds)
        self.findings = tuple(self.judge.findings(plan, trials, share, seconds=seconds, until_refuted=until_refuted))
        if clock:
            clock.charge(clock.now() - started, sum(finding.trials for finding in self.findings), output)

    @property
    def refutes(self) -> bool:
        """Whether a finding refutes the claim."""
        return any(finding.refutes for finding in self.findings)

    @property
    def fails(self) -> bool:
        """Whether the target failed, or the attack."""
        return any(finding.verdict is Verdict.ERROR for finding in self.findings)

    @property
    def goes_on(self) -> bool:
        """Whether there is anything to judge."""
        return any(finding.pair is not None for finding in self.findings)


def _black_box_first(turns: Sequence[Turn]) -> list[Turn]:
    return sorted(turns, key=lambda turn: not isinstance(turn.attack, BlackBox))


def _require_settings(trials: int | None, seconds: float | None, alpha: float, seed: int) -> None:
    """Refuse settings that are out of range, before anything runs."""
    if trials is not None and seconds is not None:
        raise UsageError("an audit has a budget of trials or of seconds; give one of them")
    counts = {"seed": seed} if trials is None else {"trials": trials, "seed": seed}
    for name, count in counts.items():
        if not isinstance(count, Integral) or isinstance(count, bool):
            raise UsageTypeError(f"{name} must be an integer, not {count!r}")
    if trials is not None and trials < 1:
        raise UsageError(f"trials must be at least 1, not {trials}")
    if trials is not None and trials > MOST_TRIALS:
        raise UsageError(f"trials must be at most {MOST_TRIALS}, not {trials}")
    if seconds is not None:
        require_numbers(seconds=seconds)
    if seed < 0:
        raise UsageError(f"seed must be at least 0, not {seed}")
    if not isinstance(alpha, Real) or isinstance(alpha, bool):
        raise UsageTypeError(f"alpha must be a number, not {alpha!r}")
    if not 0 < alpha < 1:
        raise UsageError(f"alpha must lie in (0, 1), not {alpha}")


def shares(attacks: Sequence[Attack], trying: Sequence[bool], alpha: float) -> list[float]:
    """The α of each attack; those of the attacks that have something to try add up to that of the run at the most.

    The black box gets `BLACK_BOX_SHARE` of the run's α where other attacks have something to try too, because it looks
    for every flaw that none of them was written for. The others split the rest evenly.
    """
    learning = [isinstance(attack, BlackBox) for attack in attacks]
    counts = Counter(kind for kind, tries in zip(learning, trying, strict=True) if tries)
    parts = {True: BLACK_BOX_SHARE, False: 1 - BLACK_BOX_SHARE} if len(counts) == 2 else {True: 1.0, False: 1.0}
    return [share_of_alpha(parts[kind] * alpha, max(1, counts[kind])) for kind in learning]
