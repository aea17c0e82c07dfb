"""Neighbours told apart by time, by a clock that the test turns: nothing here depends on the machine.

Where inputs are equal in time, the null hypothesis is true, and an alarm has probability ALPHA = 1e-9 or less.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy

from attacklab.auditing import timed
from attacklab.auditing.statistics.timing import timing_test
from attacklab.auditing.timed import Turns, in_turns, told_apart_by_time
from attacklab.model.errors import UsageError
from attacklab.model.findings import Finding, Verdict, record
from attacklab.model.neighbours import NeighbouringPair
from attacklab.model.targets import Kind, Target
from attacklab.processes.targets import ProcessRelease, external

ALPHA = 1e-9
PAIR = NeighbouringPair(0, 1, None)
TURNS = 1000


class Clock:
    """A clock that goes on only when it is told to; `of_call` adds to the time of each call, by its number."""

    def __init__(self) -> None:
        self.now, self.calls = 0, 0
        self.of_call: Callable[[int], float] = lambda _: 0.0

    def spend(self, nanoseconds: float) -> None:
        self.now += round(nanoseconds + self.of_call(self.calls))
        self.calls += 1

    def reading(self) -> int:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timed, "time", SimpleNamespace(perf_counter_ns=clock.reading, perf_counter=lambda: 0.0))
    return clock


def geometric(clock: Clock, nanoseconds: Callable[[int, int, np.random.Generator], float]) -> Target:
    """Two-sided geometric noise; a draw takes so long, by the answer, the noise and a source of randomness."""

    def release(answer: int, trials: int, rng: np.random.Generator) -> list[int]:
        outputs = []
        for _ in range(trials):
            noise = int(rng.geometric(0.6) - rng.geometric(0.6))
            clock.spend(nanoseconds(answer, noise, rng))
            outputs.append(answer + noise)
        return outputs

    return Target.noise(release, epsilon=1.0, name="geometric")


def judged(target: Target, turns: int = TURNS) -> Finding:
    return told_apart_by_time(target, PAIR, turns=turns, alpha=ALPHA)


def jitter(rng: np.random.Generator) -> float:
    return float(rng.normal(1000, 20))


def test_a_release_that_sleeps_for_one_input_is_told_apart(clock: Clock) -> None:
    finding = judged(geometric(clock, lambda answer, _, rng: jitter(rng) + 100 * answer))
    assert finding.verdict is Verdict.TOLD_APART_BY_TIME
    assert not finding.refutes  # its claim is about outputs
    assert "the second input's" in finding.event
    assert "the first input's" not in finding.event
    assert finding.counts is not None
    assert finding.counts.first > 3 * finding.counts.second
    assert finding.trials == 4 * TURNS
    assert Finding.from_json(finding.to_json()) == finding
    assert record([finding])["findings"]


def test_a_loop_whose_time_follows_the_noise_is_told_apart_among_equal_outputs_only(clock: Clock) -> None:
    target = geometric(clock, lambda _, noise, rng: jitter(rng) + 200 * abs(noise))
    turns = in_turns(target, PAIR, 2000, np.random.default_rng(1))
    assert timing_test(*turns.times).p_value > ALPHA
    finding = judged(target, turns=2000)
    assert finding.verdict is Verdict.TOLD_APART_BY_TIME
    assert "of one equal answer of each" in finding.event
    first, second = finding.event.split("; ")
    assert " 1" in first
    assert " 0" in second
    assert "the second input's" in second


def test_a_time_that_follows_the_output_alone_tells_nothing(clock: Clock) -> None:
    """Whoever sees the output knows that much of the time already; the two inputs' times differ all the same."""
    target = geometric(clock, lambda answer, noise, rng: jitter(rng) + 200 * abs(answer + noise))
    turns = in_turns(target, PAIR, 10_000, np.random.default_rng(1))
    assert timing_test(*turns.times).p_value < ALPHA
    assert judged(target, turns=10_000).verdict is Verdict.NOT_TOLD_APART


