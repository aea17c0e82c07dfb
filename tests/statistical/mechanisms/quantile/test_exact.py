"""The exact quantile has the law that its README says, on both paths, and its claim is accepted."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from checker.check import check
from checker.forms import Refused
from mechanisms.core.certificate import certificate
from mechanisms.core.grid import Grid
from mechanisms.quantile.exact import exact_quantile
from mechanisms.quantile.naive import naive_quantile_half_sensitivity

FEW: dict[str, Any] = {"lower": 0, "upper": 3, "grid": Grid(0)}


def weights(records: list[float], quantile: Fraction, epsilon: int) -> list[mpmath.mpf]:
    """The probabilities of the candidates 0 … 3: e^(−ε·q·|rank − α·n|/2Δ), ties left out of the count."""
    rate = mpmath.mpf(epsilon) / (2 * max(quantile.numerator, quantile.denominator - quantile.numerator))
    distances = []
    for candidate in range(4):
        below, above = sum(r < candidate for r in records), sum(r > candidate for r in records)
        distances.append(abs(int(quantile.denominator * (below - quantile * (below + above)))))
    each = [mpmath.exp(-rate * distance) for distance in distances]
    return [weight / sum(each) for weight in each]


@pytest.mark.parametrize("records", [[], [1.0], [0.0, 0.0, 2.5], [0.5, 1.5, 2.5]])
@pytest.mark.parametrize("quantile", [Fraction(1, 2), Fraction(3, 4)])
def test_both_paths_have_the_law_of_the_closed_formula(records: list[float], quantile: Fraction) -> None:
    """3,000 draws each of an outcome stray from a probability by 0.065 with probability below 2·e^−25 (Hoeffding)."""
    term, bits = exact_quantile(epsilon=2, quantile=quantile, **FEW), SeededBits(np.random.default_rng(2))
    for released in (term.many(records, 3_000, bits).tolist(), [term.release(records, bits) for _ in range(3_000)]):
        seen = Counter(released)
        for candidate, weight in enumerate(weights(records, quantile, 2)):
            assert abs(seen[float(candidate)] / 3_000 - weight) < 0.065


def test_the_claim_is_accepted_and_that_with_the_median_s_sensitivity_has_no_rule() -> None:
    exact, naive = (
        json.loads(json.dumps(certificate("a quantile", make(epsilon=1, quantile=Fraction(3, 4), **FEW))))
        for make in (exact_quantile, naive_quantile_half_sensitivity)
    )
    assert check(exact).statement == "1-DP for every pair of records, one added or removed"
    with pytest.raises(Refused, match="no rule for utilities"):
        check(naive)
