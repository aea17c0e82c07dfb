"""Every exact mechanism that takes a private input, found in the tree, with the public parameters that tests use."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import mechanisms
from attacklab.random_bits import RandomBits
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.gaussian.exact import exact_discrete_gaussian
from mechanisms.gaussian.exact_fast import exact_discrete_gaussian_each, exact_discrete_gaussian_fast
from mechanisms.gaussian.exact_fixed_work import exact_fixed_work_gaussian
from mechanisms.gaussian.exact_rounded import (
    exact_rounded_gaussian,
    exact_rounded_gaussian_each,
    exact_rounded_gaussian_fast,
)
from mechanisms.grid import Grid
from mechanisms.laplace.exact import clamp_integer, exact_discrete_laplace, noisy_integer
from mechanisms.laplace.exact_fast import exact_discrete_laplace_each, exact_discrete_laplace_fast, noisy_integers
from mechanisms.laplace.exact_geometric import exact_rounded_geometric, exact_two_sided_geometric
from mechanisms.laplace.exact_on_grid import exact_laplace_on_grid
from mechanisms.laplace.exact_randomized_response import exact_randomized_response, randomized_response
from mechanisms.laplace.exact_rounded import (
    exact_rounded_laplace,
    exact_rounded_laplace_each,
    exact_rounded_laplace_fast,
)
from mechanisms.laplace.exact_snapping import exact_snapping
from mechanisms.local_sensitivity.domain import Domain
from mechanisms.local_sensitivity.ptr.exact import exact_ptr_mean, prepare_ptr_mean
from mechanisms.local_sensitivity.sample_aggregate.anonymous import numbered, prepare_mean_of_chunks
from mechanisms.local_sensitivity.sample_aggregate.exact import exact_sample_aggregate, prepare_sample_aggregate
from mechanisms.local_sensitivity.smooth.exact import exact_smooth_mean, prepare_smooth_mean
from mechanisms.local_sensitivity.sum_over_count.exact import exact_sum_over_count, prepare_sum_over_count
from mechanisms.quantile.candidates import Candidates, rank_utilities
from mechanisms.quantile.exact import exact_quantile, exact_quantile_fast
from mechanisms.sparse_vector.exact import exact_above_threshold, exact_numeric_sparse
from mechanisms.sparse_vector.exact_fast import exact_above_threshold_fast, exact_numeric_sparse_fast
from mechanisms.subsampling.exact import exact_poisson_count, exact_sampled_count, exact_shuffled_response
from mechanisms.summation.bounds import Bounds, NarrowBounds
from mechanisms.summation.exact import exact_bounded_mean, exact_bounded_sum, exact_narrow_sum
from mechanisms.summation.exact_fast import exact_bounded_mean_fast, exact_bounded_sum_fast, exact_narrow_sum_fast

Run = Callable[[Any, RandomBits], Any]
"""A few releases from a private input, as something that compares equal if each bit is the same."""

PRIVATE = {"answer", "answers", "utilities", "records", "truth"}
"""What mechanisms call their private input, which is their first argument."""

WITHIN = {
    "SeveralAnswers": "what releases of several answers make of them",
    "release_in_chunks": "what releases hand their answers to",
}
"""Names that take a private input and are not for callers, and what they are."""

GRID, EPSILON, ETA = Grid(-2), Fraction(1), BaseTwoEta(3, 2)
DOMAIN, BOUNDS = Domain(-4, 8, GRID), Bounds(-4, 8, GRID)
PUBLIC = (GRID, DOMAIN, BOUNDS, ETA)
TRIALS = 12


def found() -> dict[str, str]:
    """Each public function or class of exact families that takes a private input → what it takes."""
    names = {}
    for information in pkgutil.walk_packages(mechanisms.__path__, "mechanisms."):
        module = importlib.import_module(information.name)
        for name, value in vars(module).items():
            if "naive" in module.__name__ or ".core." in module.__name__ or name.startswith("_") or not callable(value):
                continue
            if getattr(value, "__module__", None) != module.__name__ or value in (Callable, Any):
                continue
            parameters = list(inspect.signature(value).parameters)
            if parameters and parameters[0] in PRIVATE and name not in WITHIN:
                names[name] = parameters[0]
    return names


def one_by_one(mechanism: Callable[..., Any], **public: Any) -> Run:
    return lambda given, bits: repr([mechanism(given, bits, **public) for _ in range(3)])


def at_once(mechanism: Callable[..., Any], **public: Any) -> Run:
    return lambda given, bits: repr(mechanism(given, TRIALS, bits, **public).tolist())


def each(mechanism: Callable[..., Any], **public: Any) -> Run:
    return lambda given, bits: repr(mechanism(given, bits, **public).tolist())


def prepared(prepare: Callable[..., Any], **public: Any) -> Run:
    def run(given: Any, bits: RandomBits) -> str:
        release = prepare(given, **public)
        return repr([release.one(bits), *release.many(TRIALS, bits)])

    return run


def of_people(run: Run) -> Run:
    """Give each record a person of its own."""
    return lambda given, bits: run([(str(person), value) for person, value in enumerate(given)], bits)


KEEP = Fraction(2, 3)
GAUSSIAN = {"sigma": 2, "grid": GRID}
FIXED = {"sigma": 2, "lower": -4, "upper": 8}
LAPLACE = {"epsilon": EPSILON, "grid": GRID}
MEAN = {"domain": DOMAIN, "epsilon": EPSILON}
DELTA = {"delta": Fraction(1, 8)}
CHUNKS = {"statistic": np.mean, "chunks": 3, "key": b"public"}
NARROW = NarrowBounds(-1.0, 2.0, GRID)
ABOVE = {"threshold": 0, "positives": 2, "epsilon_threshold": EPSILON, "epsilon_answers": EPSILON, "grid": GRID}
SUM = {"epsilon": EPSILON, "bounds": BOUNDS}
QUANTILE = {"epsilon": EPSILON, "quantile": Fraction(2, 3), "candidates": Candidates(-1, 4, GRID)}

RUNS: dict[str, Run] = {
    "clamp_integer": lambda given, _: repr(clamp_integer(given)),
    "exact_above_threshold": one_by_one(exact_above_threshold, **ABOVE),
    "exact_above_threshold_fast": at_once(exact_above_threshold_fast, **ABOVE),
    "exact_bounded_mean": one_by_one(partial(exact_bounded_mean, relation="add-remove"), **SUM),
    "exact_bounded_mean_fast": at_once(partial(exact_bounded_mean_fast, relation="add-remove"), **SUM),
    "exact_bounded_sum": one_by_one(exact_bounded_sum, **SUM),
    "exact_bounded_sum_fast": at_once(exact_bounded_sum_fast, **SUM),
    "exact_discrete_gaussian": one_by_one(exact_discrete_gaussian, **GAUSSIAN),
    "exact_discrete_gaussian_each": each(exact_discrete_gaussian_each, **GAUSSIAN),
    "exact_discrete_gaussian_fast": at_once(exact_discrete_gaussian_fast, **GAUSSIAN),
    "exact_discrete_laplace": one_by_one(exact_discrete_laplace, **LAPLACE),
    "exact_discrete_laplace_each": each(exact_discrete_laplace_each, **LAPLACE),
    "exact_discrete_laplace_fast": at_once(exact_discrete_laplace_fast, **LAPLACE),
    "exact_fixed_work_gaussian": one_by_one(exact_fixed_work_gaussian, **FIXED),
    "exact_laplace_on_grid": one_by_one(exact_laplace_on_grid, eta=ETA, lower=-4, spacing=Fraction(1, 3), points=25),
    "exact_narrow_sum": one_by_one(exact_narrow_sum, epsilon=EPSILON, bounds=NARROW),
    "exact_narrow_sum_fast": at_once(exact_narrow_sum_fast, epsilon=EPSILON, bounds=NARROW),
    "exact_numeric_sparse": one_by_one(exact_numeric_sparse, epsilon_values=EPSILON, **ABOVE),
    "exact_numeric_sparse_fast": at_once(exact_numeric_sparse_fast, epsilon_values=EPSILON, **ABOVE),
    "exact_poisson_count": one_by_one(exact_poisson_count, eta=ETA, rate=Fraction(1, 4), most=8),
    "exact_ptr_mean": one_by_one(exact_ptr_mean, bound=2, **MEAN, **DELTA),
    "exact_quantile": one_by_one(exact_quantile, **QUANTILE),
    "exact_quantile_fast": at_once(exact_quantile_fast, **QUANTILE),
    "exact_randomized_response": one_by_one(exact_randomized_response, epsilon=EPSILON),
    "exact_rounded_gaussian": one_by_one(exact_rounded_gaussian, **GAUSSIAN),
    "exact_rounded_gaussian_each": each(exact_rounded_gaussian_each, **GAUSSIAN),
    "exact_rounded_gaussian_fast": at_once(exact_rounded_gaussian_fast, **GAUSSIAN),
    "exact_rounded_laplace": one_by_one(exact_rounded_laplace, **LAPLACE),
    "exact_rounded_laplace_each": each(exact_rounded_laplace_each, **LAPLACE),
    "exact_rounded_laplace_fast": at_once(exact_rounded_laplace_fast, **LAPLACE),
    "exact_rounded_geometric": one_by_one(exact_rounded_geometric, eta=ETA, lower=-4, upper=8),
    "exact_sample_aggregate": of_people(one_by_one(exact_sample_aggregate, **CHUNKS, **MEAN)),
    "exact_sampled_count": one_by_one(exact_sampled_count, eta=ETA, size=2, most=8),
    "exact_shuffled_response": one_by_one(exact_shuffled_response, flip=Fraction(1, 8)),
    "exact_smooth_mean": one_by_one(exact_smooth_mean, **MEAN, **DELTA),
    "exact_snapping": one_by_one(exact_snapping, epsilon=EPSILON, bound=16.0),
    "exact_sum_over_count": one_by_one(exact_sum_over_count, **MEAN),
    "exact_two_sided_geometric": one_by_one(exact_two_sided_geometric, eta=ETA, lower=-4, upper=8),
    "noisy_integer": lambda given, bits: repr([noisy_integer(given, Fraction(2), bits) for _ in range(3)]),
    "noisy_integers": lambda given, bits: repr(noisy_integers(given, Fraction(2), TRIALS, bits).tolist()),
    "numbered": lambda given, _: repr(numbered(given)),
    "prepare_mean_of_chunks": prepared(prepare_mean_of_chunks, chunks=3, key="public", **MEAN),
    "prepare_ptr_mean": prepared(prepare_ptr_mean, bound=2, **MEAN, **DELTA),
    "prepare_sample_aggregate": of_people(prepared(prepare_sample_aggregate, **CHUNKS, **MEAN)),
    "prepare_smooth_mean": prepared(prepare_smooth_mean, **MEAN, **DELTA),
    "prepare_sum_over_count": prepared(prepare_sum_over_count, **MEAN),
    "rank_utilities": lambda given, _: repr(rank_utilities(given, Fraction(2, 3), Candidates(-1, 4, GRID)).tolist()),
    "randomized_response": lambda given, bits: repr([randomized_response(given, KEEP, bits) for _ in range(3)]),
}
"""How tests release from each: `RUNS[name](private input, bits)`."""
