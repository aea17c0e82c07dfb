"""The exact Gaussian terms: their laws, what they claim, and that fixed work is the same whatever is drawn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from attacklab.model.random_bits import TapedBits
from checker.check import check
from mechanisms.core.certificate import certificate
from mechanisms.core.claims import ZeroConcentratedDP
from mechanisms.core.grid import Grid
from mechanisms.core.noisy import Noisy
from mechanisms.gaussian.exact import WORD, exact_discrete_gaussian, exact_fixed_work_gaussian, exact_rounded_gaussian
from tests.unit.mechanisms.enumeration import law_of

SIGMA = Fraction(3, 2)
ADDITIVE = (exact_discrete_gaussian, exact_rounded_gaussian)


def discrete(noise: int, sigma: float) -> float:
    """P[noise] of the discrete Gaussian law by its definition, in doubles."""
    weights = [math.exp(-(n**2) / (2 * sigma**2)) for n in range(-99, 100)]
    return math.exp(-(noise**2) / (2 * sigma**2)) / math.fsum(weights)


def rounded(noise: int, sigma: float) -> float:
    """P[round(X) = noise] of a normal X."""
    low, high = ((noise + side) / sigma / math.sqrt(2) for side in (-0.5, 0.5))
    return (math.erf(high) - math.erf(low)) / 2


@pytest.mark.parametrize(("make", "truth"), [(exact_discrete_gaussian, discrete), (exact_rounded_gaussian, rounded)])
def test_the_law_is_that_of_noise_on_the_answer_rounded_to_the_grid(
    make: Callable[..., Noisy], truth: Callable[[int, float], float]
) -> None:
    term = make(SIGMA / 4, grid=Grid(-2))
    found = law_of(lambda bits: term.release(0.6, bits), smallest=Fraction(1, 2**36))
    missing = float(1 - sum(found.values()))
    assert missing < 1e-8
    for steps in range(-6, 7):
        assert found[0.5 + steps / 4] <= truth(steps, SIGMA) + 1e-14
        assert truth(steps, SIGMA) <= found[0.5 + steps / 4] + missing + 1e-14


@pytest.mark.parametrize("make", ADDITIVE)
@pytest.mark.parametrize(("sensitivity", "steps"), [(1, 4), (Fraction(9, 8), 5), (0.1, 1)])
def test_the_claim_counts_the_sensitivity_in_whole_steps(
    make: Callable[..., Noisy], sensitivity: Any, steps: int
) -> None:
    term = make(2, sensitivity=sensitivity, grid=Grid(-2))
    assert term.claim == ZeroConcentratedDP(Fraction(steps**2, 2 * 8**2))
    check(certificate("gaussian", term))


def fixed_work_law(answer: Any) -> dict[float, Fraction]:
    """The law, by bisecting the 2^62 words at every change of the output, which grows with the word."""
    term = exact_fixed_work_gaussian(1, sigma=SIGMA, lower=-2, upper=3)
    law: Counter[float] = Counter()
    start, last = 0, (1 << WORD) - 1
    while start <= last:
        output, low, high = term.release(answer, TapedBits(start, WORD)), start, last
        while low < high:
            middle = (low + high + 1) // 2
            is_same = term.release(answer, TapedBits(middle, WORD)) == output
            low, high = (middle, high) if is_same else (low, middle - 1)
        law[output] += low + 1 - start
        start = low + 1
    return {output: Fraction(words, 1 << WORD) for output, words in law.items()}


def test_noise_of_fixed_work_has_the_discrete_law_clamped_to_the_range() -> None:
    for answer in range(-2, 4):
        found, ideal = fixed_work_law(answer), Counter[int]()
        for noise in range(-60, 61):
            ideal[min(max(answer + noise, -2), 3)] += discrete(noise, SIGMA)  # type: ignore[assignment]
        assert sum(found.values()) == 1
        for output in range(-2, 4):
            assert float(found[output]) == pytest.approx(ideal[output], rel=1e-12)


@pytest.mark.parametrize("sensitivity", [Fraction(1, 2), 1, 2])
def test_the_delta_of_fixed_work_is_that_of_the_exhausted_laws(sensitivity: Fraction) -> None:
    laws = {answer: fixed_work_law(answer) for answer in range(-2, 4)}
    excess = max(
        sum(max(0.0, float(laws[one][o]) - math.e * float(laws[other][o])) for o in laws[one])
        for one in laws
        for other in laws
        if abs(one - other) <= math.ceil(sensitivity)
    )
    term = exact_fixed_work_gaussian(1, sigma=SIGMA, sensitivity=sensitivity, lower=-2, upper=3)
    assert term.claim.epsilon == 1
    assert float(term.claim.delta) == pytest.approx(excess, rel=1e-9)
    check(certificate("fixed work", term))
