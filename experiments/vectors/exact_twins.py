"""This project's exact implementations, asked as `attacklab vectors check` asks a program."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from attacklab.calibration import Unsafe, quantity
from attacklab.laws.enclosures import float_above, float_below
from attacklab.model.errors import UsageError
from attacklab.model.floats import BFLOAT16, BINARY16, BINARY32, BINARY64
from attacklab.model.random_bits import SeededBits, TapedBits
from attacklab.vectors import read_value, written
from attacklab.vectors.program import Skipped
from experiments.vectors.recorded_bits import Recorder
from experiments.vectors.roundings import MODES, rounded
from experiments.vectors.samplers import RUNS, Run
from experiments.vectors.specials import MECHANISMS
from mechanisms.core.grid import Grid
from mechanisms.laplace.exact import exact_discrete_laplace
from mechanisms.partition_selection.exact import exact_partition_selection
from mechanisms.published import discrete_laplace

FORMATS = {form.name: form for form in (BINARY64, BINARY32, BFLOAT16, BINARY16)}
SPECIAL: Mapping[str, Run] = {
    mechanism.name: lambda _, input_, bits, mechanism=mechanism: mechanism.run(input_, bits)  # type: ignore[misc]
    for mechanism in MECHANISMS
}
OF_PAIRS: Mapping[str, Run] = {
    "exponential": lambda of, input_, bits: RUNS["exponential"]({"rate": of["epsilon"] / 2}, input_, bits),
    "randomized_response": RUNS["randomized_response"],
    "discrete_laplace_on_integers": lambda of, input_, bits: _on_integers(of["epsilon"], input_, bits),
    "bounded_sum": lambda of, input_, bits: _noisy_sum(of["bounds"], input_, bits),
    "partition_selection": lambda of, count, bits: _is_named(count, of["epsilon"], of["delta"], bits),
}
"""What has a claim. The mean is left out: its ideal noise is continuous."""


def answer(request: Mapping[str, Any], *_forms: Sequence[str]) -> dict[str, Any]:
    """The answer to a request.

    Raises:
        Skipped: there is no such mechanism here.
    """
    parameters = {name: read(value) for name, value in request.get("parameters", {}).items()}
    return ANSWERS[request["type"]]({**request, "parameters": parameters})


def read(value: Any) -> Any:
    """A parameter: a value, or a word."""
    with contextlib.suppress(UsageError):  # words stay what they are
        return read_value(value)
    return value


def _known(runs: Mapping[str, Run], request: Mapping[str, Any]) -> Run:
    if request["mechanism"] not in runs:
        raise Skipped
    return runs[request["mechanism"]]


def _sampled(runs: Mapping[str, Run]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    def outputs(request: Mapping[str, Any]) -> dict[str, Any]:
        run, bits = _known(runs, request), SeededBits(request["seed"])
        input_ = read_value(request["input"])
        return {"outputs": [written(run(request["parameters"], input_, bits)) for _ in range(request["trials"])]}

    return outputs


def taped(request: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """The answer about a tape, of a run that draws from it."""
    bits = TapedBits(int(request["bits"], 2), length := len(request["bits"]))
    output = run(request["parameters"], read_value(request["input"]), bits)
    return {"output": written(output), "bits_used": written(length - bits.left)}


def traced(request: Mapping[str, Any], run: Run) -> dict[str, Any]:
    """The answer about a trace, of a run that gets its replies."""
    replies = map(int, request["replies"])
    recorder = Recorder(lambda _: next(replies))
    output = run(request["parameters"], read_value(request["input"]), recorder)
    return {"requests": [asked["request"] for asked in recorder.requests], "output": written(output)}


def _rounding(request: Mapping[str, Any]) -> dict[str, Any]:
    number = sum((Fraction(read_value(term)) for term in request["terms"]), Fraction(0)) if "terms" in request else None
    number = Fraction(read_value(request["value"])) if number is None else number
    return {"value": written(rounded(number, FORMATS[request["format"]], MODES[request["mode"]]))}


def _sum(request: Mapping[str, Any]) -> dict[str, Any]:
    return {"value": written(sum((Fraction(read_value(record)) for record in request["records"]), Fraction(0)))}


def _calibration(request: Mapping[str, Any]) -> dict[str, Any]:
    about = quantity(request["mechanism"])
    arguments = {name: tuple(item) if isinstance(item, list) else item for name, item in request["parameters"].items()}
    bound = about.enclose(**arguments)
    return {
        "value": written(float_above(bound.upper) if about.unsafe is Unsafe.TOO_SMALL else float_below(bound.lower))
    }


ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "calibration": _calibration,
    "law": _sampled(RUNS),
    "pair": _sampled(OF_PAIRS),
    "rounding": _rounding,
    "special": _sampled(SPECIAL),
    "sum": _sum,
    "tape": lambda request: taped(request, _known(RUNS, request)),
    "trace": lambda request: traced(request, _known(RUNS, request)),
}


def _on_integers(epsilon: Fraction, answer: int, bits: Any) -> int:
    return int(exact_discrete_laplace(epsilon=epsilon, grid=Grid(0)).release(answer, bits))


def _noisy_sum(bounds: list[float], records: list[float], bits: Any) -> Fraction:
    """An exact sum with discrete Laplace noise on the grid of 1, of ε = 1."""
    low, high = map(Fraction, bounds)
    noise: int = bits.call(discrete_laplace, high - low)
    return sum(map(Fraction, records), Fraction(noise))


def _is_named(count: int, epsilon: Fraction, delta: Fraction, bits: Any) -> bool:
    return bool(exact_partition_selection(epsilon=epsilon, delta=delta).release(["key"] * count, bits))