@pytest.mark.parametrize("turns", [100, 300])
def test_a_time_that_follows_the_output_alone_is_no_alarm_in_few_turns_either(clock: Clock, turns: int) -> None:
    """Fewer than a hundred of them have equal outputs, of which all times together would say otherwise."""
    target = geometric(clock, lambda answer, noise, rng: jitter(rng) + 1000 * (answer + noise))
    told = in_turns(target, PAIR, turns, np.random.default_rng(0))
    assert told.repeats < 100
    assert turns == 100 or timing_test(*told.times).p_value < 1e-6
    finding = judged(target, turns=turns)
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "too few turns to judge" in finding.reason
    assert "raise --trials" in finding.reason
    assert "times are compared in these" in finding.reason


def test_where_outputs_never_repeat_all_times_are_compared_and_the_finding_says_so(clock: Clock) -> None:
    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:
        clock.spend(jitter(rng) + 30 * answer)
        return answer + rng.laplace(size=trials)

    finding = judged(Target.noise(release, epsilon=1.0))
    assert finding.verdict is Verdict.TOLD_APART_BY_TIME
    assert "in 0 of 1,000 turns, so all times are compared, also if they follow the output alone" in finding.reason
    assert finding.event.startswith("of one answer of each, in turn, the second input's takes longer")


def steady(_: int) -> float:
    return 0.0


def slowing_down(call: int) -> float:
    return 2.0 * call


def every_second_call_slower(call: int) -> float:
    return 500.0 * (call % 2)


def slow_at_first(call: int) -> float:
    return 1e9 if call == 0 else 0.0


def wandering() -> Callable[[int], float]:
    """Each call nearly as slow as the one before."""
    steps: Iterator[float] = iter(500 + np.cumsum(np.random.default_rng(7).normal(0, 5, 10 * TURNS)))
    return lambda _: next(steps)


@pytest.mark.parametrize("of_call", [steady, slowing_down, every_second_call_slower, slow_at_first, wandering()])
def test_equal_times_raise_no_alarm_whatever_the_clock_does(clock: Clock, of_call: Callable[[int], float]) -> None:
    clock.of_call = of_call
    finding = judged(geometric(clock, lambda _answer, _noise, rng: jitter(rng)))
    assert finding.verdict is Verdict.NOT_TOLD_APART
    assert "would have been told apart (in 97 or more of 100 replays of these turns" in finding.reason
    assert "timed by the lab, around each call, times differ by 1 ns or more" in finding.reason


def test_the_difference_that_would_have_been_told_apart_is_and_a_tenth_of_it_is_not(clock: Clock) -> None:
    reason = judged(geometric(clock, lambda _answer, _noise, rng: jitter(rng))).reason
    shift = float(reason.split(" always took ")[1].split(" ns")[0].replace(",", ""))
    larger, smaller = 1.5 * shift, 0.1 * shift
    told = judged(geometric(clock, lambda answer, _, rng: jitter(rng) + larger * answer))
    not_told = judged(geometric(clock, lambda answer, _, rng: jitter(rng) + smaller * answer))
    assert told.verdict is Verdict.TOLD_APART_BY_TIME
    assert not_told.verdict is Verdict.NOT_TOLD_APART


def test_a_difference_that_the_finding_names_is_told_apart_also_where_few_outputs_repeat(clock: Clock) -> None:
    """Told apart with probability 0.95: 24 or fewer of 40 have probability below 1e-9."""
    assert scipy.stats.binom.cdf(24, 40, 0.95) < 1e-9

    def wide(shift: float) -> Target:
        """Outputs repeat in one turn of 12, each of 12 outputs in few of them, so that signs are hard to learn."""

        def release(answer: int, trials: int, rng: np.random.Generator) -> Any:
            clock.spend(jitter(rng) + shift * answer)
            return rng.integers(12, size=trials)

        return Target.noise(release, epsilon=1.0)

    reason = told_apart_by_time(wide(0.0), PAIR, turns=TURNS, alpha=1e-6).reason
    shift = float(reason.split(" always took ")[1].split(" ns")[0].replace(",", ""))
    runs = (in_turns(wide(shift), PAIR, TURNS, np.random.default_rng(seed)) for seed in range(40))
    assert sum(run.test().p_value <= 1e-6 for run in runs) > 24


