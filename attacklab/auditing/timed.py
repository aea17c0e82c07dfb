"""Whether neighbours can be told apart by how long a release takes, on this machine.

A question of its own, which no claim about outputs answers: does the time of a release tell more of its input than the
output does? So times are compared in turns in which both inputs gave the same output. Noise that is drawn in a loop
takes as long for the one input as for the other, but not for the same output; and a time that follows the output alone
tells nothing new. Where outputs hardly ever repeat, all times are compared, and the finding says so; where they do,
but in too few turns to judge, it says that. `statistics.timing` is the test, which is valid whatever the clock does.

First both inputs are the first one. If its times are told apart from themselves, the clock or the harness is at fault,
and nothing is said of the target.

A clock proves nothing, and refutes no claim about outputs. So the verdicts are words of their own, and stricter than a
claim that covers time: a release that spends a part of ε on its delays is told apart as well.

Sources: Jin, McMurtry, Rubinstein and Ohrimenko 2022, 'Are We There Yet? Timing and Floating-Point Attacks on
Differential Privacy Systems'; Ratliff and Vadhan, 'A Framework for Differential Privacy Against Timing Attacks'
(arXiv 2409.05623).
"""

from __future__ import annotations

import math
import platform
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.statistics.inference import share_of_alpha
from attacklab.auditing.statistics.timing import (
    CONFIDENCE,
    REPLAYS,
    TOLD_APART,
    TimingTest,
    shift_told_apart,
    timing_test,
)
from attacklab.model.errors import LabFault, TargetError, UsageError
from attacklab.model.findings import Counts, Finding, Verdict, described_pair
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Release, Target
from attacklab.processes.targets import ProcessRelease

TIME = "time"
"""What stands where an attack's name would, in a finding about time."""

DEFAULT_TURNS = 20_000
"""How many times each input is timed where nothing else is asked for."""

FEWEST_TURNS = 100
"""With fewer turns, hardly anything can be seen at an α of one in a million."""

HARDLY_EVER = 0.01
"""Outputs that both inputs give in a smaller share of turns are taken never to repeat, and all times are compared."""

MOST_TURNS = 10**7
"""More times than that are not kept."""

NOT_ALWAYS = "its process says how long an output took (ns) in some answers only; say it in all of them, or in none"
"""Why a target fails whose times come from two clocks."""

MOST_OUTPUTS_NAMED = 8
"""So many outputs are named on either side of a bet; the others are left to whoever runs it again."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Times of two inputs that took turns.

    Attributes:
        times: in nanoseconds, one row for each input.
        outputs: the text of each output, one list for each input.
        inside: whether the target's process measured the times itself.
    """

    times: NDArray[np.float64]
    outputs: tuple[list[str], list[str]]
    inside: bool

    @property
    def same_output(self) -> list[str | None]:
        """The output of each turn in which both inputs gave the same one; None for the other turns."""
        return [first if first == second else None for first, second in zip(*self.outputs, strict=True)]

    @property
    def repeats(self) -> int:
        """In how many turns both inputs gave the same output."""
        return sum(output is not None for output in self.same_output)

    @property
    def outputs_repeat(self) -> bool:
        """Whether both inputs give the same output in some share of turns, judged by any two outputs of theirs.

        Each output of the one is held against each of the other, not only against that of its own turn: so few turns
        tell as well.
        """
        first, second = map(Counter, self.outputs)
        repeated = sum(times * second[output] for output, times in first.items())
        return repeated >= HARDLY_EVER * len(self.outputs[0]) ** 2

    @property
    def groups(self) -> list[str | None] | None:
        """What of each turn goes into the test besides the times: the output that both gave; None for no groups."""
        return self.same_output if self.outputs_repeat else None

    def test(self) -> TimingTest:
        """Whether times tell the inputs apart: where both gave the same output, or anywhere if they hardly ever do."""
        first, second = self.times
        return timing_test(first, second, self.groups)


