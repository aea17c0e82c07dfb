"""Usual implementations with known flaws, asked as `attacklab vectors check` asks a program.

Each flaw is one that libraries or textbooks had: see the notes of the flags that it falls under.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from attacklab.errors import UsageError
from attacklab.floats import BFLOAT16
from attacklab.random_bits import REJECTED, TapedBits, TapeEnded
from attacklab.vectors import read_value, written
from attacklab.vectors.program import Failed, Skipped
from experiments.vectors import exact_twins
from experiments.vectors.samplers import RUNS
from experiments.vectors.sums import FORMATS, ORDERS, forward
from experiments.vectors.traces import Recorder
from mechanisms.coins import bernoulli

Draw = Callable[[Mapping[str, Any], Any, np.random.Generator], Any]
LEAST_INTEGER, GREATEST_INTEGER = -(1 << 31), (1 << 31) - 1


def answer(request: Mapping[str, Any], *_fields: str) -> list[Any]:
    """The answer to a request, field by field.

    Raises:
        Skipped: there is no such mechanism here.
        Failed: the mechanism raised.
    """
    given = dict(request)
    given["parameters"] = {name: exact_twins.read(value) for name, value in request.get("parameters", {}).items()}
    try:
        return ANSWERS[request["type"]](given)
    except (ArithmeticError, ValueError, TapeEnded) as error:
        if isinstance(error, UsageError):
            raise
        raise Failed(str(error)) from error


def _sampled(draws: Mapping[str, Draw]) -> Callable[[Mapping[str, Any]], list[Any]]:
    def outputs(request: Mapping[str, Any]) -> list[Any]:
        if request["mechanism"] not in draws:
            raise Skipped
        draw, rng = draws[request["mechanism"]], np.random.default_rng(request["seed"])
        input_ = read_value(request["input"])
        return [[written(draw(request["parameters"], input_, rng)) for _ in range(request["trials"])]]

    return outputs


def _geometric(scale: float, rng: np.random.Generator) -> int:
    """A fair sign, and −0 kept: 0 comes twice as often."""
    magnitude = math.floor(-scale * math.log(1 - rng.random()))
    return magnitude if rng.random() < 0.5 else -magnitude


def _int32(noise: int) -> int:
    return min(max(noise, LEAST_INTEGER), GREATEST_INTEGER)


def _unstabilised(rate: Fraction, utilities: Sequence[int], rng: np.random.Generator) -> int:
    weights = [math.exp(float(rate) * one) for one in utilities]
    return _by_share(weights, rng)


def _by_share(weights: Sequence[float], rng: np.random.Generator) -> int:
    threshold, total = rng.random() * math.fsum(weights), 0.0
    for place, weight in enumerate(weights):
        total += weight
        if threshold < total:
            return place
    raise ArithmeticError("no weight is left")


def _first_of_ties(rate: Fraction, utilities: Sequence[int], rng: np.random.Generator) -> int:
    """Integer noise, and the first of the largest scores."""
    ratio = math.exp(-float(rate))
    return int(np.argmax([one + rng.geometric(1 - ratio) for one in utilities]))


LAWS: Mapping[str, Draw] = {
    "uniform_below": lambda of, _, rng: int(rng.integers(64)) % of["bound"],
    "randomized_response": lambda of, one, rng: bool(rng.random() < float(of["epsilon"])) == one,
    "two_sided_geometric": lambda of, _, rng: _geometric(-1 / math.log(of["ratio"]), rng),
    "discrete_laplace": lambda of, _, rng: _int32(_geometric(float(of["scale"]), rng)),
    "exponential": lambda of, one, rng: _unstabilised(of["rate"], one, rng),
    "permute_and_flip": lambda of, one, rng: _first_of_ties(of["rate"], one, rng),
}


def _lost(utilities: Sequence[int], epsilon: Fraction, rng: np.random.Generator) -> int:
    weights = np.exp(float(epsilon) / 2 * (np.array(utilities, dtype=float) - max(utilities)))
    total, reached = 0.0, []
    for weight in BFLOAT16.rounded(weights).tolist():
        total = float(BFLOAT16.rounded(np.array([total + weight]))[0])
        reached.append(total)
    return int(np.searchsorted(np.array(reached) / total, rng.random(), side="right"))


def _noisy_sum(of: Mapping[str, Any], records: Sequence[float], rng: np.random.Generator) -> float:
    low, high = of["bounds"]
    return float(forward([np.float64(one) for one in records])) + rng.laplace(0.0, high - low)


PAIRS: Mapping[str, Draw] = {
    "exponential": lambda of, one, rng: _lost(one, of["epsilon"], rng),
    "bounded_sum": _noisy_sum,
    "mean_with_local_sensitivity": lambda _, one, rng: float(np.mean(one) + rng.laplace(0.0, 1 / len(one))),
    "partition_selection": lambda of, count, rng: bool(count and count + _geometric(1 / of["epsilon"], rng) > 2),
}


def _raising(function: Draw) -> Draw:
    def with_signals(of: Mapping[str, Any], input_: Any, rng: np.random.Generator) -> Any:
        with np.errstate(all="raise"):
            return function(of, input_, rng)

    return with_signals


def _counted(_: Mapping[str, Any], answer_: float, rng: np.random.Generator) -> float:
    """A count that must not be negative, in units of the step; signals of the processor are errors."""
    if math.copysign(1.0, answer_) < 0:
        raise ValueError("a count must not be negative")
    return float(np.float64(answer_) * 0.5 + rng.laplace(0.0, 0.5)) * 2


def _as_int64(of: Mapping[str, Any], answer_: int, rng: np.random.Generator) -> int:
    noisy = int(np.array(answer_, dtype=np.int64)) + _geometric(-1 / math.log(of["decay"]), rng)
    return int(np.clip(noisy, of["lower"], of["upper"]))


def _refusing_sum(of: Mapping[str, Any], records: Sequence[float], rng: np.random.Generator) -> float:
    low, high = map(float, of["bounds"])
    if any(not low <= one <= high for one in records):
        raise ValueError("a record lies outside its bounds")
    return sum(records) + rng.laplace(0.0, high)


def _mean(of: Mapping[str, Any], records: Sequence[float], rng: np.random.Generator) -> float:
    low, high = map(float, of["bounds"])
    clipped = np.clip(records, low, high)
    return float(clipped.sum()) / len(records) + rng.laplace(0.0, high)


SPECIAL: Mapping[str, Draw] = {
    "discrete_laplace_on_a_grid": _raising(_counted),
    "two_sided_geometric_on_a_range": _as_int64,
    "exponential": lambda of, one, rng: _unstabilised(Fraction(of["epsilon"]) / 2, one, rng),
    "bounded_sum": _refusing_sum,
    "bounded_mean": _mean,
}


class _GivingUp(TapedBits):
    """Takes the first attempt of a rejection loop, or 0 in its place."""

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """One round; see `RandomBits.repeat`."""
        outcome = sampler(*arguments, self)
        return 0 if outcome is REJECTED else outcome


def _tape(request: Mapping[str, Any]) -> list[Any]:
    length = len(request["bits"])
    bits = _GivingUp(int(request["bits"][::-1], 2), length)
    output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), bits)
    return [written(output), written(length - bits.left)]


class _Rounding(Recorder):
    """Asks for coins whose probabilities were rounded to doubles."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `Recorder.call`."""
        if sampler is bernoulli:
            arguments = (Fraction(float(arguments[0])),)
        return super().call(sampler, *arguments)


