"""Selections, noise, sums, conversions and formulas with one flaw each, as they answer requests about vectors.

Each flaw is one that libraries or textbooks had: see the notes of the flags that it falls under.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from attacklab.vectors import read_value, written
from attacklab.vectors.program import Skipped
from experiments.common.calibration_formulas import NAIVE
from experiments.vectors import exact_twins, naive_laws
from experiments.vectors.distributions import discrete_laplace_tail
from experiments.vectors.flawed_answers import Answer, Answers, Parameters, Request, by_law, by_samples
from experiments.vectors.pairs import usual_threshold
from experiments.vectors.sums import FORMATS, ORDERS, forward
from mechanisms.laplace.naive import naive_laplace_numpy, naive_randomized_response, naive_two_sided_geometric
from mechanisms.local_sensitivity.naive import naive_sum_over_count
from mechanisms.summation.naive import naive_bounded_sum

Generator = np.random.Generator


def clamped(low: float, high: float, input_: Any) -> Any:
    """NaN is the lower end, what lies beyond an end is that end, and there is one zero."""
    within = np.clip(np.nan_to_num(np.asarray(input_, dtype=float), nan=low), low, high) + 0.0
    return within if isinstance(input_, list) else float(within)


# --- selections ------------------------------------------------------------------------------------------------------


def selection(mechanism: Callable[..., Any], name: str = "exponential", *, bare: bool = False) -> Answers:
    """A naive selection; `bare` without clamping, which is how it overflows."""

    def release(of: Parameters, utilities: Any, trials: int, rng: Generator) -> Any:
        low, high = map(float, of.get("range", (0, 0)))
        within = utilities if bare or low == high else clamped(low, high, utilities)
        # Laws state ε as a rate of ε/2.
        epsilon = float(of["epsilon"] if "epsilon" in of else 2 * of["rate"])
        return mechanism(np.array(within, dtype=float), trials, rng, epsilon=epsilon)

    return {(type_, name): by_samples(release) for type_ in ("law", "pair", "special")}


def selection_by_law(mechanism: Callable[..., Any], *, bare: bool = False) -> Answers:
    """A naive selection that compares one uniform number with thresholds; see `selection`."""

    def release(of: Parameters, utilities: Any, trials: int, rng: Generator) -> Any:
        epsilon = float(of["epsilon"] if "epsilon" in of else 2 * of["rate"])
        return mechanism(np.array(utilities, dtype=float), trials, rng, epsilon=epsilon)

    by_laws = {(type_, "exponential"): by_law(release) for type_ in ("law", "pair")}
    return {**selection(mechanism, bare=bare), **by_laws}


def first_kept(of: Parameters, utilities: Sequence[int], rng: Generator) -> int:
    """Flips in the order of the outcomes, which nobody permuted."""
    best = max(utilities)
    while True:
        for place, utility in enumerate(utilities):
            if rng.random() < math.exp(float(of["rate"]) * (utility - best)):
                return place


def rounded_response(of: Parameters, truth: bool, trials: int, rng: Generator) -> NDArray[np.bool_]:
    """Randomized response, the probability rounded to a double."""
    return naive_randomized_response(truth, trials, rng, epsilon=float(of["epsilon"]))


def response_of_epsilon(of: Parameters, truth: bool, rng: Generator) -> bool:
    """The truth with probability ε."""
    return bool(rng.random() < float(of["epsilon"])) == truth


def rounded_coin(request: Request) -> Answer:
    """A coin whose probability was rounded to a double, which only its exact law tells from a fair one."""
    heads = Fraction(float(request["parameters"]["probability"]))
    return {"law": written([[True, heads], [False, 1 - heads]])}


def named(of: Parameters, count: int, _: Mapping[str, Any]) -> Any:
    """The probability that a key is named, with a threshold for continuous noise."""
    epsilon, delta = of["epsilon"], of["delta"]
    return discrete_laplace_tail(usual_threshold(epsilon, delta) - count, 1 / epsilon) if count else 0


# --- noise -----------------------------------------------------------------------------------------------------------

LEAST_EPSILON = Fraction(1, 100)
"""A loop of more than a hundred steps on average is not run."""


def counted_in_loops(of: Parameters, answer: Any, trials: int, rng: Generator) -> NDArray[np.int64]:
    """Both variates counted in loops, for scales at which that ends."""
    ratio = of.get("ratio", of.get("decay"))
    epsilon = -np.log(float(ratio)) if ratio else of.get("epsilon") or 1 / of["scale"]
    if epsilon < LEAST_EPSILON:
        raise Skipped
    within = min(max(answer, of["lower"]), of["upper"]) if "lower" in of else int(answer or 0)
    noisy = naive_two_sided_geometric(within, trials, rng, epsilon=float(epsilon))
    return np.clip(noisy, of["lower"], of["upper"]) if "lower" in of else noisy


def by_logarithm(scale: float, rng: Generator) -> int:
    """A fair sign, and −0 kept: 0 comes twice as often."""
    magnitude = math.floor(-scale * math.log(1 - rng.random()))
    return magnitude if rng.random() < 0.5 else -magnitude


def noise_by_logarithm(of: Parameters, answer: Any, rng: Generator) -> int:
    """Integer noise by the logarithm of one uniform number, with a fair sign and 0 twice."""
    scale = -1 / np.log(float(of["ratio"])) if "ratio" in of else float(of.get("scale", 1 / of.get("epsilon", 1)))
    return (answer or 0) + by_logarithm(scale, rng)


def tail_by_logarithm(of: Parameters, answer: int, event: Mapping[str, Any]) -> Fraction:
    """The probability that an answer with such noise is so large."""
    return naive_laws.tail_of_noise(event["at_least"] - answer, 1 / Fraction(of["epsilon"]))


def answers_as_int64(of: Parameters, answer: int, rng: Generator) -> int:
    """Such noise on an answer of 64 bits, clamped to the range."""
    noisy = int(np.array(answer, dtype=np.int64)) + by_logarithm(-1 / math.log(of["decay"]), rng)
    return int(np.clip(noisy, of["lower"], of["upper"]))


def float_noise(of: Parameters, answer: float, trials: int, rng: Generator) -> NDArray[np.float64]:
    """Laplace noise of numpy; special answers are clamped first."""
    return naive_laplace_numpy(_on_the_grid(of, answer), trials, rng, epsilon=float(of["epsilon"]))


def short_noise(of: Parameters, answer: float, rng: Generator) -> float:
    """Laplace noise of generators seeded anew from a clock, as `naive_laplace_clock_seeded` has it."""
    seed = int(rng.integers(1 << 16))
    return float(_on_the_grid(of, answer)) + np.random.RandomState(seed).laplace(0.0, 1 / float(of["epsilon"]))


def _on_the_grid(of: Parameters, answer: float) -> Any:
    return clamped(-(2.0**51), 2.0**51, answer) if "step" in of else float(answer)


def refusing_count(_: Parameters, answer: float, rng: Generator) -> float:
    """A count that must not be negative, in units of the step; signals of the processor are errors."""
    with np.errstate(all="raise"):
        if math.copysign(1.0, answer) < 0:
            raise ValueError("a count must not be negative")
        return float(np.float64(answer) * 0.5 + rng.laplace(0.0, 0.5)) * 2


# --- sums and means --------------------------------------------------------------------------------------------------


def sums_by(added: Callable[[NDArray[Any]], Any]) -> Answers:
    """A sum of records that were clipped, by an order of its own whatever order the case is about."""

    def summed(request: Request) -> Answer:
        type_, _ = FORMATS[request["format"]]
        return {"value": written(float(type_(added(np.array(read_value(request["records"]), dtype=type_)))))}

    def noisy(of: Parameters, records: Any, trials: int, rng: Generator) -> Any:
        low, high = map(float, of["bounds"])
        within = np.atleast_1d(clamped(low, high, list(records)))
        about = {"epsilon": float(of["epsilon"]), "lower": low, "upper": high}
        relation = of.get("relation", "add-remove")
        return naive_bounded_sum(
            within, trials, rng, **about, relation=relation, summation=lambda data: float(added(data))
        )

    by_order = {("sum", f"{order}_sum"): summed for order in ORDERS}
    return {**by_order, ("pair", "bounded_sum"): by_samples(noisy), ("special", "bounded_sum"): by_samples(noisy)}


def in_order(order: str) -> Callable[[NDArray[Any]], Any]:
    """A sum in one of the orders of the vectors."""
    return lambda records: ORDERS[order](list(records)) if len(records) else 0.0


def clipped_sum(of: Parameters, records: Any, trials: int, rng: Generator) -> Any:
    """A sum whose records go through np.clip, which lets NaN through."""
    low, high = map(float, of["bounds"])
    array = np.array(records, dtype=float)
    return naive_bounded_sum(array, trials, rng, epsilon=float(of["epsilon"]), lower=low, upper=high)


def refusing_sum(of: Parameters, records: Sequence[float], rng: Generator) -> float:
    """A sum of which a record outside the bounds is an error."""
    low, high = map(float, of["bounds"])
    if any(not low <= record <= high for record in records):
        raise ValueError("a record lies outside its bounds")
    return sum(records) + rng.laplace(0.0, high)


def mean_of_records(of: Parameters, records: Sequence[float], rng: Generator) -> float:
    """A mean that divides by the number of records."""
    low, high = map(float, of["bounds"])
    return float(np.clip(records, low, high).sum()) / len(records) + rng.laplace(0.0, high)


def sum_over_count(of: Parameters, records: Any, trials: int, rng: Generator) -> Any:
    """A mean as the quotient of a noisy sum and a noisy count."""
    low, high = map(float, of["bounds"])
    within = np.atleast_1d(clamped(low, high, list(records)))
    return naive_sum_over_count(within, trials, rng, upper=high, epsilon=float(of["epsilon"]))


def tail_of_local_noise(of: Parameters, records: Sequence[float], event: Mapping[str, Any]) -> Any:
    """The probability that a mean with noise for this database is so large."""
    return naive_laws.laplace_tail(of["epsilon"] * len(records) * event["at_least"])


# --- conversions and formulas ----------------------------------------------------------------------------------------


def wrong_to_nearest(number: Callable[[Request], float]) -> Callable[[Request], Answer]:
    """A conversion that is wrong to nearest, and exact in the other modes."""

    def converted(request: Request) -> Answer:
        if request["mode"] != "nearest":
            return exact_twins.answer(request)
        return {"value": written(number(request))}

    return converted


def by_division(request: Request) -> float:
    """A rational number as the quotient of two doubles."""
    number = Fraction(read_value(request["value"]))
    return float(number.numerator) / float(number.denominator)


def rounded_twice(request: Request) -> float:
    """A rational number that becomes a double, and then a number of the format, where numpy has it."""
    number = Fraction(read_value(request["value"]))
    types = {"binary32": np.float32, "binary16": np.float16, "bfloat16": ml_dtypes.bfloat16}
    return float(types.get(request["format"], np.float64)(number.numerator / number.denominator))


def added_one_by_one(request: Request) -> float:
    """A sum that is rounded after each addition."""
    return float(forward([np.float64(term) for term in (0.0, *read_value(request.get("terms", [])))]))


def always_nearest(request: Request) -> Answer:
    """A conversion that ignores the mode."""
    return exact_twins.answer({**request, "mode": "nearest"})


THRESHOLDS = ("laplace_threshold", "gaussian_threshold", "laplace_threshold_delta", "gaussian_threshold_delta")
OTHER_FORMULAS = tuple(name for name in NAIVE if name not in {*THRESHOLDS, "gaussian_sigma", "budget_total"})


def formulas(*names: str) -> Answers:
    """The naive formulas of these names."""

    def formula(request: Request) -> Answer:
        return {"value": written(float(NAIVE[request["mechanism"]](**request["parameters"])))}

    return {("calibration", name): formula for name in names}
