"""OpenDP: measurements of the Rust library behind its Python interface, scaled as its own privacy maps say.

Each scale is the least at which the map declares no more than the claim. Answers and utilities are declared free of
NaN, as the interface requires; sums and means impute NaN, clamp, and take the number of records as public: neighbours
differ in one record, at symmetric distance 2. The library draws from the operating system and cannot be seeded.

Mechanisms whose names end in `_zcdp` claim the ρ that the map declares. For `make_noisy_max` that is ε²/8, which is
true of the exponential mechanism. Version 0.15.1 drew by permute-and-flip, for which it is false (opendp issue 2911).
`laplace_integer_of_3` spends ε/3 on one answer, and so on; if ε is 1, the scale is an integer. Up to version 0.14.1
integer noise of such a scale was biased, because a dependency divided big rationals wrongly (opendp issue 2638).
Version 0.4 is included because other code computed its Laplace noise over floats.
"""

from __future__ import annotations

import math
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np

DISTRIBUTION = "opendp"
UNSEEDED = True
VERSIONS = {
    **dict.fromkeys(("laplace_integer", "gaussian", "gaussian_integer", "noisy_max", "sum", "mean"), ">=0.16"),
    **dict.fromkeys(("gaussian_zcdp", "gaussian_integer_zcdp"), ">=0.16"),
    **dict.fromkeys(("laplace_integer_of_3", "laplace_integer_of_9", "laplace_integer_of_20"), ">=0.14.1,!=0.15.1"),
    "noisy_max_zcdp": ">=0.15.1",
}


def _prelude() -> Any:
    from opendp import prelude

    prelude.enable_features("contrib")
    return prelude


def _member(type_: type, answer: float) -> Any:
    """Return the answer rounded down if `type_` is int, else as a double; raise ValueError if no double equals it."""
    if type_ is int:
        return math.floor(answer)
    if isinstance(answer, int) and int(float(answer)) != answer:
        raise ValueError(f"the answer {answer} cannot be represented as a double")
    return float(answer)


def _noise(type_: type, measurement: Any, **claim: Any) -> dict[str, Any]:
    """Return a mechanism that adds noise to a vector of equal answers; each noisy coordinate is one trial."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        return np.array(measurement([_member(type_, answer)] * trials))

    return {"kind": "noise", "release": release, **claim}


def _over(make: str, type_: type, metric: str, **options: Any) -> tuple[Any, Any]:
    """Return OpenDP's prelude, and a function from scale to measurement on vectors of integers or non-NaN floats."""
    dp = _prelude()
    domain = dp.vector_domain(dp.atom_domain(T=type_, **({"nan": False} if type_ is float else {})))
    space = domain, getattr(dp, metric)(T=float if metric == "l2_distance" else type_)
    return dp, lambda scale: getattr(dp.m, make)(*space, *options.values(), scale)


def _laplace(type_: type, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    if find_spec("opendp.meas") is None:
        dp, make = _over("make_laplace", type_, "l1_distance")
        return _noise(type_, make(dp.binary_search_param(make, d_in=type_(1), d_out=epsilon)), epsilon=epsilon)
    from opendp import meas, mod  # version 0.4: the least scale from 1/ε upwards whose map declares at most ε

    mod.enable_features("contrib", "floating-point")
    scale = 1 / epsilon
    while not (measurement := meas.make_base_laplace(scale, D="VectorDomain<AllDomain<f64>>")).check(1.0, epsilon):
        scale = math.nextafter(scale, math.inf)
    return _noise(type_, measurement, epsilon=epsilon)


def _laplace_of(answers: int, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    _, make = _over("make_laplace", int, "l1_distance")
    measurement = make(answers / epsilon)
    return _noise(int, measurement, epsilon=measurement.map(1))


def _gaussian(type_: type, /, *, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    dp, make = _over("make_gaussian", type_, "l2_distance")

    def approximate(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(make(scale)), delta=delta)

    scale = dp.binary_search_param(approximate, d_in=1.0, d_out=(epsilon, delta))
    return _noise(type_, make(scale), epsilon=epsilon, delta=delta)


def _gaussian_zcdp(type_: type, /, *, epsilon: float = 1.0) -> dict[str, Any]:
    dp, make = _over("make_gaussian", type_, "l2_distance")
    scale = dp.binary_search_param(make, d_in=1.0, d_out=epsilon**2 / 2)
    measurement = make(scale)
    return _noise(type_, measurement, claim={"kind": "zcdp", "rho": measurement.map(1.0)}, noise_scale=scale)


def _largest(measure: str, most: float) -> tuple[dict[str, Any], Any]:
    """Return a selection by `make_noisy_max`, and the privacy loss that its map declares for sensitivity 1."""
    dp = _prelude()

    def measurement(type_: type) -> Any:
        _, make = _over("make_noisy_max", type_, "linf_distance", measure=getattr(dp, measure)())
        return make(dp.binary_search_param(make, d_in=type_(1), d_out=most))

    over = {type_: measurement(type_) for type_ in (int, float)}

    def release(utilities: Any) -> Any:
        scores = np.asarray(utilities).tolist()
        return over[type(scores[0])](scores)

    return {"kind": "selection", "release": release}, max(select.map(type_(1)) for type_, select in over.items())


def _noisy_max(*, epsilon: float = 1.0) -> dict[str, Any]:
    return {**_largest("max_divergence", epsilon)[0], "epsilon": epsilon}


def _noisy_max_zcdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    selection, rho = _largest("zero_concentrated_divergence", epsilon**2 / 8)
    return {**selection, "claim": {"kind": "zcdp", "rho": rho}}


def _aggregate(kind: str, /, *, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    dp = _prelude()

    @cache
    def measurement(size: int) -> Any:
        aggregate = (
            (dp.vector_domain(dp.atom_domain(T=float, nan=True), size=size), dp.symmetric_distance())
            >> dp.t.then_impute_constant(bounds[0])
            >> dp.t.then_clamp(bounds)
            >> getattr(dp.t, f"then_{kind}")()
        )
        return dp.binary_search_chain(lambda scale: aggregate >> dp.m.then_laplace(scale=scale), d_in=2, d_out=epsilon)

    def release(records: Any) -> Any:
        return measurement(len(records))(np.asarray(records, dtype=float).tolist())

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "substitute"}


MECHANISMS: dict[str, Any] = {
    "laplace": partial(_laplace, float),
    "laplace_integer": partial(_laplace, int),
    **{f"laplace_integer_of_{answers}": partial(_laplace_of, answers) for answers in (3, 9, 20)},
    "gaussian": partial(_gaussian, float),
    "gaussian_integer": partial(_gaussian, int),
    "gaussian_zcdp": partial(_gaussian_zcdp, float),
    "gaussian_integer_zcdp": partial(_gaussian_zcdp, int),
    "noisy_max": _noisy_max,
    "noisy_max_zcdp": _noisy_max_zcdp,
    "sum": partial(_aggregate, "sum"),
    "mean": partial(_aggregate, "mean"),
}
