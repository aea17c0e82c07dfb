"""Failures: at a rate of its own, by its data, beyond its claim, and from the first output on."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from attacklab import Domain, Finding, NeighbouringPair, Relation, Target, Verdict, one_by_one
from attacklab.attacks import SPECIAL_VALUES, Attack
from attacklab.attacks.base import Scenario
from attacklab.auditing.first_outputs import NAME, without_variety
from attacklab.auditing.referee import audit
from attacklab.cli.messages import Status
from attacklab.cli.output import status_of
from attacklab.model.findings import FAILURE
from attacklab.reporting.sarif import sarif_log
from tests.auditing.test_referee import PAIR, ZERO, Bets, randomized_response, target_of
from tests.ideal import two_sided_geometric

RATES = (0.5, 0.1, 0.02, 0.001)

ALPHA = 1e-6
"""The α of each audit. Seeds are fixed; with random ones, a test of 3 audits would fail in 3 of 10^6 runs."""

Rate = Callable[[Any], float]


def failing(release: Callable[..., Any], rate: Rate, *, each_output: bool) -> Callable[..., Any]:
    """A release that raises in some of its calls, or in those in which any of its outputs is one of some."""

    def fails(input_: Any, trials: int, rng: np.random.Generator) -> Any:
        if (rng.random(trials if each_output else 1) < rate(input_)).any():
            raise TimeoutError("the service did not answer in time")
        return release(input_, trials, rng)

    return fails


def audits(release: Callable[..., Any], rate: Rate, seeds: int, *, each_output: bool, trials: int) -> list[Finding]:
    """What one bet on randomized response at its edge of ε = ln 2, or else on failure, finds in so many audits."""
    target = target_of(failing(release, rate, each_output=each_output), epsilon=math.log(2))
    bets: Sequence[Attack] = [Bets((Scenario(PAIR, (ZERO,)),))]
    return [audit(target, bets, trials=trials, alpha=ALPHA, seed=seed)[0] for seed in range(seeds)]


@pytest.mark.parametrize("each_output", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_a_target_that_fails_whatever_its_data_is_not_accused(rate: float, each_output: bool) -> None:
    """Null hypothesis: randomized response at the edge of its claim that fails in some calls keeps the claim."""
    findings = audits(randomized_response(2.0), lambda _: rate, 3, each_output=each_output, trials=2_000)
    assert {finding.verdict for finding in findings} <= {Verdict.NOT_DETECTED, Verdict.INCONCLUSIVE}


@pytest.mark.parametrize("rates", [*((0.0, rate) for rate in RATES), (0.0, 1.0), (0.01, 0.0), (0.3, 0.01)])
def test_a_target_whose_failures_depend_on_its_data_is_refuted(rates: tuple[float, float]) -> None:
    """At the least rate the evidence takes some 20 failures on the one input, so 20,000 of the trials."""
    release = randomized_response(1.0)
    (finding,) = audits(release, lambda records: rates[records[0]], 1, each_output=True, trials=100_000)
    assert (finding.verdict, finding.shown.event, finding.flaw) == (Verdict.VIOLATED, "the target fails", FAILURE)
    assert finding.reason.startswith("the target failed in ")


@pytest.mark.parametrize("rate", RATES[::2])
def test_no_attack_of_a_default_audit_accuses_or_blames_a_target_that_fails_now_and_then(rate: float) -> None:
    sound = lambda answer, trials, rng: int(answer) + two_sided_geometric(rng, trials)  # noqa: E731
    release = failing(sound, lambda _: rate, each_output=False)
    findings = audit(Target.noise(release, epsilon=1.0, domain=Domain(integers=True)), trials=300, alpha=ALPHA)
    assert not [one for one in findings if one.verdict in (Verdict.VIOLATED, Verdict.ERROR)]


def test_what_the_largest_epsilon_shows_of_a_failing_target_is_no_more_than_it_has() -> None:
    release = failing(randomized_response(2.0), lambda _: 0.1, each_output=False)
    (finding,) = audit(
        target_of(release), [Bets((Scenario(PAIR, (ZERO,)),))], trials=4_000, alpha=ALPHA, maximise_epsilon=True
    )
    assert 0 < finding.shown.epsilon_lower < math.log(2)


def failing_on_nan(utilities: np.ndarray, trials: int, rng: np.random.Generator) -> np.ndarray:
    if not np.isfinite(utilities).all():
        raise ValueError("not a number")
    return rng.integers(0, len(utilities), trials)


def audited(domain: Domain | None = None) -> list[Finding]:
    return audit(Target.selection(failing_on_nan, epsilon=1.0, domain=domain), [SPECIAL_VALUES], trials=1_000)


def test_a_failure_on_nan_among_utilities_is_a_note_unless_the_domain_has_it() -> None:
    notes = audited()
    assert {one.verdict for one in notes} == {Verdict.NOT_APPLICABLE}
    assert all(one.is_note for one in notes)
    assert all("claim does not cover NaN" in one.reason for one in notes)
    assert any(one.refutes for one in audited(Domain(special=True)))
    assert {one.verdict for one in audited(Domain())} == {Verdict.NOT_APPLICABLE}


def test_a_failure_on_nan_among_records_refutes_the_claim_unless_the_domain_excludes_it() -> None:
    def release(records: Any, trials: int, rng: np.random.Generator) -> np.ndarray:
        if np.isnan(records).any():
            raise ValueError("not a number")
        return np.clip(np.nan_to_num(records), 0, 1).sum() + rng.laplace(size=trials) * 8

    def refuted(domain: Domain | None) -> bool:
        target = Target.sum(release, bounds=(0, 1), epsilon=1.0, domain=domain)
        return any(one.refutes for one in audit(target, [SPECIAL_VALUES], trials=1_000))

    assert refuted(None)
    assert refuted(Domain())
    assert not refuted(Domain(special=False))


def test_notes_decide_nothing_and_are_no_result_in_sarif() -> None:
    notes = audited()
    assert status_of(notes) is Status.FAILED
    (run,) = sarif_log([(note, None) for note in notes])["runs"]
    assert run["results"] == []


RNG = np.random.default_rng(1)
KEYS = [NeighbouringPair(["a"], [], Relation.ADD_REMOVE)]


def forgets(answer: float) -> None:
    """Add noise, and return nothing."""
    answer + RNG.laplace()


def each(output: Callable[[Any, np.random.Generator], object]) -> Callable[..., list[object]]:
    return lambda input_, trials, rng: [output(input_, rng) for _ in range(trials)]


def hidden(answer: float, rng: np.random.Generator) -> float | None:
    noisy = answer + rng.laplace()
    return noisy if noisy > 50 else None


ROWS: dict[str, tuple[Target, str]] = {
    "no return": (Target.noise(one_by_one(forgets), epsilon=1), "returned None"),
    "no return in a release": (Target.dataset(each(lambda *_: None), epsilon=1, pairs=KEYS), "returned None"),
    "a constant": (Target.noise(each(lambda *_: 7.0), epsilon=1), "gave the same output"),
    "a constant beside noise": (Target.noise(each(lambda _, rng: 0 * rng.laplace() + 3), epsilon=1), "gave the same"),
    "the same rows": (Target.dataset(each(lambda *_: [("a", 1)]), epsilon=1, pairs=KEYS), "gave the same output"),
    "noise": (Target.noise(lambda answer, trials, rng: answer + rng.laplace(0, 1, trials), epsilon=1), ""),
    "no noise": (Target.noise(each(lambda answer, _: answer), epsilon=1), ""),
    "a threshold that small answers pass rarely": (Target.noise(each(hidden), epsilon=1), ""),
    "a key that is kept once in a thousand times": (
        Target.dataset(each(lambda keys, rng: keys if rng.random() < 1e-3 else []), epsilon=1, pairs=KEYS),
        "",
    ),
    "a choice that is nearly sure": (Target.selection(each(lambda _, rng: int(rng.random() < 1e-3)), epsilon=9), ""),
    "it raises for 0": (Target.noise(each(lambda answer, rng: 1 / answer + rng.laplace()), epsilon=1), ""),
    "no pair": (Target.dataset(each(lambda *_: None), epsilon=1), ""),
}


def test_a_function_that_always_raises_is_an_error_with_its_line() -> None:
    finding = without_variety(Target.noise(each(lambda *_: 1 / 0), epsilon=1, name="boom"), 0)
    assert finding is not None
    assert finding.reason.startswith("boom raised ZeroDivisionError: division by zero at test_refusals.py:")


@pytest.mark.parametrize("name", ROWS)
def test_only_a_function_without_any_variety_is_an_error(name: str) -> None:
    target, said = ROWS[name]
    finding = without_variety(target, 0)
    assert (finding is None) is (said == "")
    if finding is not None:
        assert (finding.verdict, finding.attack) == (Verdict.ERROR, NAME)
        assert f" {said}" in finding.reason
        assert "on both inputs: is this the function you mean?" in finding.reason
