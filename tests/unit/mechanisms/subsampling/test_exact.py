"""Samples and shuffles as terms: what they promise in all, what they spend, and refusals of public parameters."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.claims import ApproximateDP
from mechanisms.subsampling.exact import exact_poisson_count, exact_sampled_count, exact_shuffled_response

SAMPLES: dict[float, Callable[[Any], Any]] = {
    0.25: lambda epsilon: exact_poisson_count(epsilon=epsilon, rate=0.25),
    0.4: lambda epsilon: exact_sampled_count(epsilon=epsilon, size=2, records=5),
}


@pytest.mark.parametrize("epsilon", [0.1, 1, Fraction(7, 3)])
@pytest.mark.parametrize("share", SAMPLES)
def test_a_sample_spends_what_the_whole_may_lose(epsilon: Any, share: float) -> None:
    term = SAMPLES[share](epsilon)
    assert isinstance(term.claim, ApproximateDP)
    assert 0 <= Fraction(epsilon) - term.claim.epsilon < Fraction(1, 2**80)
    assert float(term.mechanism.claim.epsilon) == pytest.approx(math.log1p(math.expm1(epsilon) / share))


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_what_is_refused_does_not_tell_who_is_in_the_sample(size: int) -> None:
    for place in range(4):
        records: list[Any] = [1, 0, 1, 0]
        records[place] = "1"
        for seed in range(8):
            for term in (
                exact_poisson_count(epsilon=1, rate=0.01),
                exact_sampled_count(epsilon=1, size=size, records=4),
            ):
                with pytest.raises(TypeError, match="records must be"):
                    term.release(records, SeededBits(seed))


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: exact_poisson_count(epsilon=0, rate=0.5), ValueError, "epsilon must be above 0"),
        (lambda: exact_poisson_count(epsilon=1, rate=0), ValueError, "share must lie in"),
        (lambda: exact_poisson_count(epsilon=1, rate="1"), TypeError, "rate must be int, float or Fraction"),
        (lambda: exact_poisson_count(epsilon=2**-50, rate=1), ValueError, "too fine"),
        (lambda: exact_sampled_count(epsilon=1, size=3, records=2), ValueError, "share must lie in"),
        (lambda: exact_sampled_count(epsilon=1, size=1.0, records=2), TypeError, "size must be an integer"),
        (lambda: exact_shuffled_response(flip=0.75, people=2, epsilon=1), ValueError, "flip must lie in"),
        (lambda: exact_shuffled_response(flip=0.1, people=0, epsilon=1), ValueError, "people must be at least 1"),
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        make()
