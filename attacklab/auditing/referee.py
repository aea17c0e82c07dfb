"""The referee: runs a target against attacks and says what was found, within a budget of trials or of seconds.

The α of a run is split over the attacks that have something to try (see `shares`), an attack's share evenly over its
scenarios. The event that judges a scenario is chosen on one sample and judged on a fresh one; see `judge`.

If a number of trials is given, all attacks look for their scenarios before anything is judged, and α is split over the
attacks that found some. Otherwise the budget is a time. Then an attack looks when its turn comes, so that attacks after
the one that refutes the claim cost nothing, and α is split over all attacks that apply. A clock says how many trials
the time leaves (see `clock`). Trials beyond `DEFAULT_TRIALS` are drawn only as long as they may refute the claim. Once
an attack has refuted it, the others draw `ONCE_REFUTED` at most.

If the budget is a time and an output takes `SLOW` seconds or longer, the audit ends when the claim is refuted, and the
black box comes first: no other attack looks for more with as few outputs.
"""

from __future__ import annotations

import contextlib
import functools
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from numbers import Integral
from typing import TypeAlias

from attacklab.attacks import ATTACKS, AlignmentAttack, BlackBox, sized
from attacklab.attacks.base import Attack, Learning
from attacklab.auditing import DEFAULT_ALPHA as DEFAULT_ALPHA
from attacklab.auditing.alignment import SAMPLED_TRIALS, alignment
from attacklab.auditing.clock import FAST, STEPS, Clock, cost
from attacklab.auditing.drawing import Draws, Load, Say
from attacklab.auditing.flaws import explained
from attacklab.auditing.judge import DEFAULT_TRIALS, NOT_REPLAYABLE, Plan, PlannedScenario, Rules, applies
from attacklab.auditing.largest_epsilon import largest_epsilon
from attacklab.auditing.ordinary import supported
from attacklab.auditing.statistics.choosing import choosing_trials
from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.model.claims.base import require_numbers, require_real
from attacklab.model.errors import AttackError, UsageError, UsageTypeError
from attacklab.model.findings import Finding, Interrupted, Verdict
from attacklab.model.floats import default_errors, require_ieee_arithmetic
from attacklab.model.targets import Target
from attacklab.processes.targets import ProcessRelease

Again: TypeAlias = Callable[[Attack, int, float], str]
"""Returns the line that repeats an attack's findings, from the attack, the number of trials and the attack's α."""

DECIDED = (Verdict.VIOLATED, Verdict.NOT_DETECTED)

DEFAULT_SECONDS = 60.0
"""How long an audit may take if neither trials nor seconds are given; most take a small part of it."""

MOST_TRIALS = 10**12
"""More than anybody can draw; beyond it, counts would leave the integers that doubles hold."""

FEWEST_TRIALS = 1_000
"""There is always time for this many trials if outputs are fast: a blatant flaw shows within a few hundred."""

FEWEST_SECONDS = 0.1
"""Fast outputs always get this long, which is enough for `FEWEST_TRIALS`."""

ONCE_REFUTED = 20_000
"""The most trials of an attack that runs after another has refuted the claim: enough to name what is plain."""

SLOW = 1e-3
"""If an output takes this many seconds or more, the audit ends once a claim is refuted."""

ALIGNED_SHARE = 1 / 16
"""The share of a run's α that goes to the alignment if other attacks run too."""

BESIDE_SECONDS = 20.0
"""The most seconds that the alignment may take when attacks run too and the audit has a time limit."""

BLACK_BOX_SHARE = 0.25
"""The share of a run's α that goes to the black box if other attacks have something to try too."""


