"""Sums, conversions and formulas in floating point, as they answer requests about vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attacklab.vectors import read_value, written
from experiments.common.calibration_formulas import NAIVE
from experiments.vectors import exact_twins
from experiments.vectors.flawed_answers import Answer, Answers, Request, by_samples, clamped
from experiments.vectors.sums import FORMATS, ORDERS, forward
from mechanisms.local_sensitivity.naive import naive_sum_over_count
from mechanisms.summation.naive import naive_bounded_sum


def sums_by(added: Callable[[NDArray[Any]], Any]) -> Answers:
    """A sum of records that were clipped, by an order of its own whatever order the case is about."""

    def summed(request: Request) -> Answer:
        type_, _ = FORMATS[request["format"]]
        return {"value": written(float(type_(added(np.array(read_value(request["records"]), dtype=type_)))))}

    def noisy(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
        low, high = map(float, of["bounds"])
        relation = of.get("relation", "add-remove")
        return naive_bounded_sum(
            np.atleast_1d(clamped(low, high, list(records))),
            trials,
            rng,
            epsilon=float(of["epsilon"]),
            lower=low,
            upper=high,
            relation=relation,
            summation=lambda one: float(added(one)),
        )

    asked = {("sum", f"{order}_sum"): summed for order in ORDERS}
    return {**asked, ("pair", "bounded_sum"): by_samples(noisy), ("special", "bounded_sum"): by_samples(noisy)}


def in_order(order: str) -> Callable[[NDArray[Any]], Any]:
    """A sum in one of the orders of the vectors."""
    return lambda records: ORDERS[order](list(records)) if len(records) else 0.0


def clipped_sum(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
    """A sum whose records go through np.clip, which lets NaN through."""
    low, high = map(float, of["bounds"])
    array = np.array(records, dtype=float)
    return naive_bounded_sum(array, trials, rng, epsilon=float(of["epsilon"]), lower=low, upper=high)


def sum_over_count(of: Mapping[str, Any], records: Any, trials: int, rng: np.random.Generator) -> Any:
    """A mean as the quotient of a noisy sum and a noisy count."""
    low, high = map(float, of["bounds"])
    given = np.atleast_1d(clamped(low, high, list(records)))
    return naive_sum_over_count(given, trials, rng, upper=high, epsilon=float(of["epsilon"]))


MEANS = (("pair", "mean_with_local_sensitivity"), ("special", "bounded_mean"))


def wrong_to_nearest(number: Callable[[Request], float]) -> Callable[[Request], Answer]:
    """A conversion that is wrong to nearest, and exact in the other modes."""

    def converted(request: Request) -> Answer:
        if request["mode"] != "nearest":
            return exact_twins.answer(request)
        return {"value": written(number(request))}

    return converted


def _as_type(request: Request, double: float) -> float:
    """A double in the format of the case, where numpy has it."""
    types = {"binary32": np.float32, "binary16": np.float16, "bfloat16": ml_dtypes.bfloat16}
    return float(types.get(request["format"], np.float64)(double))


def by_division(request: Request) -> float:
    """A rational number as the quotient of two doubles."""
    number = Fraction(read_value(request["value"]))
    return float(number.numerator) / float(number.denominator)


def rounded_twice(request: Request) -> float:
    """A rational number that becomes a double, and then a number of the format."""
    number = Fraction(read_value(request["value"]))
    return _as_type(request, number.numerator / number.denominator)


def added_one_by_one(request: Request) -> float:
    """A sum that is rounded after each addition."""
    return float(forward([np.float64(one) for one in (0.0, *read_value(request.get("terms", [])))]))


def always_nearest(request: Request) -> Answer:
    """A conversion that ignores the mode."""
    return exact_twins.answer({**request, "mode": "nearest"})


def formulas(*names: str) -> Answers:
    """The naive formulas of these names."""

    def formula(request: Request) -> Answer:
        return {"value": written(float(NAIVE[request["mechanism"]](**request["parameters"])))}

    return {("calibration", name): formula for name in names}


THRESHOLDS = ("laplace_threshold", "gaussian_threshold", "laplace_threshold_delta", "gaussian_threshold_delta")
OTHER_FORMULAS = tuple(name for name in NAIVE if name not in {*THRESHOLDS, "gaussian_sigma", "budget_total"})
