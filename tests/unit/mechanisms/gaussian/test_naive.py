"""The naive Gaussian samplers: their law, and the arithmetic that an adversary counts on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from mechanisms.gaussian.naive import Sampler, box_muller, inverse_cdf, naive_gaussian, polar, ziggurat

SAMPLERS = [box_muller, polar, ziggurat, inverse_cdf]


def test_a_box_muller_pair_comes_from_two_uniforms_by_the_textbook_formula() -> None:
    """Two roundings a function and two to combine them: within 8 ulps of the formula in ordinary arithmetic."""
    drawn = box_muller(6, np.random.default_rng(3)).reshape(3, 2)
    rng = np.random.default_rng(3)
    first, second = rng.random(3), rng.random(3)
    for (x, y), u, v in zip(drawn, first, second, strict=True):
        radius = math.sqrt(-2 * math.log(1 - u))
        assert x == pytest.approx(radius * math.cos(2 * math.pi * v), abs=8 * math.ulp(radius))
        assert y == pytest.approx(radius * math.sin(2 * math.pi * v), abs=8 * math.ulp(radius))


def test_a_polar_pair_has_the_direction_of_a_point_on_the_uniforms_grid() -> None:
    """2U − 1 is a multiple of 2^−52, so x/y is a ratio of two of them but for the rounding of two products."""
    pairs = polar(2_000, np.random.default_rng(4)).reshape(-1, 2)
    rng = np.random.default_rng(4)
    points = 2 * rng.random((2_000, 2)) - 1
    points = points[(points**2).sum(axis=1) < 1][:1_000]
    found = pairs[: len(points)]
    assert np.allclose(found[:, 0] * points[:, 1], found[:, 1] * points[:, 0], rtol=1e-14, atol=0)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_the_mechanism_adds_scaled_normals_to_the_answer(sampler: Sampler) -> None:
    outputs = naive_gaussian(3.0, 9, np.random.default_rng(8), sigma=0.7, sampler=sampler)
    normals = sampler(9, np.random.default_rng(8))
    assert np.array_equal(outputs, 3.0 + 0.7 * normals)
