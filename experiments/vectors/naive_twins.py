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
from attacklab.floats import BFLOAT16, BINARY64
from attacklab.random_bits import REJECTED, SeededBits, TapedBits, TapeEnded
from attacklab.vectors import read_value, written
from attacklab.vectors.program import Failed, Skipped
from experiments.vectors import exact_twins, naive_laws
from experiments.vectors.distributions import discrete_laplace_tail
from experiments.vectors.pairs import usual_threshold
from experiments.vectors.samplers import RUNS
from experiments.vectors.sums import FORMATS, ORDERS, forward
from experiments.vectors.traces import Recorder
from mechanisms.coins import bernoulli, uniform_below

Draw = Callable[[Mapping[str, Any], Any, np.random.Generator], Any]
LEAST_INTEGER, GREATEST_INTEGER = -(1 << 31), (1 << 31) - 1


def answer(request: Mapping[str, Any], *_forms: Sequence[str]) -> dict[str, Any]:
    """The answer to a request.

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


def _sampled(draws: Mapping[str, Draw]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def outputs(request: Mapping[str, Any]) -> dict[str, Any]:
        if request["mechanism"] not in draws:
            raise Skipped
        draw, rng = draws[request["mechanism"]], np.random.default_rng(request["seed"])
        input_ = read_value(request["input"])
        return {"outputs": [written(draw(request["parameters"], input_, rng)) for _ in range(request["trials"])]}

    return outputs


def by_logarithm(scale: float, rng: np.random.Generator) -> int:
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


def _first_kept(rate: Fraction, utilities: Sequence[int], rng: np.random.Generator) -> int:
    """Flips in the order of the outcomes, which nobody permuted."""
    best = max(utilities)
    while True:
        for place, one in enumerate(utilities):
            if rng.random() < math.exp(float(rate) * (one - best)):
                return place


class _Remainders(SeededBits):
    """Takes an integer below n as the remainder of one of ⌈log₂ n⌉ bits."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `RandomBits.call`."""
        if sampler is uniform_below:
            (bound,) = arguments
            return self.take(max(1, (bound - 1).bit_length())) % bound
        return super().call(sampler, *arguments)


LAWS: Mapping[str, Draw] = {
    "uniform_below": lambda of, _, rng: _Remainders(rng).call(uniform_below, of["bound"]),
    "randomized_response": lambda of, one, rng: bool(rng.random() < float(of["epsilon"])) == one,
    "two_sided_geometric": lambda of, _, rng: by_logarithm(-1 / math.log(of["ratio"]), rng),
    "discrete_laplace": lambda of, _, rng: _int32(RUNS["discrete_laplace"](of, None, _Remainders(rng))),
    "exponential": lambda of, one, rng: _unstabilised(of["rate"], one, rng),
    "permute_and_flip": lambda of, one, rng: _first_kept(of["rate"], one, rng),
}


def _law(request: Mapping[str, Any]) -> dict[str, Any]:
    """Samples; but a coin whose probability was rounded to a double is told from a fair one by its exact law only."""
    if request["mechanism"] != "bernoulli":
        return _sampled(LAWS)(request)
    heads = Fraction(float(request["parameters"]["probability"]))
    return {"law": written([[True, heads], [False, 1 - heads]])}


def _noisy_sum(of: Mapping[str, Any], records: Sequence[float], rng: np.random.Generator) -> float:
    low, high = of["bounds"]
    return float(forward([np.float64(one) for one in records]) + rng.laplace(0.0, high - low))


PROBABILITIES: Mapping[str, Callable[[Mapping[str, Any], Any, Mapping[str, Any]], Any]] = {
    "exponential": lambda of, utilities, event: sum(
        naive_laws.selection(utilities, of["epsilon"] / 2, BFLOAT16)[place] for place in event["outcomes"]
    ),
    "randomized_response": lambda of, truth, _: _heads(naive_laws.response(of["epsilon"], BINARY64), truth),
    "discrete_laplace_on_integers": lambda of, one, event: naive_laws.tail_of_noise(
        event["at_least"] - one, 1 / Fraction(of["epsilon"])
    ),
    "mean_with_local_sensitivity": lambda of, records, event: naive_laws.laplace_tail(
        of["epsilon"] * len(records) * event["at_least"]
    ),
    "partition_selection": lambda of, count, _: _named(count, of["epsilon"], of["delta"]),
}
"""The probability of an event, which is far too small for samples, or whose excess is."""