@default_errors
def audit(
    target: Target,
    attacks: Sequence[Attack] | None = None,
    *,
    trials: int | None = None,
    alpha: float = DEFAULT_ALPHA,
    seed: int = 0,
    spend_all: bool = False,
    spec: str | None = None,
    again: Again | None = None,
    executor: Executor | None = None,
    load: Load | None = None,
    here_seconds: float = 0.0,
    report: Say = lambda _: None,
    say: Say = lambda _: None,
    seconds: float | None = None,
    maximise_epsilon: bool = False,
    ideal_noise: bool = False,
) -> list[Finding]:
    """Run attacks against a target.

    Args:
        target: the implementation.
        attacks: which attacks, all of `ATTACKS` by default; those that do not apply, or find nothing to
            try on this target, give a NOT_APPLICABLE finding and cost no α.
        trials: the most outputs of either input on which an event is judged. Besides, up to a tenth of that number is
            spent on choosing it; at a large e^ε up to half. If `seconds` is not given either, the budget is
            `DEFAULT_SECONDS`, or `DEFAULT_TRIALS` with `spend_all` or `maximise_epsilon`.
        alpha: the probability of any false alarm in the whole run if the claim is true.
        seed: the seed of all randomness.
        spend_all: whether to go on to the last trial whatever has been seen before, for closer bounds.
        spec: the arguments of `attacklab audit` that load this target, for the command that replays a finding.
        again: returns the line that replays an attack's findings, in place of a command made from `spec`.
        executor: draws the outputs in place of this process; any `concurrent.futures.Executor`.
        load: makes the target in a worker of the executor; by default the target itself is sent.
        here_seconds: how long outputs are drawn in this process before the executor is used.
        report: called after every batch with a line that says how far the audit has come.
        say: called with a line of text if the target cannot be sent to a worker.
        seconds: about how long the audit may take, besides what attacks compute while they look for scenarios. It is
            the budget in place of `trials`: each attack gets the trials that there is time for, at most 5 million. An
            event is judged on more than `DEFAULT_TRIALS` only while it may still refute the claim.
        maximise_epsilon: whether to look for the largest ε that can be proved, not for what refutes the claim; see
            `largest_epsilon`. The first finding's `epsilon_lower` is the bound.
        ideal_noise: whether to assume that samplers are right, and to test only the code around them, by the attack
            `alignment` alone, whose black box sees rounded outputs. Give no attacks with it.

    Returns:
        One finding a scenario, in the order of the attacks; the same ones wherever they run. With `maximise_epsilon`
        the bound, and one for each attack that had nothing to try or failed.

    Raises:
        ValueError: `trials`, `seconds`, `alpha` or `seed` is out of range (a `UsageTypeError` where it is not a number,
            or not an integer), or two of the settings exclude each other.
        ArithmeticModeError: this process does not compute as IEEE 754 says.
        Interrupted: Ctrl-C; it holds what was found by then.
    """
    if ideal_noise and attacks is not None:
        raise UsageError("ideal_noise takes no attacks, as it runs the alignment alone; leave one out")
    trials, alpha, seed = _settings(trials, seconds, alpha, seed, to_the_end=maximise_epsilon or spend_all)
    require_ieee_arithmetic()
    draws = Draws(target, executor, here_seconds=here_seconds, load=load, say=say)
    rules = Rules(draws, seed, spend_all or maximise_epsilon, None if trials else DEFAULT_TRIALS, report)
    chosen: Sequence[Attack] = ATTACKS if attacks is None else attacks
    if maximise_epsilon and trials:
        settings = {"trials": trials, "alpha": alpha, "seed": seed, "maximise_epsilon": True}
        replay = _line(None, target.name, attacks, settings)
        found = largest_epsilon(rules, chosen, trials=trials, alpha=alpha)
        return [explained(replace(finding, replay=replay), target) for finding in found]
    flag = {"spend_all": True} if spend_all else {}

    def line(attack: Attack, trials: int, alpha: float) -> str:
        return _line(spec, target.name, [attack], {"trials": trials, "alpha": alpha, "seed": seed, **flag})

    return _audited(rules, [AlignmentAttack()] if ideal_noise else chosen, alpha, trials, seconds, again or line, spec)


