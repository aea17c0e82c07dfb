"""What textbooks and papers remark, and the lab computes: by another route, and at the records' own figures."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from experiments.common import definition_laws, selection_laws

pytestmark = pytest.mark.slow

ROWS = ((0, 0), (0, 1), (1, 0), (1, 1), (None, 0), (None, 1))


# The definition


def test_the_sum_of_the_proof_is_needed_by_groups_and_the_theorem_allows_more() -> None:
    delta = Fraction(1, 1 << 20)
    for k, row in enumerate(definition_laws.group_deltas(delta, 5), 1):
        assert row["sum"] == float(delta * (3**k - 1) / 2)
        assert row["needed"] == pytest.approx(row["sum"], rel=1e-9)
        assert row["neighbours"] <= float(delta)
        assert row["theorem"] == float(k * 3 ** (k - 1) * delta)


@pytest.mark.parametrize("power", [50, 53, 60])
def test_a_coin_in_doubles_comes_up_too_often_below_its_grid(power: int) -> None:
    found = definition_laws.catastrophe_deltas(power)
    assert found["naive"] == math.ceil(2.0 ** (53 - power)) / 2.0**53
    assert found["exact"] == found["claimed"] == 2.0**-power


# Selections


def test_the_law_of_the_noisiest_index_is_the_sum_over_all_noise() -> None:
    utilities, noise = np.array([2, 0, 1]), np.arange(-40, 41)
    mass = math.tanh(0.5) * np.exp(-np.abs(noise.astype(float)))
    grids = np.meshgrid(*(noise + utility for utility in utilities), indexing="ij")
    winners = np.argmax(np.stack(grids), axis=0)  # the first of equal ones
    chances = np.einsum("i,j,k->ijk", mass, mass, mass)
    expected = [chances[winners == index].sum() for index in range(3)]
    assert selection_laws.index_law(utilities) == pytest.approx(expected, abs=1e-12)
