"""Released numbers that share draws are judged as the closed forms say, which are worked out here by themselves."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from attacklab.model.claims import GaussianDP
from attacklab.model.findings import Verdict
from attacklab.replay import replay

Floats = NDArray[np.float64]
REUSED = "the same noise is added to two answers, and their difference shows the data"
Release = Callable[[int, Any], Any]


def _systems(seed: int, rows: int, draws: int) -> tuple[Floats, Floats, Floats]:
    """How numbers hold draws, how far each draw is to move, and the scales of the draws."""
    rng = np.random.default_rng(seed)
    factors = rng.integers(-2, 3, (rows, draws)).astype(float)
    return factors, rng.integers(-1, 2, draws).astype(float), rng.choice([0.5, 1.0, 1.5, 4.0], draws)


def _one_by_one(factors: Floats, apart: Floats, scales: Floats, samplers: list[str]) -> Release:
    """A release of numbers that are added up draw by draw."""

    def release(bit: int, rng: Any) -> Any:
        drawn = [getattr(rng, name)(0, scale) for name, scale in zip(samplers, scales, strict=True)]
        answers = []
        for row, by in zip(factors, apart, strict=True):
            answer = 3.0 + bit * by
            for factor, noise in zip(row, drawn, strict=True):
                answer = answer + factor * noise if factor else answer
            answers.append(answer)
        return answers

    return release


def _at_once(factors: Floats, apart: Floats, scales: Floats, samplers: list[str]) -> Release:
    """The same release by a product of a matrix, after which noise is not followed."""

    def release(bit: int, rng: Any) -> Any:
        drawn = [getattr(rng, name)(0, scale) for name, scale in zip(samplers, scales, strict=True)]
        return 3.0 + bit * apart + factors @ np.array(drawn)

    return release


def _least_loss(factors: Floats, apart: Floats, scales: Floats) -> float:
    """The least sum of sizes of shifts that explain a move: the least of those with as few draws as may be."""
    losses = [math.inf]
    for count in range(factors.shape[1] + 1):
        for chosen in map(list, itertools.combinations(range(factors.shape[1]), count)):
            shifts = np.linalg.pinv(factors[:, chosen]) @ apart if chosen else np.zeros(0)
            if np.allclose(factors[:, chosen] @ shifts, apart):
                losses.append(float(np.sum(np.abs(shifts) / scales[chosen])))
    return min(losses)


def _is_kept(release: Release, **claim: Any) -> bool | None:
    """Whether a claim is kept; None where that is not judged. That a draw is used twice is a note beside it."""
    findings = replay(release, [(0, 1)], **claim)
    if any(one.refutes for one in findings):
        return False
    notes = {one.flaw for one in findings if one.verdict is Verdict.VIOLATED}
    is_judged = all(one.verdict in (Verdict.VIOLATED, Verdict.NOT_DETECTED) for one in findings)
    return True if is_judged and notes <= {REUSED} else None


@pytest.mark.parametrize("form", [_one_by_one, _at_once])
@pytest.mark.parametrize("seed", range(12))
def test_gaussian_noise_that_numbers_share_loses_the_least_length_of_the_shifts(seed: int, form: Any) -> None:
    factors, shifts, scales = _systems(seed, 1 + seed % 4, 1 + seed // 3)
    apart = factors @ shifts
    release = form(factors, apart, scales, ["normal"] * len(scales))
    mu = float(np.linalg.norm(np.linalg.pinv(factors * scales) @ apart))
    if mu:
        assert _is_kept(release, claim=GaussianDP(0.999 * mu)) is False
    assert _is_kept(release, claim=GaussianDP(1.001 * mu or 0.1)) is True


@pytest.mark.parametrize("form", [_one_by_one, _at_once])
@pytest.mark.parametrize("seed", range(12))
def test_laplace_noise_that_numbers_share_loses_the_least_sum_of_the_shifts(seed: int, form: Any) -> None:
    factors, shifts, scales = _systems(100 + seed, 1 + seed % 4, 1 + seed // 3)
    apart = factors @ shifts
    release = form(factors, apart, scales, ["laplace"] * len(scales))
    epsilon = _least_loss(factors, apart, scales)
    if epsilon:
        assert _is_kept(release, epsilon=0.999 * epsilon) is False
    assert _is_kept(release, epsilon=1.001 * epsilon or 0.1) is True


@pytest.mark.parametrize("seed", range(6))
def test_a_pure_claim_is_kept_where_gaussian_noise_need_not_move(seed: int) -> None:
    factors, shifts, scales = _systems(200 + seed, 2, 4)
    apart, samplers = factors @ shifts, ["laplace", "laplace", "normal", "normal"]
    epsilon = _least_loss(factors[:, :2], apart, scales[:2])
    release = _one_by_one(factors, apart, scales, samplers)
    if epsilon:
        assert _is_kept(release, epsilon=min(0.999 * epsilon, 50.0)) is False
    if epsilon < math.inf:
        assert _is_kept(release, epsilon=1.001 * epsilon or 0.1) is True


@pytest.mark.parametrize("form", [_one_by_one, _at_once])
@pytest.mark.parametrize("seed", range(4))
def test_a_sum_without_noise_is_told_by_its_weights(seed: int, form: Any) -> None:
    factors, shifts, scales = _systems(300 + seed, 3, 2)
    apart = factors @ shifts + np.array([0.0, 0.0, 1.0])
    kept = np.linalg.matrix_rank(np.column_stack([factors, apart])) > np.linalg.matrix_rank(factors)
    worst = replay(form(factors, apart, scales, ["laplace"] * 2), [(0, 1)], epsilon=500.0)[0]
    assert worst.refutes == kept
    assert ("probability 1 against 0" in worst.reason) == kept


def _descent(steps: int, coordinates: int) -> Callable[[Any], Any]:
    def release(records: Any) -> Any:
        weights, iterates = np.zeros(coordinates), []
        for _ in range(steps):
            gradient = np.clip(weights - records, -1, 1).sum(axis=0)
            weights = weights - 0.1 * (gradient + np.random.normal(0, 1, coordinates))
            iterates.append([float(one) for one in weights])
        return iterates

    return release


@pytest.mark.parametrize(("share", "verdict"), [(0.95, Verdict.VIOLATED), (1.05, Verdict.NOT_DETECTED)])
@pytest.mark.parametrize(("steps", "coordinates"), [(4, 1), (3, 2)])
def test_iterates_lose_what_each_step_does_given_those_before(
    steps: int, coordinates: int, share: float, verdict: Verdict
) -> None:
    near, far = [0.1] * coordinates, [50.0] * coordinates  # whose gradient is clipped at every step
    loss = math.sqrt(steps * coordinates)
    pair = np.array([far, near]), np.array([near])
    findings = replay(_descent(steps, coordinates), [pair], claim=GaussianDP(share * loss))
    assert {one.verdict for one in findings} == {verdict}


def test_iterates_that_follow_the_noise_are_judged_by_what_moves_alike_at_all_outcomes_and_by_the_most() -> None:
    pair = np.array([[0.05], [0.1]]), np.array([[0.1]])  # the first step moves by 0.05, the others as the noise has it
    verdicts = [replay(_descent(4, 1), [pair], claim=GaussianDP(mu))[0].verdict for mu in (0.0475, 0.2, 2.0)]
    assert verdicts == [Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.NOT_DETECTED]
