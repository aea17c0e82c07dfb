"""Refusals: a target that fails at a rate of its own is not accused, one whose failures tell its data is refuted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Finding, Target, Verdict, audit
from attacklab.attacks.base import Attack, Scenario
from attacklab.model.findings import FAILURE
from tests.auditing.test_referee import PAIR, ZERO, Bets, randomized_response, target_of
from tests.ideal import two_sided_geometric

RATES = (0.5, 0.1, 0.02, 0.001)

ALPHA = 1e-6
"""Of each audit. Seeds are fixed; were they not, a test of 6 audits would raise a false alarm with 6e-6."""

Rate = Callable[[Any], float]


def failing(release: Callable[..., Any], rate: Rate, *, each_output: bool) -> Callable[..., Any]:
    """A release that raises in some of its calls, or in those in which any of its outputs is one of some."""

    def fails(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        if (rng.random(trials if each_output else 1) < rate(input_)).any():
            raise TimeoutError("the service did not answer in time")
        return release(input_, trials, rng)

    return fails


def discrete_laplace(answer: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    return int(answer) + two_sided_geometric(rng, trials)


def audits(release: Callable[..., Any], rate: Rate, seeds: int, *, each_output: bool, trials: int) -> list[Finding]:
    """What one bet on randomized response at its edge of ε = ln 2, or else on failure, finds in so many audits."""
    target = target_of(failing(release, rate, each_output=each_output), epsilon=math.log(2))
    bets: Sequence[Attack] = [Bets((Scenario(PAIR, (ZERO,)),))]
    return [audit(target, bets, trials=trials, alpha=ALPHA, seed=seed)[0] for seed in range(seeds)]


@pytest.mark.parametrize("each_output", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_a_target_that_fails_whatever_its_data_is_not_accused(rate: float, each_output: bool) -> None:
    """Null hypothesis: randomized response at the edge of its claim that fails in some calls keeps the claim."""
    findings = audits(randomized_response(2.0), lambda _: rate, 6, each_output=each_output, trials=2_000)
    assert {finding.verdict for finding in findings} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("rates", [*((0.0, rate) for rate in RATES), (0.0, 1.0), (0.01, 0.0), (0.3, 0.01)])
def test_a_target_whose_failures_depend_on_its_data_is_refuted(rates: tuple[float, float]) -> None:
    """At the least rate the evidence takes some 20 failures on the one input, so 20,000 of the trials."""
    release = randomized_response(1.0)
    (finding,) = audits(release, lambda records: rates[records[0]], 1, each_output=True, trials=100_000)
    assert (finding.verdict, finding.event, finding.flaw) == (Verdict.VIOLATED, "the target fails", FAILURE)
    assert finding.reason.startswith("the target failed in ")


@pytest.mark.parametrize("rate", RATES[::2])
def test_no_attack_of_a_default_audit_accuses_or_blames_a_target_that_fails_now_and_then(rate: float) -> None:
    release = failing(discrete_laplace, lambda _: rate, each_output=False)
    findings = audit(Target.noise(release, epsilon=1.0, domain=Domain(integers=True)), trials=300, alpha=ALPHA)
    assert not [one for one in findings if one.verdict in (Verdict.VIOLATED, Verdict.ERROR)]


def test_what_the_largest_epsilon_shows_of_a_failing_target_is_no_more_than_it_has() -> None:
    release = failing(randomized_response(2.0), lambda _: 0.1, each_output=False)
    (finding,) = audit(
        target_of(release), [Bets((Scenario(PAIR, (ZERO,)),))], trials=4_000, alpha=ALPHA, maximise_epsilon=True
    )
    assert 0 < finding.epsilon_lower < math.log(2)