def in_turns(target: Target, pair: NeighbouringPair, turns: int, rng: np.random.Generator) -> Turns:
    """Time a release on both inputs of a pair, once each in every turn; a coin says which goes first.

    Raises:
        TargetError: the target failed.
    """
    watch = _Stopwatch(target.release)
    watched = replace(target, release=watch)
    times = np.empty((2, turns))
    outputs: tuple[list[str], list[str]] = [], []
    for turn, second_first in enumerate(rng.random(turns) < 0.5):
        for side in (1, 0) if second_first else (0, 1):
            outputs[side].append(_text(watched.outputs((pair.first, pair.second)[side], 1, rng)[0]))
            times[side, turn] = watch.nanoseconds
    return Turns(times, outputs, watch.inside)


def told_apart_by_time(
    target: Target,
    pair: NeighbouringPair,
    *,
    turns: int = DEFAULT_TURNS,
    alpha: float = 1e-6,
    seed: int = 0,
    again: str = "",
) -> Finding:
    """Time a target on its first input twice, then on both inputs of a pair.

    Args:
        target: the implementation.
        pair: the inputs.
        turns: how many times each input is timed; one half of them chooses what is bet, the other judges it.
        alpha: the probability that the pair is told apart although its times tell nothing.
        seed: of the order within turns, and of a seeded target.
        again: the line that runs it again.

    Returns:
        A finding with the verdict TOLD_APART_BY_TIME or NOT_TOLD_APART; INCONCLUSIVE if the clock tells equal inputs
        apart, or no difference would have been told apart; ERROR if the target failed.

    Raises:
        UsageError: there are too few turns or too many, or α is out of range.
    """
    if not FEWEST_TURNS <= turns <= MOST_TURNS:
        raise UsageError(f"time is judged by {FEWEST_TURNS} to {MOST_TURNS} trials, not {turns}; change --trials")
    alpha = share_of_alpha(alpha, 1)
    started, rng = time.perf_counter(), np.random.default_rng(seed)
    made: Callable[..., Finding] = partial(
        Finding,
        target=target.name,
        target_version=target.version,
        attack=TIME,
        claim=target.claim,
        relation=target.relation,
        pair=described_pair(pair),
        alpha=alpha,
        seed=seed,
        replay=again,
    )
    try:
        equal = in_turns(target, NeighbouringPair(pair.first, pair.first, pair.relation), turns, rng)
        apart = in_turns(target, pair, turns, rng)
        if equal.inside != apart.inside:
            raise TargetError(NOT_ALWAYS)
    except (TargetError, LabFault) as error:
        return made(verdict=Verdict.ERROR, reason=str(error), seconds=time.perf_counter() - started)
    made = partial(made, trials=4 * turns, seconds=time.perf_counter() - started)
    noise, test, step = equal.test(), apart.test(), clock_step(equal, apart)
    where = _where(apart, step)
    if noise.p_value <= alpha:
        reason = f"this machine's clock tells equal inputs apart (p = {noise.p_value:.2g}), so it judges nothing; "
        return made(verdict=Verdict.INCONCLUSIVE, reason=f"{reason}run it where less else runs; {where}")
    if step is None:
        reason = f"every time is {apart.times[0, 0]:,.0f} ns, so the clock shows no difference at all; use a finer one"
        return made(verdict=Verdict.INCONCLUSIVE, reason=f"{reason}; {where}")
    compared = f"both inputs gave the same output in {apart.repeats:,} of {turns:,} turns, "
    if apart.outputs_repeat:
        compared += "and times are compared in these"
    else:
        compared += "so all times are compared, also if they follow the output alone"
    compared += f" (p = {test.p_value:.2g}, and {noise.p_value:.2g} for equal inputs)"
    if test.p_value > alpha:
        first, second = apart.times
        shift = shift_told_apart(first, second, apart.groups, alpha=alpha, step=step, rng=rng)
        if math.isinf(shift):
            reason = "too few turns to judge: no difference would have been told apart in them; raise --trials"
            return made(verdict=Verdict.INCONCLUSIVE, reason=f"{reason}; {compared}; {where}")
        seen = f"one input that always took {shift:,.0f} ns longer would have been told apart"
        often = f"in {TOLD_APART} or more of {REPLAYS} replays of these turns, in another order and with other coins"
        return made(verdict=Verdict.NOT_TOLD_APART, reason=f"{seen} ({often}); {compared}; {where}")
    needed = test.turns_needed
    return made(
        verdict=Verdict.TOLD_APART_BY_TIME,
        event=_event(test),
        counts=Counts(test.right, test.wrong, test.turns),
        reason=f"the bet is right in {test.right:,} and wrong in {test.wrong:,} of {test.turns:,} turns; turns after "
        f"which most bets are right in {CONFIDENCE:.0%} of cases: {needed.estimate:,.0f} ({needed.lower:,.0f} to "
        f"{needed.upper:,.0f} at {CONFIDENCE:.0%} confidence); {compared}; {where}",
    )