def _settings(
    trials: int | None, seconds: float | None, alpha: float, seed: int, *, to_the_end: bool
) -> tuple[int | None, float, int]:
    """Return the trials, α and the seed as Python's own numbers, for JSON; raise if an argument is out of range."""
    if to_the_end:
        if seconds is not None:
            raise UsageError("spend_all and maximise_epsilon need a number of trials; give trials in place of seconds")
        trials = DEFAULT_TRIALS if trials is None else trials
    if None not in (trials, seconds):
        raise UsageError("an audit has a budget of trials or of seconds; give one of them")
    asked = 1 if trials is None else trials
    for name, count, least in (("trials", asked, 1), ("seed", seed, 0)):
        if not isinstance(count, Integral) or isinstance(count, bool):
            raise UsageTypeError(f"{name} must be an integer, not {count!r}")
        if count < least:
            raise UsageError(f"{name} must be at least {least}, not {count}")
    if asked > MOST_TRIALS:
        raise UsageError(f"trials must be at most {MOST_TRIALS}, not {trials}")
    if seconds is not None:
        require_numbers(seconds=seconds)
    share_of_alpha(require_real("alpha", alpha), 1)
    return None if trials is None else int(trials), float(alpha), int(seed)


def _audited(
    rules: Rules,
    attacks: Sequence[Attack],
    alpha: float,
    trials: int | None,
    seconds: float | None,
    again: Again,
    spec: str | None,
) -> list[Finding]:
    """Run all attacks and return their findings; the findings of the alignment come first."""
    sampling = [attack for attack in attacks if not isinstance(attack, AlignmentAttack)]
    first: list[Finding] = []
    if len(sampling) < len(attacks):
        first, alpha = _aligned(rules, alpha, trials, seconds, again, alone=not sampling)
    turns = _turns(rules, sampling, alpha, trials, seconds, again)
    try:
        _judge(turns, trials)
    except KeyboardInterrupt as interrupt:
        raise Interrupted([*first, *_named(turns, rules.target, spec)]) from interrupt
    require_ieee_arithmetic()  # a target may have loaded a library that changed it
    sampled = _named(turns, rules.target, spec)
    # The alignment tells nothing of the noise: that it found nothing is left out where samples could decide nothing.
    decides = not sampled or any(finding.verdict in DECIDED for finding in sampled)
    return [*(one for one in first if decides or one.verdict is not Verdict.NOT_DETECTED), *sampled]


def _line(spec: str | None, target: str, attacks: Sequence[Attack] | None, settings: Mapping[str, float]) -> str:
    """Return the line that repeats an audit by some attacks, or by all, with these settings of `audit`."""
    if spec is None:
        named = [] if attacks is None else [f"[{', '.join(map(repr, attacks))}]"]
        return f"audit({', '.join([target, *named, *(f'{name}={value}' for name, value in settings.items())])})"
    options = [f"--attack {attack.name}" for attack in attacks or ()]
    options += [
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in settings.items()
    ]
    return " ".join(["attacklab audit", spec, *options])


def _named(turns: Sequence[Turn], target: Target, spec: str | None) -> list[Finding]:
    """Return the findings so far, each with its flaw, and with `spec`, which loads the target, if it is VIOLATED."""
    findings = supported([finding for turn in turns for finding in turn.findings], target)
    return [
        replace(finding, spec=spec or "") if finding.verdict is Verdict.VIOLATED else finding for finding in findings
    ]


def _aligned(
    rules: Rules, alpha: float, trials: int | None, seconds: float | None, again: Again, *, alone: bool
) -> tuple[list[Finding], float]:
    """Return what the attack `alignment` finds, and the α that is left for other attacks.

    Beside other attacks it may take at most `BESIDE_SECONDS`. If it decides nothing there, its finding is
    NOT_APPLICABLE and says why. With `trials` there is no time limit.
    """
    target, attack, share = rules.target, AlignmentAttack(), alpha if alone else ALIGNED_SHARE * alpha

    def line(trials: int) -> str:
        return again(attack, trials, share)

    most = min(trials or SAMPLED_TRIALS, SAMPLED_TRIALS)
    limit = math.inf if trials else min(seconds or DEFAULT_SECONDS, math.inf if alone else BESIDE_SECONDS)
    why = ""
    if not attack.applies_to(target):
        why = "it draws random bits; prove it instead (attacklab prove)"
    elif isinstance(target.release, ProcessRelease):
        why = "it runs in another process, where its draws cannot be recorded"
    else:
        try:
            found = alignment(target, audit, seed=rules.seed, seconds=limit, trials=most, alpha=share, again=line)
        except UsageError as error:  # it names no pair
            why = str(error)
    if why:
        return [rules.finding(attack, Verdict.NOT_APPLICABLE, why, replay=line(most))], alpha
    if found.pair is not None:
        alpha -= share
    if not alone and found.verdict not in DECIDED:
        found = replace(found, verdict=Verdict.NOT_APPLICABLE, evidence=None)
    return [explained(found, target)], alpha


