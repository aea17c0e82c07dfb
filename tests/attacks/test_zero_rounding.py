"""Zero-rounding: the boundary is found wherever the target has one, and nowhere else."""

import math

import numpy as np
import pytest

from attacklab import Finding, Verdict, ZeroRounding
from attacklab.auditing.referee import audit
from mechanisms.exponential.naive import naive_exponential, naive_exponential_stabilised
from mechanisms.noisy_max.naive import naive_laplace_noisy_max
from tests.attacks.making import Release, scenarios_of, selection_of
from tests.ideal import ideal_exponential


def weighted(dtype: type, failure: str) -> Release:
    """A textbook exponential mechanism in the given format that fails in the given way when all weights are zero."""

    def release(
        utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, sensitivity: float
    ) -> object:
        weights: np.ndarray = np.exp((epsilon * utilities / (2 * sensitivity)).astype(dtype)).astype(dtype)
        if weights.sum() == 0 and failure == "raise":
            raise ZeroDivisionError("all weights are zero")
        if weights.sum() == 0:
            return [None] * trials if failure == "none" else np.zeros(trials, dtype=int)
        law = weights.astype(float) / weights.astype(float).sum()
        return rng.choice(len(utilities), trials, p=law)

    return release


@pytest.mark.parametrize("failure", ["raise", "none", "first"])
@pytest.mark.parametrize(
    ("dtype", "underflow_nats"), [(np.float64, 1075 * math.log(2)), (np.float32, 150 * math.log(2))]
)
@pytest.mark.parametrize(
    ("epsilon", "sensitivity"),
    [
        (0.01, 1.0),
        (0.5, 1.0),
        (1.0, 3.7),
        (2.0, 0.3),
        (30.0, 1e-6),
        (1e-6, 1e-300),
        (50.0, 1e300),
        (1.0, math.nextafter(8.0, 0)),
    ],
)
def test_the_pair_lies_on_either_side_of_the_point_where_weights_vanish_in_the_format(
    failure: str, dtype: type, underflow_nats: float, epsilon: float, sensitivity: float
) -> None:
    target = selection_of(weighted(dtype, failure), epsilon, sensitivity)
    boundary = 2 * sensitivity * underflow_nats / epsilon
    for scenario in scenarios_of(ZeroRounding(), target):
        better, worse = -scenario.pair.first[0], -scenario.pair.first[1]
        rounded = float(np.finfo(dtype).eps)  # the exponent itself is rounded to the format
        assert better * (1 - rounded) <= boundary <= worse * (1 + rounded)

        def weight(utility: float) -> float:
            return float(np.exp(dtype(epsilon * utility / (2 * sensitivity))))

        assert weight(-better) > 0
        assert weight(-worse) == 0


def test_boundary_below_binary64_is_found_where_the_target_has_a_wider_range() -> None:
    def release(utilities: np.ndarray, trials: int, rng: np.random.Generator, *, epsilon: float, **_: float) -> object:
        nats = -epsilon * utilities / 2
        alive = np.flatnonzero(nats < 11_355.5)  # where x87's 80-bit extended precision ends
        return rng.choice(alive, trials) if alive.size else [None] * trials

    two, _many = scenarios_of(ZeroRounding(), selection_of(release, 1.0))
    assert -2 * 11_355.5 <= two.pair.first[0] <= -2 * 11_355.5 + 1


def judged(release: Release, epsilon: float, sensitivity: float = 1.0) -> list[Finding]:
    return audit(selection_of(release, epsilon, sensitivity), [ZeroRounding()], trials=2_000, seed=7, spend_all=True)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("release", [naive_exponential, weighted(np.float32, "raise"), weighted(np.float64, "none")])
def test_naive_weights_are_caught_with_certainty_in_both_forms(release: Release, epsilon: float) -> None:
    two, many = judged(release, epsilon)
    assert (two.verdict, many.verdict) == (Verdict.VIOLATED, Verdict.VIOLATED)
    assert two.shown.advantage.estimate == 1.0
    assert many.shown.advantage.estimate == pytest.approx(0.99, abs=0.015)


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("release", [ideal_exponential, naive_exponential_stabilised, naive_laplace_noisy_max])
def test_mechanisms_without_a_lower_boundary_are_not_accused(release: Release, epsilon: float) -> None:
    """Each finding is a false alarm with probability at most 1e-6/2, at this fixed seed."""
    for finding in judged(release, epsilon):
        assert finding.verdict is Verdict.NOT_DETECTED
        assert 0 < finding.samples.smallest_detectable < 1
