"""Gaussian noise of fixed work: its law, its δ, and that its work is the same whatever it draws."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attacklab.attacks.work import Work
from attacklab.findings import Verdict
from attacklab.neighbours import NeighbouringPair
from attacklab.observed_work import with_bits_taken
from attacklab.random_bits import SeededBits, TapedBits
from attacklab.referee import audit
from experiments import targets
from mechanisms.gaussian.exact_fixed_work import (
    BITS,
    FixedWorkGaussian,
    exact_fixed_work_gaussian,
    exact_fixed_work_gaussian_delta,
)

SIGMA = Fraction(3, 2)


def released(answer: Any, drawn: int, lower: int = -2, upper: int = 3) -> int:
    return exact_fixed_work_gaussian(answer, TapedBits(drawn, BITS), sigma=SIGMA, lower=lower, upper=upper)


def law_of(answer: Any, lower: int = -2, upper: int = 3) -> dict[int, Fraction]:
    """The law, by bisecting the 2^128 draws at every change of the output, which grows with the draw."""
    law: Counter[int] = Counter()
    start = 0
    while start < 1 << BITS:
        output, low, high = released(answer, start, lower, upper), start, (1 << BITS) - 1
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if released(answer, middle, lower, upper) == output else (low, middle - 1)
        law[output] += low + 1 - start
        start = low + 1
    return {output: Fraction(mass, 1 << BITS) for output, mass in law.items()}


def gaussian(noise: int) -> float:
    """The discrete Gaussian law by its definition, in doubles."""
    weights = [math.exp(-(n**2) / (2 * SIGMA**2)) for n in range(-60, 61)]
    return math.exp(-(noise**2) / (2 * SIGMA**2)) / math.fsum(weights)


@pytest.mark.ci
def test_the_law_is_that_of_discrete_gaussian_noise_clamped_to_the_range() -> None:
    for answer in range(-2, 4):
        found = law_of(answer)
        ideal: Counter[int] = Counter()
        for noise in range(-60, 61):
            ideal[min(max(answer + noise, -2), 3)] += gaussian(noise)  # type: ignore[assignment]
        assert sum(found.values()) == 1
        for output in range(-2, 4):
            assert float(found[output]) == pytest.approx(ideal[output], rel=1e-12)


def test_the_stated_delta_is_that_of_the_exhausted_laws() -> None:
    laws = {answer: law_of(answer) for answer in range(-2, 4)}
    for epsilon in (0, 0.25, 1):
        exact = max(
            sum(max(0.0, float(laws[one][o]) - math.exp(epsilon) * float(laws[other].get(o, 0))) for o in laws[one])
            for one in laws
            for other in laws
            if abs(one - other) <= 1
        )
        stated = exact_fixed_work_gaussian_delta(epsilon, sigma=SIGMA, lower=-2, upper=3)
        assert stated == pytest.approx(exact, rel=1e-9, abs=1e-15)


def test_answers_farther_apart_lose_more() -> None:
    near, far = (
        exact_fixed_work_gaussian_delta(1, sigma=3, sensitivity=sensitivity, lower=0, upper=9) for sensitivity in (1, 2)
    )
    assert 0 < near < far
    half = exact_fixed_work_gaussian_delta(1, sigma=3, sensitivity=Fraction(1, 2), lower=0, upper=9)
    assert half == near


def test_every_release_takes_the_same_bits_and_compares_them_with_every_threshold() -> None:
    compared = []

    class Watched(int):
        def __ge__(self, other: int) -> bool:
            compared.append(other)
            return int(self) >= other

    class Bits(SeededBits):
        def take(self, count: int) -> int:
            taken.append(count)
            return Watched(super().take(count))

    works = set()
    for seed in range(50):
        for answer in (-2.0, 0.0, 3.0, math.nan, math.inf):
            taken: list[int] = []
            compared.clear()
            exact_fixed_work_gaussian(answer, Bits(seed), sigma=SIGMA, lower=-2, upper=3)
            works.add((tuple(taken), tuple(compared)))
    assert len(works) == 1
    ((taken_bits, thresholds),) = works
    assert taken_bits == (BITS,)
    assert thresholds == FixedWorkGaussian(SIGMA, 5).thresholds


def test_an_attack_that_sees_the_work_does_not_accuse_it() -> None:
    """A false alarm has probability at most 1e-6, at this fixed seed."""
    target = with_bits_taken(targets.exact_fixed_work_gaussian())
    (finding,) = audit(target, [Work(NeighbouringPair(1, 0, None))], trials=500, seed=4, spend_all=True)
    assert finding.verdict is Verdict.NOT_DETECTED
    assert len(set(target.outputs(3, 20, np.random.default_rng(1))["work"])) == 1


@pytest.mark.parametrize(
    ("answer", "whole"),
    [(0.5, 1), (-0.5, 0), (0.49999999999999994, 0), (1e300, 3), (-math.inf, -2), (math.nan, -2), (Fraction(7, 2), 3)],
)
def test_answers_are_rounded_half_upward_and_clamped(answer: Any, whole: int) -> None:
    assert released(answer, 1 << (BITS - 1)) == whole


def test_tails_that_128_bits_do_not_show_are_0() -> None:
    noise = FixedWorkGaussian(Fraction(1), 40)
    assert noise.tails[0] > 0
    assert noise.tails[-1] == 0
    assert list(noise.thresholds) == sorted(noise.thresholds)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"sigma": 0}, ValueError),
        ({"sigma": math.nan}, ValueError),
        ({"sigma": "1"}, TypeError),
        ({"lower": 3}, ValueError),
        ({"lower": 0.5}, TypeError),
    ],
)
def test_parameters_out_of_their_range_are_refused(change: dict[str, Any], error: type[Exception]) -> None:
    parameters: dict[str, Any] = {"sigma": 1, "lower": 0, "upper": 3, **change}
    with pytest.raises(error):
        exact_fixed_work_gaussian(1, SeededBits(0), **parameters)
    with pytest.raises(error):
        exact_fixed_work_gaussian_delta(1, **parameters)


def test_a_negative_epsilon_is_refused() -> None:
    with pytest.raises(ValueError, match="epsilon must be at least 0"):
        exact_fixed_work_gaussian_delta(-1, sigma=1, lower=0, upper=3)
