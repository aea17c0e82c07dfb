"""The exact figures on textbooks' flaws and remarks, on jumps and on smooth bounds: each by another route."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate

from attacklab.model.neighbours import NeighbouringPair, Relation
from experiments import targets
from experiments.common import definition_laws, selection_laws
from experiments.common.jumps import largest_advantage, pair_at_jump, smoothed
from experiments.common.textbook_laws import (
    moves_of_one_person,
    passing_probabilities,
    rounding_losses,
    sum_over_count_loss,
)
from mechanisms.core.grid import Grid
from mechanisms.core.local import Median
from mechanisms.core.smooth import smooth
from tests.mechanisms.core.scripted_noise import output_law

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("delta", [1e-2, 1 / 32_561**2])
def test_the_law_of_the_textbooks_test_is_its_closed_form_and_far_above_the_claim(delta: float, epsilon: float) -> None:
    found = passing_probabilities(delta, epsilon)
    # The law is a multiple of 2^−53 and the uniform's rounding moves it by a few of those.
    assert found["computed"] == pytest.approx(found["derived"], abs=4 * 2.0**-53, rel=1e-9)
    assert found["derived"] > delta
    assert delta / math.exp(epsilon / 2) < found["repaired"] <= delta


@pytest.mark.parametrize(("size", "epsilon"), [(1, 1.0), (4, 0.5), (30, 1.0)])
def test_the_loss_of_sum_over_count_is_that_of_its_density_at_minus_u(size: int, epsilon: float) -> None:
    def density(n: int) -> float:
        """The density of sum/(count·u) at −1, up to a factor: ∫ |c| × the densities of sum at −c and count at c."""

        def at(count: float) -> float:
            return abs(count) * math.exp(epsilon * (2 * size - abs(-count - n) - abs(count - n)))

        edges = (-n - 80 / epsilon, -n, 0, n, n + 80 / epsilon)
        return sum(integrate.quad(at, *pair)[0] for pair in itertools.pairwise(edges))

    assert sum_over_count_loss(size, epsilon) == pytest.approx(math.log(density(size) / density(size + 1)), rel=1e-6)


@pytest.mark.parametrize("others", [1, 2, 4])
def test_the_loss_of_rounded_utilities_is_that_of_all_roundings_counted(others: int) -> None:
    """The first outcome's weight is 1 or 2 against others of 1, or it is 1 and each other one's is 1 or 2."""
    chosen = (Fraction(1, 1 + others) + Fraction(2, 2 + others)) / 2
    flips = list(itertools.product((1, 2), repeat=others))
    spared = sum(Fraction(1, 1 + sum(weights)) for weights in flips) / len(flips)
    most = max(chosen / spared, (1 - spared) / (1 - chosen))
    assert rounding_losses(others)["naive"] == pytest.approx(math.log2(most), rel=1e-12)


def test_one_person_moves_the_textbooks_aggregates_too_far_and_the_repaired_ones_never() -> None:
    found = moves_of_one_person(seed=0)
    assert found["chunks"] == 593
    named = dict(zip(found["names"], found["naive"], strict=True))
    assert named["1200 rows,\nmaxima"] == pytest.approx((80 - 50) / ((80 - 20) / 600)) == 300
    assert named["600 → 601 rows,\nmeans"] == pytest.approx(600 / 301)
    assert named["an age of −10^6,\nsum"] == pytest.approx(1e4, rel=0.01)
    assert all(move <= 1 for move in found["exact"])


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


@pytest.mark.parametrize("records", [([0, 0, 3], [0, 3, 3]), ([0, 0, 0], [0, 0, 3]), ([1], [2])])
def test_the_largest_advantage_is_half_the_sum_of_what_the_laws_differ_by(records: tuple[list[int], list[int]]) -> None:
    term = smooth(Median(Fraction(0), Fraction(3), Grid(0)), 2, 0.05)
    pair = NeighbouringPair.records(*records, Relation.SUBSTITUTE)
    first, second = (output_law(term, side) for side in records)
    distance = sum(abs(first.get(output, 0) - second.get(output, 0)) for output in {*first, *second}) / 2
    assert largest_advantage(term, pair) == pytest.approx(float(distance), abs=1e-12)


def test_at_a_jump_one_side_has_no_noise_and_the_other_has() -> None:
    target, rng = targets.naive_median(1.0), np.random.default_rng(2)
    pair = pair_at_jump(target, rng)
    assert target.covers(pair)
    exact, noisy = (target.outputs(side, 50, rng) for side in (pair.first, pair.second))
    assert len(set(exact.tolist())) == 1
    assert len(set(noisy.tolist())) == 50


def test_a_smooth_bound_is_the_maximum_of_what_falls_by_beta_at_each_distance() -> None:
    assert smoothed(lambda distance: 2.0**distance, [0, 1, 3], math.log(2)) == pytest.approx([1, 1, 1])