def _trace(request: Mapping[str, Any]) -> list[Any]:
    replies = map(int, request["replies"])
    recorder = _Rounding(lambda _: next(replies, 0))
    output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), recorder)
    return [[one["request"] for one in recorder.requests], written(output)]


def _rounding(request: Mapping[str, Any]) -> list[Any]:
    """By way of doubles, and to nearest whatever is asked for."""
    terms = [read_value(one) for one in request.get("terms", ())]
    number = Fraction(read_value(request["value"]))
    double = sum(terms) if terms else number.numerator / number.denominator
    type_ = {"binary32": np.float32, "binary16": np.float16}.get(request["format"], np.float64)
    with np.errstate(all="ignore"):
        return [written(float(type_(double)))]


def _sum(request: Mapping[str, Any]) -> list[Any]:
    type_, _ = FORMATS[request["format"]]
    return [written(float(ORDERS[request["order"]]([type_(read_value(one)) for one in request["records"]])))]


def _calibration(request: Mapping[str, Any]) -> list[Any]:
    of = request["parameters"]
    formulas: Mapping[str, Callable[[], float]] = {
        "gaussian_sigma": lambda: math.sqrt(2 * math.log(1.25 / of["delta"])) * of["sensitivity"] / of["epsilon"],
        "laplace_scale": lambda: of["sensitivity"] / of["epsilon"],
        "laplace_epsilon": lambda: of["sensitivity"] / of["scale"],
        "budget_total": lambda: sum(of["parts"]),
    }
    if request["mechanism"] not in formulas:
        raise Skipped
    return [written(float(formulas[request["mechanism"]]()))]


ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], list[Any]]] = {
    "calibration": _calibration,
    "law": _sampled(LAWS),
    "pair": _sampled(PAIRS),
    "rounding": _rounding,
    "special": _sampled(SPECIAL),
    "sum": _sum,
    "tape": _tape,
    "trace": _trace,
}