def _turns(
    rules: Rules, attacks: Sequence[Attack], alpha: float, trials: int | None, seconds: float | None, again: Again
) -> list[Turn]:
    """Return a turn for each attack, with its share of α. If `trials` is given, the scenarios are found already."""
    clock = None if trials else Clock(seconds or DEFAULT_SECONDS, rules.draws)
    turns = [Turn(attack, sized(attack, trials or STEPS[0]), rules, clock, again) for attack in attacks]
    trying = [isinstance(turn.plan, tuple) if trials else turn.applies for turn in turns]
    for turn, share in zip(turns, shares(attacks, trying, alpha), strict=True):
        turn.alpha = share
    return turns


def _judge(turns: Sequence[Turn], trials: int | None) -> None:
    """Let each attack judge what it planned. If outputs are slow, stop at the first attack that refutes the claim."""
    slow = trials is None and _is_slow(turns)
    if slow:
        turns = _black_box_first(turns)
    for place, turn in enumerate(turns):
        wanted = trials or turn.affordable(turns[place:])
        if trials is None and any(each.refutes for each in turns):
            wanted = min(wanted, ONCE_REFUTED)  # what is refuted needs no subtler evidence
        turn.judge(wanted, until_refuted=slow)
        if turn.refutes and (slow or getattr(turn.attack, "decides_alone", False)):
            return


def _is_slow(turns: Sequence[Turn]) -> bool:
    """Whether an output takes `SLOW` seconds or longer, as measured while the first scenarios are looked for."""
    for turn in _black_box_first(turns):
        if turn.applies and turn.clock and turn.plan and math.isfinite(turn.clock.rate):
            return turn.clock.rate >= SLOW
    return False


def _black_box_first(turns: Sequence[Turn]) -> list[Turn]:
    return sorted(turns, key=lambda turn: not isinstance(turn.attack, BlackBox))


