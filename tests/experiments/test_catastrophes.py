"""The catastrophe mechanism as targets: exact laws refute the coin in doubles and prove the exact one."""

from __future__ import annotations

from fractions import Fraction

import pytest

from attacklab.laws import enumerate_law
from attacklab.laws.proof import prove
from attacklab.model.domains.finite import all_databases
from attacklab.model.findings import Verdict
from attacklab.model.random_bits import SeededBits
from experiments.targets.catastrophes import exact_catastrophe, naive_catastrophe
from mechanisms.catastrophe import exact, naive

pytestmark = pytest.mark.slow


def test_the_coin_in_doubles_is_refuted_on_every_pair_and_the_exact_one_is_proved_on_every_pair() -> None:
    databases = all_databases(2, [0, 1])
    refuted = prove(naive_catastrophe(), inputs=databases)
    assert refuted.verdict is Verdict.VIOLATED
    assert "8 of 8 pairs refute the claim" in refuted.reason
    assert prove(exact_catastrophe(), inputs=databases).verdict is Verdict.PROVED


@pytest.mark.parametrize("delta", [Fraction(1, 3), Fraction(5, 1 << 60)])
def test_everything_is_published_with_exactly_the_probability_that_is_asked_for(delta: Fraction) -> None:
    law = enumerate_law(lambda data, bits: exact.exact_catastrophe(data, bits, delta=delta), "all")
    assert float(law.mass("all")) == pytest.approx(float(delta), rel=1e-12)


@pytest.mark.parametrize(("delta", "published"), [(0.0, None), (1.0, (1, 0))])
def test_at_the_ends_nothing_and_everything_is_published(delta: float, published: tuple[int, ...] | None) -> None:
    for seed in range(8):
        assert naive.naive_catastrophe((1, 0), SeededBits(seed), delta=delta) == published
        assert exact.exact_catastrophe((1, 0), SeededBits(seed), delta=Fraction(delta)) == published
    with pytest.raises(ValueError, match="probability"):
        exact.exact_catastrophe((1, 0), SeededBits(0), delta=Fraction(3, 2))
