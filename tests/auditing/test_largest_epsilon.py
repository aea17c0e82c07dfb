"""The largest ε that is proved: near the true one where that is known, and above it no more often than α allows."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from attacklab import BlackBox, Finding, GaussianDP, NeighbouringPair, Target, Verdict
from attacklab.attacks.base import Event, Scenario
from attacklab.auditing.referee import audit
from attacklab.model.findings import FAILURE
from tests.auditing.test_referee import NEVER, ONE, PAIR, ZERO, Bets, randomized_response

LEARNS = BlackBox(learning=1 << 12)


def always_refusing(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:  # noqa: ARG001
    raise ValueError("no")


def epsilon_of(findings: list[Finding]) -> float:
    assert findings[0].shown.epsilon_lower is not None
    return findings[0].shown.epsilon_lower


def of_dataset(release: Callable[..., Any], pair: NeighbouringPair = PAIR, epsilon: float = 0.1) -> Target:
    return Target.dataset(release, epsilon=epsilon, pairs=(pair,), name="stub")


@pytest.mark.parametrize("true", [0.5, 2.0])
def test_randomized_response_is_shown_to_have_nearly_its_epsilon(true: float) -> None:
    """The bound's own error is 3 % here; it is too large with probability at most 1e-9."""
    findings = audit(
        of_dataset(randomized_response(math.exp(true))), [LEARNS], trials=50_000, alpha=1e-9, maximise_epsilon=True
    )
    assert 0.93 * true - 0.05 < epsilon_of(findings) <= true
    assert findings[0].verdict is Verdict.VIOLATED


def test_an_event_that_one_input_never_shows_gives_what_so_many_trials_can() -> None:
    """The other input's probability is the largest at which it never shows the event in one of 1/α samples."""
    certain = of_dataset(lambda records, trials, _rng: np.full(trials, records[0]))
    trials, alpha = 10_000, 1e-6
    (finding,) = audit(
        certain, [Bets((Scenario(PAIR, (NEVER, ZERO)),))], trials=trials, alpha=alpha, maximise_epsilon=True
    )
    most = trials / math.log(1 / alpha)
    assert math.log(0.99 * most) < epsilon_of([finding]) < math.log(most)
    assert (finding.shown.event, finding.samples.counts.trials) == ("a zero", trials)


@pytest.mark.slow
def test_the_bound_exceeds_the_true_epsilon_no_more_often_than_alpha_allows() -> None:
    """At α = 0.05, more wrong bounds than that in 50 runs have probability below 1e-9."""
    target, attack = of_dataset(randomized_response(2.0)), Bets((Scenario(PAIR, (ZERO, ONE)),))
    runs = [
        epsilon_of(audit(target, [attack], trials=300, alpha=0.05, seed=seed, maximise_epsilon=True))
        for seed in range(50)
    ]
    assert sum(found > math.log(2) for found in runs) <= stats.binom.isf(1e-9, 50, 0.05)
    assert max(runs) > 0.3


def test_the_event_that_shows_most_is_taken_rather_than_the_one_that_refutes_soonest() -> None:
    """The event "a one" refutes 0.1 soonest, by a ratio of 3; "a two" is rare, and the other input has none."""
    rates = {0: [0.73, 0.25, 0.02], 1: [0.25, 0.75, 0.0]}

    def release(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return rng.choice(3, trials, p=rates[int(records[0])])

    two = Event("a two", lambda outputs: np.asarray(outputs == 2, dtype=bool))
    (finding,) = audit(
        of_dataset(release), [Bets((Scenario(PAIR, (ONE, two)),))], trials=100_000, maximise_epsilon=True
    )
    assert finding.shown.event == "a two"
    assert math.log(0.015 * 100_000 / math.log(4e6)) < epsilon_of([finding])


def test_a_target_that_keeps_its_claim_is_not_accused_and_few_trials_are_inconclusive() -> None:
    attack = Bets((Scenario(PAIR, (ZERO,)),))
    sound = of_dataset(randomized_response(2.0), epsilon=1.0)
    (finding,) = audit(sound, [attack], trials=20_000, maximise_epsilon=True)
    assert (finding.verdict, finding.claim) == (Verdict.NOT_DETECTED, sound.claim)
    assert 0.55 < epsilon_of([finding]) < math.log(2)
    assert "which shows ε ≥ 0." in finding.reason
    (few,) = audit(sound, [attack], trials=5, maximise_epsilon=True)
    assert few.verdict is Verdict.INCONCLUSIVE


def test_a_claim_of_another_kind_is_judged_at_its_nominal_point() -> None:
    claim = GaussianDP(1.0)
    target = replace(of_dataset(randomized_response(math.exp(9.0))), claim=claim)
    (finding,) = audit(target, [Bets((Scenario(PAIR, (ZERO,)),))], trials=50_000, maximise_epsilon=True)
    assert (finding.claim, finding.shown.judged_at) == (claim, claim.nominal)
    assert finding.verdict is Verdict.VIOLATED


def test_what_fails_or_does_not_apply_is_told_and_a_failure_on_one_input_is_a_bet() -> None:
    attack = Bets((Scenario(PAIR, (ZERO,)),))
    (error,) = audit(of_dataset(always_refusing), [attack], trials=100, maximise_epsilon=True)
    assert error.verdict is Verdict.ERROR

    def refuses_one(records: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
        return always_refusing(records, trials, rng) if records[0] else randomized_response(2.0)(records, trials, rng)

    (fails,) = audit(of_dataset(refuses_one), [attack], trials=2_000, maximise_epsilon=True)
    assert (fails.verdict, fails.flaw) == (Verdict.VIOLATED, FAILURE)
    (elsewhere,) = audit(
        Target.noise(randomized_response(2.0), epsilon=1.0), [attack], trials=100, maximise_epsilon=True
    )
    assert elsewhere.verdict is Verdict.NOT_APPLICABLE
