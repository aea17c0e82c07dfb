"""Audits that keep to a time, mostly on a clock that only the target's draws advance."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab import ATTACKS, Domain, Finding, Kind, NeighbouringPair, Target, Verdict
from attacklab.attacks import Attack, GeneratorSeed, Precision
from attacklab.attacks.base import Event, FunctionAttack, Probe, Scenario
from attacklab.auditing.clock import STEPS
from attacklab.auditing.drawing import Draws, own_seconds
from attacklab.auditing.judge import DEFAULT_TRIALS, Rules
from attacklab.auditing.referee import Turn, _judge, _turns, audit, shares
from attacklab.model.findings import Interrupted
from tests.ideal import two_sided_geometric

ANSWERS = Precision((0.0, 1.0))

ADVICE = "; set --trials (in Python trials=), which lifts the time limit, or in Python raise seconds="


class Slow:
    """A release that draws so many outputs a second, on a clock of its own; each call may take some time besides."""

    def __init__(self, rate: float, *, sound: bool, call: float = 0.0) -> None:
        self.seconds, self.rate, self.sound, self.call = 0.0, rate, sound, call

    def __call__(self, answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.generic]:
        self.seconds += self.call + trials / self.rate
        if not self.sound:
            return answer + rng.laplace(0.0, 1.0, trials)
        return math.floor(answer) + two_sided_geometric(rng, trials)

    def audited(self, monkeypatch: pytest.MonkeyPatch, **settings: Any) -> list[Turn]:
        monkeypatch.setattr("attacklab.auditing.drawing.own_seconds", lambda _: self.seconds)
        target = Target.noise(self, epsilon=1.0, domain=Domain(integers=True))
        return audited(target, settings.pop("attacks", ATTACKS), **{"seconds": 3.0, **settings})


def audited(target: Target, attacks: Sequence[Attack], alpha: float = 1e-6, **budget: Any) -> list[Turn]:
    """What each attack found, and with how many trials and what α it was to be judged."""
    trials, seconds = budget.get("trials"), budget.get("seconds")
    rules = Rules(Draws(target), 0, enough=None if trials else DEFAULT_TRIALS)
    turns = _turns(rules, attacks, alpha, trials, None if trials else seconds, lambda *_: "again")
    _judge(turns, trials)
    return [turn for turn in turns if turn.trials]


def laplace(answer: float, trials: int, rng: np.random.Generator) -> Any:
    return answer + rng.laplace(0.0, 1.0, trials)


def untimed(audited: Iterable[Turn]) -> list[Finding]:
    return [replace(finding, seconds=0.0) for one in audited for finding in one.findings]


def verdicts(audited: Iterable[Turn]) -> set[Verdict]:
    return {finding.verdict for finding in untimed(audited)} - {Verdict.NOT_APPLICABLE}


def test_where_outputs_are_slow_a_plain_flaw_is_refuted_first_and_ends_the_audit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seed and clock are fixed, so it passes or fails alike on every machine."""
    rate = 200.0

    def double(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.generic]:
        slow(answer, trials, rng)
        return int(answer) + two_sided_geometric(rng, trials, 2.0)

    slow = Slow(rate, sound=True)
    monkeypatch.setattr("attacklab.auditing.drawing.own_seconds", lambda _: slow.seconds)
    findings = audit(Target.noise(double, epsilon=1.0, domain=Domain(integers=True)))
    assert [one.attack for one in findings if one.refutes] == ["black_box"]
    assert slow.seconds < 15.0
    sound = Slow(rate, sound=True)
    assert not any(one.refutes for one in untimed(sound.audited(monkeypatch, seconds=60.0)))
    assert sound.seconds < 66.0


@pytest.mark.parametrize("rate", [100.0, 3_000.0, 30_000.0])
def test_an_audit_keeps_to_the_time_and_uses_it(monkeypatch: pytest.MonkeyPatch, rate: float) -> None:
    sound = Slow(rate, sound=True)
    turns = sound.audited(monkeypatch, seconds=60.0)
    assert {one.trials for one in turns} <= set(STEPS)
    assert 30.0 < sound.seconds < 66.0


