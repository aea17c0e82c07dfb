"""Audits that keep to a time, on a clock that only the target's draws advance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import budget
from attacklab.attacks import ATTACKS
from attacklab.attacks.base import Event, Probe, Scenario
from attacklab.budget import audit_within
from attacklab.findings import Finding, Verdict
from attacklab.neighbours import NeighbouringPair
from attacklab.targets import Target


class Slow:
    """A release that draws so many outputs a second, on a clock of its own."""

    def __init__(self, rate: float, *, sound: bool) -> None:
        self.seconds, self.rate, self.sound = 0.0, rate, sound

    def __call__(self, answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.generic]:
        self.seconds += trials / self.rate
        if not self.sound:
            return answer + rng.laplace(0.0, 1.0, trials)
        stop = -np.expm1(-1.0)
        return round(answer) + rng.geometric(stop, trials) - rng.geometric(stop, trials)

    def audited(self, monkeypatch: pytest.MonkeyPatch, **settings: float | None) -> budget.Audited:
        monkeypatch.setattr(budget.time, "perf_counter", lambda: self.seconds)
        usual: dict[str, float | None] = {"seconds": 3.0, "trials": None, "alpha": 1e-6, "seed": 0}
        return audit_within(Target.noise(self, epsilon=1.0), ATTACKS, **{**usual, **settings})  # type: ignore[arg-type]


def verdicts(findings: Iterable[Finding]) -> set[Verdict]:
    return {finding.verdict for finding in findings} - {Verdict.NOT_APPLICABLE}


def test_a_sound_target_of_100_000_draws_a_second_is_audited_within_five_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sound = Slow(100_000, sound=True)
    audited = sound.audited(monkeypatch)
    assert verdicts(audited.findings) == {Verdict.NOT_DETECTED}
    assert 1.0 < sound.seconds < 5.0
    assert audited.trials > budget.SHORT_ROUND


def test_a_broken_target_of_100_000_draws_a_second_is_refuted_within_one_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken = Slow(100_000, sound=False)
    assert Verdict.VIOLATED in verdicts(broken.audited(monkeypatch).findings)
    assert broken.seconds < 1.0


def test_a_slower_target_gets_fewer_trials_and_a_fast_one_no_more_than_the_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trials = [Slow(rate, sound=True).audited(monkeypatch).trials for rate in (3_000, 30_000, 1e9)]
    assert trials[0] < trials[1] < trials[2] == budget.MOST_TRIALS
    assert all(number & (number - 1) == 0 for number in trials)


def test_the_findings_of_given_trials_do_not_depend_on_the_time_anything_took(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measured = Slow(30_000, sound=True).audited(monkeypatch)
    again = Slow(7, sound=True).audited(monkeypatch, trials=measured.trials)
    without_times = [[replace(one, seconds=0.0) for one in audited.findings] for audited in (measured, again)]
    assert without_times[0] == without_times[1]


@dataclass(frozen=True)
class Never:
    """Bets on nothing, so that only its α can be looked at."""

    name: str = "never"
    flaw: str = "none"

    def applies_to(self, target: Target) -> bool:
        return target.sensitivity >= 1.0

    def scenarios(self, target: Target, probe: Probe) -> Iterable[Scenario]:
        probe(0.0, 1)
        nothing = Event("nothing", lambda outputs: np.zeros(len(outputs), dtype=bool))
        yield Scenario(NeighbouringPair.answers(0.0, 1.0, sensitivity=target.sensitivity), (nothing,))


@pytest.mark.parametrize(("trials", "alpha"), [(1_024, 1e-6), (1_025, 5e-7)])
def test_alpha_is_halved_where_there_are_two_rounds(trials: int, alpha: float) -> None:
    target = Target.noise(Slow(1.0, sound=True), epsilon=1.0)
    (finding,) = audit_within(target, [Never()], seconds=1.0, trials=trials, alpha=1e-6, seed=0).findings
    assert finding.alpha == pytest.approx(alpha)
    assert finding.counts is not None
    assert finding.counts.trials == trials


def test_scenarios_are_looked_for_once() -> None:
    probed = []

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        if trials == 1:
            probed.append(answer)
        return rng.random(trials)

    audit_within(Target.noise(release, epsilon=1.0), [Never()], seconds=1.0, trials=5_000, alpha=1e-6, seed=0)
    assert len(probed) == 1


def test_a_target_that_fails_ends_in_its_error() -> None:
    def release(*_: object) -> NDArray[np.float64]:
        raise RuntimeError("no entropy")

    target = Target.noise(release, epsilon=1.0)
    (finding,) = audit_within(target, [Never()], seconds=1.0, trials=None, alpha=1e-6, seed=0).findings
    assert finding.verdict is Verdict.ERROR
    assert "no entropy" in finding.reason


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_seconds_must_be_positive(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds must be greater than 0"):
        audit_within(
            Target.noise(Slow(1.0, sound=True), epsilon=1.0), [Never()], seconds=seconds, trials=1, alpha=0.1, seed=0
        )
