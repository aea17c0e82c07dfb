"""The naive samplers draw from the laws of the textbooks, and the naive session spends more than it claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.stats import kstest

from attacklab.auditing.statistics.inference import assess
from attacklab.model.claims import PrivacyClaim
from attacklab.model.findings import Counts
from mechanisms.exponential.naive import naive_exponential, naive_exponential_stabilised
from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, polar, ziggurat
from mechanisms.interactive.exact import BUDGET, DEAR
from mechanisms.interactive.naive import naive_query_session

SAMPLERS = [box_muller, polar, ziggurat, inverse_cdf]
TRIALS = 20_000


@pytest.mark.parametrize(
    "sampler", [*SAMPLERS, partial(box_muller, dtype=np.float32), partial(ziggurat, dtype=np.float32)]
)
def test_every_sampler_draws_standard_normals(sampler: Sampler) -> None:
    """Kolmogorov–Smirnov at 20 000 draws; each of the six fails by chance with probability 1e-9."""
    drawn = sampler(TRIALS, np.random.default_rng(5))
    assert drawn.shape == (TRIALS,)
    assert kstest(drawn.astype(np.float64), "norm").pvalue > 1e-9


@pytest.mark.parametrize("mechanism", [naive_exponential, naive_exponential_stabilised])
def test_frequencies_follow_the_ideal_law_where_nothing_rounds(mechanism: Callable[..., np.ndarray]) -> None:
    """10⁶ draws; each of the three frequencies strays by 0.0034 with probability below 2·e^−23 ≈ 2e-10 (Hoeffding)."""
    selected = mechanism([0.0, 2.0, 3.0], 10**6, np.random.default_rng(5), epsilon=1.0)
    weights = np.array([1.0, math.e, math.e**1.5])
    assert np.abs(np.bincount(selected, minlength=3) / 10**6 - weights / weights.sum()).max() < 0.0034


def test_the_naive_session_overspends_and_breaks_the_claim() -> None:
    """The claim is refuted with error 1e-9; the ratio of the counts strays by 0.1 with probability below 1e-9."""
    rng = np.random.default_rng(0)
    yes, no = (
        sum(answers == (1, 1) for answers in naive_query_session(secret, 40_000, rng, epsilon=1.0))
        for secret in (True, False)
    )
    assert assess(PrivacyClaim(1.0), Counts(yes, no, 40_000), 1e-9).violated
    assert abs(math.log(yes / no) - 2 * DEAR / BUDGET) < 0.1
