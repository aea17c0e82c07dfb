"""How an implementation with a flaw answers requests about vectors: by samples, by an exact law, or as a naive twin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from attacklab.laws import one_uniform, step_law
from attacklab.vectors import read_value, written
from experiments.vectors import naive_twins

Request: TypeAlias = Mapping[str, Any]
Answer: TypeAlias = dict[str, Any]
Answers: TypeAlias = Mapping[tuple[str, str], Callable[[Request], Answer]]
"""What is answered, by the type of the vectors and the mechanism."""

Release: TypeAlias = Callable[[Mapping[str, Any], Any, int, np.random.Generator], Any]
"""Outputs by parameters, input, number of trials and generator."""


def by_samples(release: Release) -> Callable[[Request], Answer]:
    """Outputs of a generator that is seeded as the request says."""

    def outputs(request: Request) -> Answer:
        rng = np.random.default_rng(request["seed"])
        found = release(request["parameters"], read_value(request["input"]), request["trials"], rng)
        return {"outputs": written(list(found))}

    return outputs


def by_law(release: Release) -> Callable[[Request], Answer]:
    """The law of a release that compares one uniform number with thresholds, or the probability of the event."""

    def law(request: Request) -> Answer:
        parameters, input_ = request["parameters"], read_value(request["input"])
        found = step_law(
            one_uniform(lambda data, trials, rng: release(parameters, data, trials, rng), input_)
        ).masses.items()
        listed = [[outcome, mass] for outcome, mass in found]
        if request["type"] == "law":
            return {"law": written(listed)}
        wanted = [read_value(one) for one in request["event"]["outcomes"]]
        return {"probability": written(sum((mass for outcome, mass in listed if outcome in wanted), Fraction(0)))}

    return law


def clamped(low: float, high: float, input_: Any) -> Any:
    """NaN is the lower end, what lies beyond an end is that end, and there is one zero."""
    found = np.clip(np.nan_to_num(np.asarray(input_, dtype=float), nan=low), low, high) + 0.0
    return found if isinstance(input_, list) else float(found)


def epsilon(of: Mapping[str, Any]) -> float:
    """The ε of a selection, which laws state as a rate of ε/2."""
    return float(of["epsilon"] if "epsilon" in of else 2 * of["rate"])


def naive_twin(type_: str, *mechanisms: str) -> Answers:
    """What `naive_twins` answers."""

    def asked(request: Request) -> Answer:
        raw = {**request, "parameters": {name: _raw(one) for name, one in request["parameters"].items()}}
        return naive_twins.answer(raw)

    return {(type_, name): asked for name in mechanisms}


def _raw(value: Any) -> Any:
    return value if isinstance(value, str) else written(value)


NO_VECTORS: Answers = {}
"""What has no mechanism that vectors ask for."""
