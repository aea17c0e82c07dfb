"""What one answer tells of two databases is the distance of the mechanisms' own laws; smooth bounds have a maximum."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from attacklab.model.neighbours import NeighbouringPair, Relation
from experiments import targets
from experiments.common.jumps import largest_advantage, pair_at_jump, smoothed
from mechanisms.core.grid import Grid
from mechanisms.core.local import Median
from mechanisms.core.smooth import smooth
from tests.mechanisms.core.scripted_noise import output_law

pytestmark = pytest.mark.slow


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