@dataclass
class Turn:
    """One attack in an audit, and what it found."""

    attack: Attack
    learned: Attack  # the attack, with a learning sample whose size suits `trials`
    rules: Rules
    clock: Clock | None  # None if the budget is a number of trials
    again: Again
    alpha: float = 1.0  # the attack's part of α
    trials: int = 0  # the most outputs of either input on which an event was judged
    findings: tuple[Finding, ...] = ()
    seconds: float = math.inf  # how long it may take; infinite if the budget is a number of trials

    @property
    def applies(self) -> bool:
        """Whether the attack applies to the target."""
        with contextlib.suppress(AttackError):
            return applies(self.learned, self.rules.target)
        return True  # judging says what it raised

    @functools.cached_property
    def plan(self) -> Plan:
        """The scenarios, or a finding if there are none. Looking takes at most half of the seconds that are left."""
        return self.rules.plan(self.learned, self.clock)

    @property
    def scenarios(self) -> tuple[PlannedScenario, ...]:
        """The scenarios, if it found any."""
        return self.plan if isinstance(self.plan, tuple) else ()

    def affordable(self, ahead: Sequence[Turn]) -> int:
        """Return how many trials there is time for if the attacks in `ahead` share the time left as they share α."""
        assert self.clock is not None  # noqa: S101 - asked where a time is kept
        if not (self.applies and self.clock.left and self.clock.limit):
            return FEWEST_TRIALS if self.clock.rate < FAST else STEPS[0]  # judging says why there is nothing to judge
        self.seconds = self.clock.left * self.alpha / sum(turn.alpha for turn in ahead if turn.applies)
        if not (self.scenarios or isinstance(self.attack, Learning)):
            return STEPS[0]
        return max(step for step in STEPS if step == STEPS[0] or self._cost(self.clock, step) <= self.seconds)

    def _cost(self, clock: Clock, trials: int) -> float:
        """Return the seconds that `trials` trials take: to learn scenarios, to choose events and to judge them."""
        larger = sized(self.attack, trials)
        learning = larger.looks if isinstance(larger, Learning) and larger != self.learned else 0
        seconds = cost(learning, clock.rate)
        for planned in self.scenarios:
            drawn = trials + (choosing_trials(planned.claim, trials) if planned.claim else 0)
            seconds += cost(2 * drawn * planned.answers, clock.rate_on(planned.scenario.pair.first))
        return seconds

    def judge(self, trials: int, *, until_refuted: bool) -> None:
        """Judge the planned scenarios: all of them or, with `until_refuted`, until one refutes the claim."""
        larger = sized(self.attack, trials)
        if larger != self.learned:
            more = self.rules.plan(larger, self.clock)
            if isinstance(more, Finding) and more.verdict is Verdict.INCONCLUSIVE and self.scenarios:
                # No time is left to look for more: judge what was planned, on the trials that it was planned for.
                trials = max(step for step in STEPS if sized(self.attack, step) == self.learned)
            else:
                self.learned, self.plan = larger, more
        self.trials, clock = trials, self.clock
        if clock is None:
            self.findings = tuple(self._judged(math.inf))
            return
        rates = [clock.rate_on(planned.scenario.pair.first) for planned in self.scenarios]
        rate, started = max(rates, default=clock.rate), self.rules.draws.now()
        seconds = max(clock.limit, FEWEST_SECONDS) if rate < FAST else min(self.seconds, clock.limit)
        self.findings = tuple(self._judged(seconds, until_refuted=until_refuted))
        drawn = sum(finding.trials for finding in self.findings)
        clock.charge(self.rules.draws.now() - started, drawn, rate)

    def _judged(self, seconds: float, *, until_refuted: bool = False) -> Iterator[Finding]:
        """Judge each scenario with its share of α and of the seconds. Once these are up, the trials drawn decide."""
        rules, trials, alpha = self.rules, self.trials, self.alpha
        if isinstance(self.plan, Finding):
            yield replace(self.plan, replay=self.again(self.learned, trials, alpha))
            return
        share, end = share_of_alpha(alpha, len(self.plan)), rules.draws.now() + seconds
        for planned in self.plan:
            most = min(trials, planned.scenario.trials or trials)
            started = time.perf_counter()
            finding = planned.judged(most, share, (end - rules.draws.now()) / (len(self.plan) - planned.number))
            if finding.verdict is not Verdict.VIOLATED or planned.replays():
                drawn = finding.samples.counts.trials if finding.samples else 0
                used = drawn if drawn and rules.enough is not None and not finding.refutes else most
                finding = replace(finding, replay=self.again(self.learned, used, alpha))
            else:
                finding = replace(finding, reason=finding.reason + NOT_REPLAYABLE)
            yield replace(finding, seconds=time.perf_counter() - started)
            if until_refuted and finding.refutes:
                return

    @property
    def refutes(self) -> bool:
        """Whether a finding refutes the claim."""
        return any(finding.refutes for finding in self.findings)


def shares(attacks: Sequence[Attack], trying: Sequence[bool], alpha: float) -> list[float]:
    """Return the α of each attack. Over the attacks that are `trying`, they add up to at most the run's α.

    The black box gets `BLACK_BOX_SHARE` of the run's α where other attacks have something to try too, because it looks
    for every flaw that none of them was written for. The others split the rest evenly.
    """
    learning = [isinstance(attack, BlackBox) for attack in attacks]
    counts = Counter(kind for kind, tries in zip(learning, trying, strict=True) if tries)
    parts = {True: BLACK_BOX_SHARE, False: 1 - BLACK_BOX_SHARE} if len(counts) == 2 else {True: 1.0, False: 1.0}
    return [share_of_alpha(parts[kind] * alpha, max(1, counts[kind])) for kind in learning]