class _Stopwatch:
    """A release that notes how long its last call took."""

    def __init__(self, release: Release) -> None:
        self._release = release
        self.nanoseconds = 0
        self._told: set[bool] = set()

    @property
    def inside(self) -> bool:
        """Whether the target's process measured."""
        return True in self._told

    def __call__(self, input_: Any, trials: int, rng: np.random.Generator) -> Any:
        told = None
        started = time.perf_counter_ns()
        if isinstance(self._release, ProcessRelease):
            outputs, told = self._release.timed(input_, rng)
        else:
            outputs = self._release(input_, trials, rng)
            if isinstance(outputs, Iterator):  # nothing has run yet
                outputs = list(islice(outputs, trials + 1))
        self.nanoseconds = time.perf_counter_ns() - started if told is None else told
        self._told.add(told is not None)
        if len(self._told) > 1:
            raise TargetError(NOT_ALWAYS)
        return outputs


def _text(output: Any) -> str:
    return repr(output.tolist() if isinstance(output, np.ndarray | np.generic) else output)


def _event(test: TimingTest) -> str:
    """The bet in words."""
    bet = test.bet
    if bet is None:
        return ""
    longer = (
        "takes longer than the other" if bet.threshold is None else f"alone takes more than {bet.threshold:,.0f} ns"
    )
    if set(bet.slower) == {""}:
        return f"of one answer of each, in turn, the {'first' if bet.slower[''] > 0 else 'second'} input's {longer}"
    sides = [_named([output for output, sign in bet.slower.items() if sign == wanted]) for wanted in (1, -1)]
    bets = [
        f"the {side} input's {longer} where the output is {outputs}"
        for side, outputs in zip(("first", "second"), sides, strict=True)
        if outputs
    ]
    return f"of one equal answer of each, in turn, {'; '.join(bets)}"


def _named(outputs: Sequence[str]) -> str:
    more = [f"and {len(outputs) - MOST_OUTPUTS_NAMED} more"] if len(outputs) > MOST_OUTPUTS_NAMED else []
    return ", ".join([*outputs[:MOST_OUTPUTS_NAMED], *more])


def _where(turns: Turns, step: float | None) -> str:
    """Where it was measured, and by what clock."""
    by = "its own process" if turns.inside else "the lab, around each call"
    system = f"{platform.system()} {platform.release()}"
    steps = "" if step is None else f" times differ by {step:,.0f} ns or more,"
    return f"timed by {by},{steps} on {processor()}, {system}"


def processor() -> str:
    """The processor's name, as far as the system tells it."""
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8", errors="replace").splitlines() if known.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def clock_step(*runs: Turns) -> float | None:
    """The smallest difference between two times that differ, in nanoseconds; None if none do."""
    known = np.unique(np.concatenate([run.times for run in runs]))
    return float(np.diff(known).min()) if known.size > 1 else None
