"""The budgets and δ of amplification, against laws computed another way, and the mechanisms against their laws."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest

from attacklab.claims import PrivacyClaim
from attacklab.findings import Counts
from attacklab.statistics.inference import assess
from experiments.targets import sampled
from mechanisms.subsampling.amplification import budget_of_sample, delta_of_shuffled
from mechanisms.subsampling.exact import exact_shuffled_response
from mechanisms.subsampling.naive import naive_poisson_count, naive_sampled_count, naive_shuffled_response
from tests.mechanisms.enumeration import law_of

ALPHA = 1e-9
TRIALS = 150_000


@pytest.mark.parametrize("epsilon", [2.0**-10, 0.1, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("share", [Fraction(1, 100), Fraction(1, 4), Fraction(1)])
def test_the_budget_of_a_sample_is_the_formula_rounded_down(epsilon: float, share: Fraction) -> None:
    spent = budget_of_sample(epsilon, share)
    assert math.isclose(float(spent), math.log1p(math.expm1(epsilon) / float(share)), rel_tol=1e-12)
    assert share < 1 or spent < Fraction(epsilon)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 1.9])
@pytest.mark.parametrize("people", [1, 2, 4])
def test_the_delta_of_shuffled_answers_is_that_of_all_their_laws(epsilon: float, people: int) -> None:
    flip = 0.125

    def law(records: tuple[int, ...]) -> np.ndarray:
        counts = np.zeros(people + 1)
        for flips in product((0, 1), repeat=people):
            weight = math.prod(flip if one else 1 - flip for one in flips)
            counts[sum(a ^ b for a, b in zip(records, flips, strict=True))] += weight
        return counts

    worst = 0.0
    for records in product((0, 1), repeat=people):
        other = (1 - records[0], *records[1:])
        worst = max(worst, np.maximum(law(records) - math.exp(epsilon) * law(other), 0).sum())
    assert math.isclose(float(delta_of_shuffled(epsilon, Fraction(1, 8), people)), worst, rel_tol=1e-9)


def test_bad_arguments_are_refused() -> None:
    for bad in (Fraction(0), Fraction(-1), Fraction(3, 2)):
        with pytest.raises(ValueError, match="share must lie in"):
            budget_of_sample(1.0, bad)
    with pytest.raises(ValueError, match="epsilon must be above 0"):
        budget_of_sample(0.0, Fraction(1, 2))
    with pytest.raises(ValueError, match="flip in"):
        delta_of_shuffled(1.0, Fraction(2, 3), 4)
    with pytest.raises(ValueError, match="people must be at least 1"):
        delta_of_shuffled(1.0, Fraction(1, 8), 0)


def refuted(epsilon: float, delta: float, one: np.ndarray, other: np.ndarray) -> bool:
    counts = Counts(int(one.sum()), int(other.sum()), len(one))
    return assess(PrivacyClaim(epsilon, delta), counts, ALPHA).violated


def test_a_batch_of_fixed_size_breaks_the_claim_of_a_poisson_sample() -> None:
    rng = np.random.default_rng(0)
    spent = float(budget_of_sample(1.0, sampled.RATE))
    more, fewer = (
        naive_poisson_count(np.ones(size, dtype=int), TRIALS, rng, epsilon=spent, rate=0.25) > 1.0 for size in (3, 2)
    )
    assert refuted(1.0, 0.0, more, fewer)


def test_a_sample_with_replacement_breaks_the_claim_of_one_without() -> None:
    rng = np.random.default_rng(1)
    spent = float(budget_of_sample(1.0, sampled.SHARE))
    one, none = (naive_sampled_count(np.array([0, 0, 0, x]), TRIALS, rng, epsilon=spent, size=2) > 2.0 for x in (1, 0))
    assert refuted(1.0, 0.0, one, none)


def test_a_shuffle_that_stops_short_breaks_the_claim_of_a_whole_one() -> None:
    rng = np.random.default_rng(2)
    yes, no = (
        naive_shuffled_response(np.array([0, 0, 0, x]), TRIALS, rng, epsilon=sampled.LOCAL_EPSILON)[:, -1] == 1
        for x in (1, 0)
    )
    assert refuted(1.0, float(delta_of_shuffled(1.0, sampled.FLIP, 4)), yes, no)


def test_every_order_of_the_same_answers_is_equally_likely() -> None:
    law = law_of(partial(exact_shuffled_response, flip=Fraction(1, 8)), (0, 0, 1))
    assert sum(law.values()) == 1
    assert law[0, 0, 1] == law[0, 1, 0] == law[1, 0, 0]


def test_a_sample_as_large_as_the_dataset_is_all_of_it() -> None:
    target = sampled.exact_sampled_count()
    outputs = np.asarray(target.outputs(np.ones(4), 200, np.random.default_rng(3)))
    assert set(outputs) <= {0, 1, 2}
