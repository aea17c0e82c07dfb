"""Whatever mechanism is made: a public parameter that is out of its range is refused by its name, before any draw."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from attacklab.model.random_bits import SeededBits
from mechanisms.core.grid import Grid
from mechanisms.exponential import exact as exponential
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.gaussian import exact as gaussian
from mechanisms.gaussian.naive import naive_gaussian
from mechanisms.interactive.exact import exact_query_session
from mechanisms.laplace import exact as laplace
from mechanisms.laplace import naive as naive_laplace
from mechanisms.local_sensitivity import exact as means
from mechanisms.local_sensitivity import exact_jumps as jumps
from mechanisms.local_sensitivity import naive as naive_means
from mechanisms.noisy_max import exact as noisy_max
from mechanisms.partition_selection.exact import exact_partition_selection
from mechanisms.quantile import naive as quantile
from mechanisms.summation import exact as summation
from mechanisms.summation import naive as naive_summation

Wrong = Mapping[str, Sequence[Any]]

TEXT = "1"
OUT = (0, -1.0, math.nan, math.inf)
"""What no ε, scale or sensitivity is."""

ANSWER = {"answer": 0, "trials": 1}
THREE = {"records": np.ones(3), "trials": 1}
AGES = {"lower": 0, "upper": 100, "grid": Grid(-14), "epsilon": 1}
CENSUS_DELTA = Fraction(1, 32_561**2)
RANGE = {"epsilon": 1, "lower": -4, "upper": 4, "grid": Grid(-1)}
WHOLE = {"epsilon": 1, "lower": -2, "upper": 3, "grid": Grid(0)}
CHOICE = {"utilities": [0.0, 1.0], "epsilon": 1, "utility_range": (-8, 8)}


def drawn(mechanism: Callable[..., Any], **parameters: Any) -> Any:
    """One run of a naive mechanism."""
    return mechanism(**parameters, rng=np.random.default_rng(0))


def selected(make: Callable[..., Any], *, utilities: Any, **parameters: Any) -> Any:
    """One selection by a term."""
    return make(**parameters).release(utilities, SeededBits(0))


ENDS: Wrong = {"epsilon": (0, math.nan), "lower": (math.inf,), "upper": (-1,), "grid": (Grid(-50),)}
CHOSEN: Wrong = {"utilities": ([], np.zeros((2, 2))), "sensitivity": (0, -1), "utility_range": ((1.0, 0.0),)}
LAPLACES = (
    naive_laplace.naive_laplace_inverse_cdf,
    naive_laplace.naive_laplace_numpy,
    naive_laplace.naive_laplace_numpy_legacy,
    naive_laplace.naive_two_sided_geometric,
)
QUANTILES = (quantile.naive_quantile, quantile.naive_quantile_midpoint, quantile.naive_quantile_unscaled)

CASES: list[tuple[Sequence[Callable[..., Any]], Mapping[str, Any], Wrong, Mapping[str, str]]] = [
    (
        [partial(drawn, mechanism) for mechanism in LAPLACES],
        {**ANSWER, "epsilon": 1.0},
        {"epsilon": (0.0, -1.0, math.nan), "sensitivity": (0.0, math.inf), "trials": (-1,)},
        {},
    ),
    (
        [partial(drawn, naive_laplace.naive_randomized_response)],
        {"truth": True, "trials": 1, "epsilon": 1.0},
        {"epsilon": OUT},
        {},
    ),
    ([partial(drawn, naive_gaussian)], {**ANSWER, "sigma": 0.5}, {"sigma": OUT, "trials": (-1,)}, {}),
    (
        [partial(drawn, made) for made in (naive_summation.naive_bounded_sum, naive_summation.naive_bounded_mean)],
        {**THREE, "epsilon": 1.0, "lower": 0.0, "upper": 2.0},
        {"epsilon": (0.0, math.nan), "lower": (2.0, math.nan), "upper": (math.inf,), "trials": (-1,)},
        {},
    ),
    (
        [partial(drawn, naive_means.naive_ptr_mean)],
        {**THREE, "upper": 100.0, "bound": 0.1, "epsilon": 1.0, "delta": 0.1},
        {"upper": OUT, "bound": OUT, "epsilon": OUT, "delta": OUT},
        {},
    ),
    (
        [partial(drawn, naive_means.naive_sample_aggregate)],
        {**THREE, "chunks": 1, "lower": 0, "upper": 1, "epsilon": 1},
        {"chunks": (0,), "lower": (1,)},
        {},
    ),
    ([partial(drawn, naive_means.naive_sum_over_count)], {**THREE, "upper": 1, "epsilon": 1}, {"trials": (-1,)}, {}),
    (
        [partial(drawn, made) for made in QUANTILES],
        {"records": [1.0], "trials": 1, "epsilon": 1.0, "quantile": 0.75, "lower": 0.0, "upper": 100.0},
        {"epsilon": (0.0,), "quantile": (1.5,), "lower": (200.0,), "upper": (math.inf,)},
        {"lower": "lower|upper"},
    ),
    (
        [partial(make, grid=Grid(-1)) for make in (laplace.exact_discrete_laplace, laplace.exact_rounded_laplace)]
        + [laplace.exact_histogram, laplace.exact_randomized_response, partial(laplace.exact_snapping, bound=16.0)]
        + [exact_query_session],
        {"epsilon": 1},
        {"epsilon": OUT},
        {},
    ),
    (
        [laplace.exact_two_sided_geometric, laplace.exact_laplace_on_grid],
        RANGE,
        {"epsilon": (*OUT, Fraction(1, 2**70)), "lower": (4, 0.25), "sensitivity": (0,)},
        {"epsilon": "epsilon|ratio", "lower": "upper must be above lower|points|lower|first"},
    ),
    (
        [gaussian.exact_discrete_gaussian, gaussian.exact_rounded_gaussian],
        {"sigma": 1, "grid": Grid(0)},
        {"sigma": (0, -1.0, math.nan, TEXT), "sensitivity": (0,), "grid": (Grid(-47),)},
        {"grid": "too fine"},
    ),
    (
        [gaussian.exact_fixed_work_gaussian],
        {"epsilon": 1, "sigma": 1, "lower": 0, "upper": 3},
        {"epsilon": (0,), "sigma": (0, math.nan, TEXT), "lower": (3, 0.5), "upper": (1024,)},
        {"upper": "by less than 1024"},
    ),
    (
        [summation.exact_bounded_sum, summation.exact_bounded_mean],
        WHOLE,
        {
            "epsilon": (0, math.nan),
            "lower": (3, math.nan),
            "upper": (0.3, math.inf, 2.0**54, 2.0**53),
            "relation": ("node",),
        },
        {"lower": "lower|upper", "upper": "upper|too fine"},
    ),
    (
        [means.exact_sum_over_count, partial(means.exact_sample_aggregate, statistic=np.mean, chunks=600, key=b"k")],
        AGES,
        ENDS,
        {"grid": "grid|multiple|bound"},
    ),
    (
        [
            means.exact_smooth_mean,
            partial(means.exact_ptr_mean, bound=0.005),
            jumps.exact_median_smooth,
            partial(jumps.exact_median_ptr, bound=0.005),
        ],
        {**AGES, "delta": CENSUS_DELTA},
        {**ENDS, "delta": (0, 0.6, math.nan)},
        {"grid": "grid|multiple|bound"},
    ),
    (
        [
            partial(selected, make)
            for make in (
                exponential.exact_exponential,
                exponential.exact_exponential_zcdp,
                exponential.exact_exponential_fixed_work,
                noisy_max.exact_exponential_noisy_max,
                noisy_max.exact_laplace_noisy_max,
            )
        ],
        CHOICE,
        {**CHOSEN, "epsilon": OUT},
        {"utilities": "utilities|at least one outcome"},
    ),
    (
        [partial(selected, exponential.exact_exponential_base2)],
        {"utilities": [0.0, 1.0], "eta": BaseTwoEta.from_epsilon(1, y=16), "utility_range": (-8, 8)},
        CHOSEN,
        {"utilities": "utilities|at least one outcome"},
    ),
    (
        [exact_partition_selection],
        {"epsilon": 1, "delta": 0.1},
        {"epsilon": (0, -1, 2.0**-70), "delta": (0, 0.5, math.nan)},
        {},
    ),
]
"""Mechanisms, parameters that they accept, what they refuse, and what they say where that is not the name."""


@pytest.mark.parametrize(
    ("make", "valid", "wrong", "said"), [(make, *row) for makers, *row in CASES for make in makers]
)
def test_a_parameter_out_of_range_is_refused_by_its_name(
    make: Callable[..., Any], valid: Mapping[str, Any], wrong: Wrong, said: Mapping[str, str]
) -> None:
    make(**valid)
    for name, values in wrong.items():
        for value in values:
            error = TypeError if value is TEXT else ValueError
            with pytest.raises(error, match=said.get(name, name)):
                make(**{**valid, name: value})
