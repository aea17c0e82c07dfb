"""What can be shown: a flaw, the attack that sees it, a mechanism that has it and one that does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacklab.auditing.attacks import LocalSensitivity, LowBitLaplace, SumSensitivity, TruncatedAddition, ZeroRounding
from attacklab.auditing.attacks.base import Attack, Event, Scenario
from attacklab.model.targets import Outputs, Target
from experiments import targets

LOOKS = 1_000
"""So many outputs of either input choose the bet; those that are shown are drawn afterwards."""


@dataclass(frozen=True)
class Show:
    """One demonstration.

    Attributes:
        attack: sees the flaw.
        naive: makes the target that has it.
        exact: makes the target that does not.
        epsilon: what both claim.
    """

    attack: Attack
    naive: Callable[[float], Target]
    exact: Callable[[float], Target]
    epsilon: float


SHOWS = {
    "low_bits": Show(LowBitLaplace(), targets.naive_laplace_numpy, targets.exact_rounded_laplace, 0.1),
    "zero_rounding": Show(ZeroRounding(), targets.naive_exponential, targets.exact_exponential, 0.5),
    "truncated_addition": Show(TruncatedAddition(), targets.naive_exponential_bfloat16, targets.exact_exponential, 0.5),
    "local_sensitivity": Show(
        LocalSensitivity(sizes=(1,), answers=(64,)),
        targets.naive_local_sensitivity_mean,
        targets.exact_sum_over_count,
        0.01,
    ),
    "sums": Show(SumSensitivity(), targets.naive_bounded_sum_numpy, targets.exact_bounded_sum, 0.5),
}


@dataclass(frozen=True)
class Bet:
    """A pair of inputs, and what is said of each answer.

    Attributes:
        scenario: has the pair.
        event: where it holds, the answer is said to come from the pair's first input, and else from the second.
        ceiling: the largest advantage that the claim allows.
    """

    scenario: Scenario
    event: Event
    ceiling: float

    @property
    def databases(self) -> tuple[Any, Any]:
        """Databases 1 and 2: the shorter, then the smaller input first, whichever of them the attack names first."""
        smaller, two = sorted(_inputs(self.scenario), key=_order)
        return smaller, two

    def number(self, is_first: bool) -> int:
        """Which database the pair's first input is, or, if not `is_first`, its second one."""
        first, second = _inputs(self.scenario)
        return 1 if (_order(first) < _order(second)) == is_first else 2

    def says_first(self, answers: Outputs) -> NDArray[np.bool_]:
        """Which answers are said to come from the first input."""
        named: NDArray[np.bool_] = self.event.contains(answers)
        return named


@dataclass(frozen=True)
class Answers:
    """Answers that came from one of two inputs each, by the toss of a coin.

    Attributes:
        values: one row an answer, or as many as the adversary sees together.
        from_first: whether they came from the pair's first input.
        said_first: whether that was said.
    """

    values: Outputs
    from_first: NDArray[np.bool_]
    said_first: NDArray[np.bool_]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Where the bet named the right input."""
        return np.asarray(self.from_first == self.said_first)


def best_bet(attack: Attack, target: Target, rng: np.random.Generator) -> Bet:
    """The bet that most exceeds what the claim allows, by `LOOKS` outputs of either input.

    It is one of the attack's own; if all of them say the same of every output, so that none can win, it is a threshold.
    """

    def probe(input_: Any, trials: int) -> Outputs:
        return target.outputs(input_, trials, rng)

    def looks() -> Iterator[tuple[Scenario, Outputs, Outputs]]:
        for scenario in attack.scenarios(target, probe):
            first, second = (drawn(target, scenario, input_, LOOKS, rng) for input_ in _inputs(scenario))
            yield scenario, first, second

    def bets(events_of: Callable[..., Iterable[Event]]) -> Iterator[tuple[float, Bet]]:
        for scenario, first, second in seen:
            ceiling = target.claim.composed(scenario.answers).ceiling
            for event in events_of(scenario, first, second):
                named, wrongly = event.contains(first).mean(), event.contains(second).mean()
                if 0 < named + wrongly < 2:
                    yield float(named - wrongly) - ceiling, Bet(scenario, event, ceiling)

    seen = list(looks())
    candidates = list(bets(lambda scenario, *_: scenario.events)) or list(bets(_thresholds))
    return max(candidates, key=lambda pair: pair[0])[1]


def _thresholds(scenario: Scenario, first: Outputs, second: Outputs) -> Iterator[Event]:
    """Bets on the size of an answer, or on the mean size of several, to either side of the deciles that were seen."""
    answer = "the answer" if scenario.answers == 1 else f"the mean |y| of {scenario.answers} answers"
    for decile in np.quantile(np.concatenate([_size(first), _size(second)]), np.linspace(0.1, 0.9, 9)):
        threshold = float(f"{decile:.4g}")
        yield Event(f"{answer} exceeds {threshold:g}", partial(_exceeds, threshold))
        yield Event(f"{answer} does not exceed {threshold:g}", partial(_keeps_to, threshold))


def _exceeds(threshold: float, outputs: Outputs) -> NDArray[np.bool_]:
    return np.asarray(_size(outputs) > threshold)


def _keeps_to(threshold: float, outputs: Outputs) -> NDArray[np.bool_]:
    return ~_exceeds(threshold, outputs)


def _size(outputs: Outputs) -> NDArray[np.float64]:
    answers = outputs.astype(np.float64)
    return np.asarray(np.abs(answers).mean(axis=1)) if answers.ndim > 1 else answers


def drawn(target: Target, scenario: Scenario, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
    """Outputs for an input, in rows of as many as the adversary sees together."""
    outputs = target.outputs(input_, trials * scenario.answers, rng)
    return outputs if scenario.answers == 1 else outputs.reshape(trials, scenario.answers)


def answered(bet: Bet, target: Target, trials: int, rng: np.random.Generator) -> Answers:
    """Toss a coin for each answer, draw it from the input that the coin names, and have the bet name the input."""
    first, second = (drawn(target, bet.scenario, input_, trials, rng) for input_ in _inputs(bet.scenario))
    from_first = rng.random(trials) < 0.5
    values = np.where(from_first.reshape(-1, *[1] * (first.ndim - 1)), first, second)
    return Answers(values, from_first, bet.says_first(values))


def _inputs(scenario: Scenario) -> tuple[Any, Any]:
    return scenario.pair.first, scenario.pair.second


def _order(input_: Any) -> tuple[int, list[Any]]:
    values = np.asarray(input_)
    return values.size, values.ravel().tolist()