@pytest.mark.parametrize("coarse", [44, 1000])
def test_of_a_coarse_clock_the_step_is_told_and_no_smaller_difference_is_promised(clock: Clock, coarse: int) -> None:
    def stepped(_answer: int, _noise: int, rng: np.random.Generator) -> float:
        return coarse * (2 if jitter(rng) > 1025 else 1)  # most times are equal

    reason = judged(geometric(clock, stepped)).reason
    assert f"times differ by {coarse:,} ns or more" in reason
    shift = float(reason.split(" always took ")[1].split(" ns")[0].replace(",", ""))
    assert shift >= coarse
    assert shift % coarse == 0


def test_a_clock_that_never_moves_judges_nothing(clock: Clock) -> None:
    finding = judged(geometric(clock, lambda *_: 0.0))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "every time is 0 ns" in finding.reason


@pytest.mark.parametrize("condition", ["number % 2", "number < 200", '\'"input": "0x0.0p+0"\' in line'])
def test_a_program_that_measures_some_answers_only_is_refused(tmp_path: Path, condition: str) -> None:
    """Every second answer, those to one of the two inputs, or those to equal inputs."""
    program = tmp_path / "program.py"
    program.write_text(
        "import sys\n"
        "for number, line in enumerate(sys.stdin):\n"
        f"    ns = ', \"ns\": [12]' if {condition} else ''\n"
        "    print('{\"outputs\": [1]' + ns + '}', flush=True)\n"
    )
    target = external([sys.executable, str(program)], kind=Kind.NOISE, epsilon=1.0)
    try:
        finding = told_apart_by_time(target, NeighbouringPair(0.0, 1.0, None), turns=100)
    finally:
        assert isinstance(target.release, ProcessRelease)
        target.release.close()
    assert finding.verdict is Verdict.ERROR
    assert "in some answers only; say it in all of them, or in none" in finding.reason


def test_a_clock_that_tells_equal_inputs_apart_judges_nothing(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    def favouring(target: Target, pair: NeighbouringPair, turns: int, rng: np.random.Generator) -> Turns:
        honest = in_turns(target, pair, turns, rng)
        return Turns(honest.times + np.array([[5.0], [0.0]]), honest.outputs, honest.inside)

    monkeypatch.setattr(timed, "in_turns", favouring)
    finding = judged(geometric(clock, lambda *_: 1000.0))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "this machine's clock tells equal inputs apart" in finding.reason


def test_a_release_that_gives_its_outputs_one_after_another_is_timed_while_it_does(clock: Clock) -> None:
    def release(answer: float, trials: int, _rng: np.random.Generator) -> Iterator[float]:
        for _ in range(trials):
            clock.spend(1000 + answer)
            yield answer

    assert judged(Target.noise(release, epsilon=1.0)).verdict is Verdict.TOLD_APART_BY_TIME


def test_a_release_that_raises_is_an_error_and_too_few_trials_are_a_mistake(clock: Clock) -> None:
    def release(*_: Any) -> None:
        raise RuntimeError("no")

    finding = judged(Target.noise(release, epsilon=1.0))
    assert finding.verdict is Verdict.ERROR
    assert "RuntimeError: no" in finding.reason
    with pytest.raises(UsageError, match="100 to 10000000 trials, not 99; change --trials"):
        judged(geometric(clock, lambda *_: 1.0), turns=99)
