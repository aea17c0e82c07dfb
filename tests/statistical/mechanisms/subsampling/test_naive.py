"""Sampling and shuffling as programs get it wrong breaks the claim of the theorem that it is taken from."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from attacklab.auditing.statistics.inference import assess
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts
from experiments.targets import sampled
from mechanisms.core.flip import delta_of_shuffled
from mechanisms.core.sample import spent_on_sample
from mechanisms.subsampling.naive import naive_poisson_count, naive_sampled_count, naive_shuffled_response

ALPHA = 1e-9
TRIALS = 150_000
ONE = Fraction(1)


def refuted(epsilon: float, delta: float, one: np.ndarray, other: np.ndarray) -> bool:
    counts = Counts(int(one.sum()), int(other.sum()), len(one))
    return assess(PrivacyClaim(epsilon, delta), counts, ALPHA).violated


def test_a_batch_of_fixed_size_breaks_the_claim_of_a_poisson_sample() -> None:
    rng = np.random.default_rng(0)
    spent = float(spent_on_sample(ONE, sampled.RATE))
    more, fewer = (
        naive_poisson_count(np.ones(size, dtype=int), TRIALS, rng, epsilon=spent, rate=0.25) > 1.0 for size in (3, 2)
    )
    assert refuted(1.0, 0.0, more, fewer)


def test_a_sample_with_replacement_breaks_the_claim_of_one_without() -> None:
    rng = np.random.default_rng(1)
    spent = float(spent_on_sample(ONE, sampled.SHARE))
    one, none = (naive_sampled_count(np.array([0, 0, 0, x]), TRIALS, rng, epsilon=spent, size=2) > 2.0 for x in (1, 0))
    assert refuted(1.0, 0.0, one, none)


def test_a_shuffle_that_stops_short_breaks_the_claim_of_a_whole_one() -> None:
    rng = np.random.default_rng(2)
    yes, no = (
        naive_shuffled_response(np.array([0, 0, 0, x]), TRIALS, rng, epsilon=sampled.LOCAL_EPSILON)[:, -1] == 1
        for x in (1, 0)
    )
    assert refuted(1.0, float(delta_of_shuffled(ONE, sampled.FLIP, 4)), yes, no)
