"""OpenDP's measurements besides those that add noise: what chains and compositors call, choices, and coins.

A measurement that is made of others is invoked as these are, each under watch. A compositor keeps the data that it was
given, and each query to it is a measurement of them. What is not read here is left to the adapter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from attacklab.libraries import opendp_adapter
from attacklab.replay.laws import CATEGORICAL, EXPONENTIAL, GUMBEL
from attacklab.replay.traced import plain_parts

CASTS = (
    *("make_approximate", "make_fix_delta", "make_fixed_approxDP_to_approxDP"),
    *("make_pureDP_to_zCDP", "make_zCDP_to_approxDP"),
)
"""What gives a measurement another measure of privacy, and leaves its outputs as they are."""

TOGETHER = ("make_basic_composition", "make_composition")
COMPOSITORS = ("make_adaptive_composition", "make_privacy_filter", "make_sequential_composition")


def _core() -> Any:
    return sys.modules["opendp.core"]


def _made(measurement: Any) -> tuple[str, Mapping[str, Any]]:
    """By which function a part of OpenDP was made, and of what."""
    made = getattr(measurement, "__opendp_dict__", {})
    return made.get("__function__", ""), made.get("__kwargs__", {})


def _unchained(measurement: Any, data: Any) -> tuple[Any, Any]:
    """The measurement at the end of a chain, and what it is invoked with."""
    name, parts = _made(measurement)
    if name == "make_chain_mt":
        return _unchained(parts["measurement1"], parts["transformation0"](data))
    return _unchained(parts["measurement"], data) if name in CASTS else (measurement, data)


def _invoked(measurement: Any, data: Any) -> Mapping[str, Any] | Callable[[], Any] | None:
    measurement, data = _unchained(measurement, data)
    name, parts = _made(measurement)
    if name in COMPOSITORS:
        queryable = _core().measurement_invoke(measurement, data)
        return lambda: queryable
    if name in TOGETHER:
        return lambda: [one(data) for one in parts["measurements"]]
    if name == "make_chain_pm":
        return lambda: parts["postprocess1"](plain_parts(parts["measurement0"](data)))
    if name == "make_user_measurement":
        return lambda: parts["function"](data)
    if name == "make_noise":
        is_pure = str(parts["output_measure"]) == "MaxDivergence"
        made = {"__function__": "make_laplace" if is_pure else "make_gaussian", "__kwargs__": parts}
        measurement = _Made(measurement.input_domain, made)
    if name == "make_noisy_max":
        is_pure = str(parts["output_measure"]) == "MaxDivergence"
        return _largest(data, EXPONENTIAL if is_pure else GUMBEL, parts["scale"], parts.get("negate", False))
    if name == "make_report_noisy_max_gumbel":
        return _largest(data, GUMBEL, parts["scale"], parts.get("optimize", "max") == "min")
    if name == "make_randomized_response_bool":
        return _answered(data, [False, True], parts["prob"])
    if name == "make_randomized_response":
        return _answered(data, list(parts["categories"]), parts["prob"])
    known = opendp_adapter._invoked(measurement, data)
    return {**known, "then": lambda noisy: noisy.tolist()} if known and isinstance(data, list) else known


class _Made:
    """A measurement as the adapter reads it."""

    def __init__(self, input_domain: Any, made: Mapping[str, Any]) -> None:
        self.input_domain, self.__opendp_dict__ = input_domain, made


def _largest(scores: Sequence[float], law: str, scale: float, is_least: bool) -> dict[str, Any]:
    """The place of the largest noisy score: by exponential noise that is permute and flip (Ding and others 2021)."""
    values = np.asarray(scores, dtype=float) * (-1 if is_least else 1)
    known = {"law": law, "value": values, "scale": scale, "shape": values.shape}
    return {**known, "then": lambda noisy: int(noisy.argmax())}


def _answered(truth: Any, answers: Sequence[Any], prob: float) -> dict[str, Any]:
    """Randomized response: the truth, or any of the other answers; any answer where the truth is none of them."""
    count = len(answers)
    lie = (1 - prob) / (count - 1) if truth in answers else 1 / count
    weights = tuple(prob if one == truth else lie for one in answers)
    return {
        "law": CATEGORICAL,
        "real": lambda rng: rng.choice(count, p=weights),
        "then": lambda place: answers[int(place)],
        "weights": weights,
        "asked": (truth, prob),
    }


def _queried(queryable: Any, query: Any) -> Callable[[], Any] | None:
    """A query to a compositor, which answers it or refuses, and then to the data that it keeps."""
    name, parts = _made(queryable)
    if name != "measurement_invoke" or not hasattr(query, "input_domain"):
        return None
    accountant, data = _unchained(parts["this"], parts["arg"])
    if _made(accountant)[0] not in COMPOSITORS:
        return None
    _core().queryable_eval(queryable.value, query)
    return lambda: query(data)


READERS: Mapping[str, Callable[..., Any]] = {
    "opendp.core:measurement_invoke": _invoked,
    "opendp.mod:Queryable.__call__": _queried,
}
"""By its place, what reads a call of OpenDP, as the adapters' `SAMPLERS` do."""