@pytest.mark.parametrize("rate", [1.0, 20.0, 100.0, 1000.0])
def test_an_audit_of_a_slow_target_keeps_to_a_short_time_and_says_what_it_had_no_time_for(
    monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    slow = Slow(rate, sound=True)
    findings = untimed(slow.audited(monkeypatch))
    assert slow.seconds < 1.3 * 3.0 + 8 / rate  # the least that can be drawn
    unreached = [one for one in findings if one.reason.startswith("there is no time left")]
    assert {one.verdict for one in unreached} <= {Verdict.INCONCLUSIVE}
    assert all(one.reason.endswith(ADVICE) for one in unreached)
    assert unreached or rate > 100
    assert not any(one.decides_nothing for one in unreached)
    assert not {one.verdict for one in findings} & {Verdict.ERROR, Verdict.VIOLATED}


def test_an_audit_ends_in_time_though_its_outputs_take_longer_than_the_first_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first outputs take a microsecond each, all others a hundred; what was drawn by then is judged."""
    slow = Slow(1e6, sound=True)

    def release(answer: float, trials: int, rng: np.random.Generator) -> NDArray[np.generic]:
        slow.rate = 1e6 if slow.seconds < 1e-4 else 1e4
        return slow(answer, trials, rng)

    monkeypatch.setattr("attacklab.auditing.drawing.own_seconds", lambda _: slow.seconds)
    target = Target.noise(release, epsilon=1.0, domain=Domain(integers=True))
    (finding,) = audit(target, [above], seconds=10.0)
    assert finding.verdict is Verdict.NOT_DETECTED
    assert finding.samples is not None
    assert finding.samples.counts.trials > 1_000
    assert f"trials={finding.samples.counts.trials}," in finding.replay
    assert 9.0 < slow.seconds < 14.0


def test_fast_outputs_are_counted_so_that_a_slower_machine_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    attacks = [ANSWERS, GeneratorSeed()]
    slower, faster = (Slow(rate, sound=True).audited(monkeypatch, attacks=attacks, seconds=60.0) for rate in (2e5, 9e5))
    assert untimed(slower) == untimed(faster)


def test_the_clock_stands_still_while_a_process_waits_for_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attacklab.auditing.drawing.time.perf_counter", lambda: 10.0)
    monkeypatch.setattr("attacklab.auditing.drawing._waited", lambda process: {"self": 3.0, 7: 2.0}[process])
    assert (own_seconds(), own_seconds(7)) == (7.0, 5.0)


def test_a_sound_sum_that_takes_longer_for_more_records_is_decided_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop in Python over the records, at some tenths of a microsecond each; none of 32,768 is needed."""
    clock = Slow(1e6, sound=True)

    def release(records: NDArray[np.float64], trials: int, rng: np.random.Generator) -> NDArray[np.float64]:
        clock.seconds += trials * (1e-6 + 5e-7 * len(records))
        total = np.rint(1024 * np.nan_to_num(np.clip(records, 0.0, 1.0))).sum()
        return np.asarray((total + two_sided_geometric(rng, trials, 1 / 1024)) / 1024)

    monkeypatch.setattr("attacklab.auditing.drawing.own_seconds", lambda _: clock.seconds)
    target = Target.sum(release, bounds=(0.0, 1.0), epsilon=1.0)
    assert verdicts(audited(target, ATTACKS, seconds=60.0)) == {Verdict.NOT_DETECTED}
    assert clock.seconds < 66.0


def test_the_findings_of_given_trials_do_not_depend_on_the_time_anything_took(monkeypatch: pytest.MonkeyPatch) -> None:
    measured = Slow(30_000, sound=True).audited(monkeypatch)
    applying = [attack.applies_to(Target.noise(laplace, epsilon=1.0)) for attack in ATTACKS]
    expected = dict(zip((attack.name for attack in ATTACKS), shares(ATTACKS, applying, 1e-6), strict=True))
    for one in measured:
        if one.findings[0].verdict is not Verdict.NOT_APPLICABLE:
            slower = Slow(7, sound=True)
            alone = slower.audited(monkeypatch, attacks=[one.attack], trials=one.trials, alpha=one.alpha)
            assert untimed(alone) == untimed([one])
            assert one.alpha == pytest.approx(expected[one.attack.name])


def attack(find: Callable[..., Iterable[Scenario]]) -> Attack:
    return FunctionAttack(find, "none", frozenset(Kind), "none")


@attack
def above(_target: Target, _probe: Probe) -> Iterable[Scenario]:
    """Bets on answers above the middle of two."""
    higher = Event("above", lambda outputs: np.asarray(outputs > 0.5, dtype=bool))
    yield Scenario(NeighbouringPair.answers(1.0, 0.0, sensitivity=1.0), (higher,))


@attack
def never(_target: Target, probe: Probe) -> Iterable[Scenario]:
    """Bets on nothing, so that only its α can be looked at."""
    probe(0.0, 1)
    nothing = Event("nothing", lambda outputs: np.zeros(len(outputs), dtype=bool))
    yield Scenario(NeighbouringPair.answers(0.0, 1.0, sensitivity=1.0), (nothing,))


@attack
def interrupts(_target: Target, _probe: Probe) -> Iterable[Scenario]:
    """Ctrl-C comes while it looks."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(("rate", "reached"), [(200.0, 1), (1e6, 2)])
def test_attacks_behind_the_one_that_refutes_are_not_reached_where_outputs_are_slow(
    monkeypatch: pytest.MonkeyPatch, rate: float, reached: int
) -> None:
    turns = Slow(rate, sound=False).audited(monkeypatch, attacks=[ANSWERS, never], seconds=20.0)
    assert turns[0].findings[0].verdict is Verdict.VIOLATED
    assert len(turns) == reached


def test_an_audit_that_is_interrupted_holds_what_was_refuted_by_then() -> None:
    with pytest.raises(Interrupted) as interrupt:
        audit(Target.noise(laplace, epsilon=1.0), [ANSWERS, interrupts], seconds=5.0)
    assert [finding.attack for finding in interrupt.value.findings if finding.refutes] == ["precision"]