def _heads(keep: Fraction, truth: bool) -> Fraction:
    return keep if truth else 1 - keep


def _named(count: int, epsilon: Fraction, delta: Fraction) -> Any:
    return discrete_laplace_tail(usual_threshold(epsilon, delta) - count, 1 / epsilon) if count else 0


def _pair(request: Mapping[str, Any]) -> dict[str, Any]:
    if request["mechanism"] not in PROBABILITIES:
        return _sampled({"bounded_sum": _noisy_sum})(request)
    event = {name: read_value(value) for name, value in request["event"].items()}
    found = PROBABILITIES[request["mechanism"]](request["parameters"], read_value(request["input"]), event)
    return {"probability": written(found)}


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
    noisy = int(np.array(answer_, dtype=np.int64)) + by_logarithm(-1 / math.log(of["decay"]), rng)
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
    """Makes one attempt of a rejection loop."""

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """One round; see `RandomBits.repeat`."""
        outcome = sampler(*arguments, self)
        if outcome is REJECTED:
            raise ArithmeticError("the first attempt was rejected")
        return outcome


def _tape(request: Mapping[str, Any]) -> dict[str, Any]:
    """The bits are read from the last to the first."""
    length = len(request["bits"])
    bits = _GivingUp(int(request["bits"][::-1], 2), length)
    output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), bits)
    return {"output": written(output), "bits_used": written(length - bits.left)}


class _Rounding(Recorder):
    """Asks for coins whose probabilities were rounded to doubles."""

    def call(self, sampler: Callable[..., Any], *arguments: Any) -> Any:
        """Run a sampler; see `Recorder.call`."""
        if sampler is bernoulli:
            arguments = (Fraction(float(arguments[0])),)
        return super().call(sampler, *arguments)


def _trace(request: Mapping[str, Any]) -> dict[str, Any]:
    replies = map(int, request["replies"])
    recorder = _Rounding(lambda _: next(replies))
    output = RUNS[request["mechanism"]](request["parameters"], read_value(request["input"]), recorder)
    return {"requests": [one["request"] for one in recorder.requests], "output": written(output)}


def _rounding(request: Mapping[str, Any]) -> dict[str, Any]:
    """By way of doubles, and to nearest whatever is asked for."""
    terms = [read_value(one) for one in request.get("terms", ())]
    number = Fraction(read_value(request["value"]))
    double = sum(terms) if terms else number.numerator / number.denominator
    types: Mapping[str, type[np.floating[Any]]] = {"binary32": np.float32, "binary16": np.float16}
    type_ = types.get(request["format"], np.float64)
    with np.errstate(all="ignore"):
        return {"value": written(float(type_(double)))}


def _sum(request: Mapping[str, Any]) -> dict[str, Any]:
    type_, _ = FORMATS[request["format"]]
    return {"value": written(float(ORDERS[request["order"]]([type_(read_value(one)) for one in request["records"]])))}


def _calibration(request: Mapping[str, Any]) -> dict[str, Any]:
    of = request["parameters"]
    formulas: Mapping[str, Callable[[], float]] = {
        "gaussian_sigma": lambda: math.sqrt(2 * math.log(1.25 / of["delta"])) * of["sensitivity"] / of["epsilon"],
        "laplace_scale": lambda: of["sensitivity"] / of["epsilon"],
        "laplace_epsilon": lambda: of["sensitivity"] / of["scale"],
        "budget_total": lambda: sum(of["parts"]),
    }
    if request["mechanism"] not in formulas:
        raise Skipped
    return {"value": written(float(formulas[request["mechanism"]]()))}


ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "calibration": _calibration,
    "law": _law,
    "pair": _pair,
    "rounding": _rounding,
    "special": _sampled(SPECIAL),
    "sum": _sum,
    "tape": _tape,
    "trace": _trace,
}
