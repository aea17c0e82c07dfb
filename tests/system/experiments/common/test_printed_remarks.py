"""What textbooks and papers remark, and the lab computes: by another route, and at the records' own figures."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from experiments.common import definition_laws, selection_laws

ROWS = ((0, 0), (0, 1), (1, 0), (1, 1), (None, 0), (None, 1))


# The definition


@pytest.mark.parametrize("together", [True, False])
def test_no_mechanism_moves_beliefs_further_than_the_randomized_responses(together: bool) -> None:
    """Any yes or no with probabilities in [1/4, 3/4] is (ln 3)-DP; a thousand of these, by Bayes' rule."""
    rng, prior = np.random.default_rng(0), 1 / 64
    largest = float(definition_laws.belief_quotient(Fraction(1, 64), together=together))
    belief = {(0, 0): 1 - prior, (1, 1): prior, (0, 1): 0.0, (1, 0): 0.0}
    if not together:
        belief = {
            (a, b): (prior if a else 1 - prior) * (prior if b else 1 - prior) for a, b in product((0, 1), repeat=2)
        }
    for draw in range(1000):
        yes = dict(zip(ROWS, rng.uniform(0.25, 0.75, 6) if draw % 2 else rng.choice([0.25, 0.75], 6), strict=True))
        posteriors = []
        for told in (yes, {rows: yes[None, rows[1]] for rows in belief}):
            with_bit = sum(share * told[rows] for rows, share in belief.items() if rows[0])
            posteriors.append(with_bit / sum(share * told[rows] for rows, share in belief.items()))
        assert 1 / largest - 1e-12 <= posteriors[0] / posteriors[1] <= largest + 1e-12
    assert largest == pytest.approx(3 * (3 - 2 * prior) / (1 + 2 * prior) if together else 3 - 2 * prior)
    assert largest <= (9 if together else 3)


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


def test_the_shares_of_growing_ranges_approach_what_the_tail_of_the_weights_leaves() -> None:
    power, size = 1 / math.log(2), selection_laws.RANGES[-1]
    share = selection_laws.near(selection_laws.WEIGHTS["log_2"], size)
    within = 1 + 2 * sum((1 + d) ** -power for d in range(1, selection_laws.NEAR + 1))
    tails = [2 * (size + start) ** (1 - power) / (power - 1) for start in (1, 2)]
    lower, upper = (within / (within / share + tail) for tail in tails)
    assert lower <= selection_laws.limit_near()["log_2"] <= upper


# Mitigations, and what Ilvento 2020 proves of bits and of rounding


# Accuracy of means
