"""OpenDP: measurements of the Rust library behind its Python interface, scaled as its own privacy maps say.

Each scale is the least at which the map declares no more than the claim. Answers and utilities are declared free of
NaN, as the interface requires; sums and means impute NaN, clamp, and take the number of records as public: neighbours
differ in one record, at symmetric distance 2. The library draws from the operating system and cannot be seeded.

Mechanisms whose names end in `_zcdp` claim the ρ that the measurement's map declares. For `make_noisy_max` that is
ε²/8, which holds of the exponential mechanism, whose law version 0.16 draws from; version 0.15.1 declared the same and
drew by permute-and-flip, of which it does not hold (opendp issue 2911).

Mechanisms whose names end in `_of_3` and the like spend that part of ε on one answer, at a whole scale where ε is 1,
and claim what their map declares. At such scales versions up to 0.14.1 drew biased integer noise, because a dependency
divided big rationals wrongly (opendp issue 2638).

Version 0.4 is here for its Laplace noise over floats, which other code in the module `opendp.meas` computed.
"""

from __future__ import annotations

import math
from functools import cache
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
    """The answer as a member of the measurement's domain, which does not itself round integers to doubles."""
    if type_ is int:
        return math.floor(answer)
    if isinstance(answer, int) and int(float(answer)) != answer:
        raise ValueError(f"the answer {answer} is not a double")
    return float(answer)


def _per_coordinate(type_: type, measurement: Any) -> Any:
    """A release that adds noise to a vector of equal answers: every coordinate gets its own noise."""

    def release(answer: float, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        return np.array(measurement([_member(type_, answer)] * trials))

    return release


def _space(dp: Any, type_: type, metric: Any) -> tuple[Any, Any]:
    """Vectors of integers, or of floats that are not NaN, and how far apart two of them are."""
    return dp.vector_domain(dp.atom_domain(T=type_, **({"nan": False} if type_ is float else {}))), metric


def _noise(type_: type, measurement: Any, **claim: Any) -> dict[str, Any]:
    return {"kind": "noise", "release": _per_coordinate(type_, measurement), **claim}


def _base_laplace(epsilon: float) -> dict[str, Any]:
    """`make_base_laplace` of version 0.4, at the least scale from 1/ε upwards whose map declares at most ε."""
    from opendp import meas, mod

    mod.enable_features("contrib", "floating-point")
    scale = 1 / epsilon
    while not (measurement := meas.make_base_laplace(scale, D="VectorDomain<AllDomain<f64>>")).check(1.0, epsilon):
        scale = math.nextafter(scale, math.inf)
    return _noise(float, measurement, epsilon=epsilon)


def _laplace(type_: type, epsilon: float) -> dict[str, Any]:
    dp = _prelude()
    space = _space(dp, type_, dp.l1_distance(T=type_))
    scale = dp.binary_search_param(lambda scale: dp.m.make_laplace(*space, scale), d_in=type_(1), d_out=epsilon)
    return _noise(type_, dp.m.make_laplace(*space, scale), epsilon=epsilon)


def laplace(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_laplace` over floats; `make_base_laplace` in version 0.4."""
    if find_spec("opendp.meas") is not None:
        return _base_laplace(epsilon)
    return _laplace(float, epsilon)


def laplace_integer(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_laplace` over integers; it cuts off a fraction of the answer."""
    return _laplace(int, epsilon)


def _laplace_at(scale: float) -> dict[str, Any]:
    dp = _prelude()
    measurement = dp.m.make_laplace(*_space(dp, int, dp.l1_distance(T=int)), scale)
    return _noise(int, measurement, epsilon=measurement.map(1))


def laplace_integer_of_3(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_laplace` over integers at scale 3/ε, as for one of 3 answers."""
    return _laplace_at(3 / epsilon)


def laplace_integer_of_9(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_laplace` over integers at scale 9/ε, as for one of 9 answers."""
    return _laplace_at(9 / epsilon)


def laplace_integer_of_20(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_laplace` over integers at scale 20/ε, as for one of 20 answers."""
    return _laplace_at(20 / epsilon)


def _gaussian(type_: type, epsilon: float, delta: float) -> dict[str, Any]:
    dp = _prelude()
    space = _space(dp, type_, dp.l2_distance(T=float))

    def approximate(scale: float) -> Any:
        return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale)), delta=delta)

    scale = dp.binary_search_param(approximate, d_in=1.0, d_out=(epsilon, delta))
    return _noise(type_, dp.m.make_gaussian(*space, scale), epsilon=epsilon, delta=delta)


def gaussian(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`make_gaussian` over floats."""
    return _gaussian(float, epsilon, delta)


def gaussian_integer(*, epsilon: float = 1.0, delta: float = 1e-5) -> dict[str, Any]:
    """`make_gaussian` over integers; it cuts off a fraction of the answer."""
    return _gaussian(int, epsilon, delta)


def _gaussian_zcdp(type_: type, epsilon: float) -> dict[str, Any]:
    dp = _prelude()
    space = _space(dp, type_, dp.l2_distance(T=float))
    scale = dp.binary_search_param(lambda scale: dp.m.make_gaussian(*space, scale), d_in=1.0, d_out=epsilon**2 / 2)
    measurement = dp.m.make_gaussian(*space, scale)
    return _noise(type_, measurement, claim={"kind": "zcdp", "rho": measurement.map(1.0)}, noise_scale=scale)


def gaussian_zcdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_gaussian` over floats, claiming ρ-zCDP for a ρ of at most ε²/2."""
    return _gaussian_zcdp(float, epsilon)


def gaussian_integer_zcdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_gaussian` over integers, claiming ρ-zCDP for a ρ of at most ε²/2; it cuts off a fraction of the answer."""
    return _gaussian_zcdp(int, epsilon)


def _noisy_max(measure: str, most: float) -> tuple[Any, Any]:
    """A release of `make_noisy_max`, and what its map declares of utilities that move by 1."""
    dp = _prelude()

    def measurement(type_: type) -> Any:
        space = *_space(dp, type_, dp.linf_distance(T=type_)), getattr(dp, measure)()
        scale = dp.binary_search_param(lambda scale: dp.m.make_noisy_max(*space, scale), d_in=type_(1), d_out=most)
        return dp.m.make_noisy_max(*space, scale)

    over = {type_: measurement(type_) for type_ in (int, float)}

    def release(utilities: Any, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        scores = np.asarray(utilities).tolist()
        select = over[type(scores[0])]
        return np.array([select(scores) for _ in range(trials)])

    return release, max(select.map(type_(1)) for type_, select in over.items())


def noisy_max(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_noisy_max`, with the exponential noise of permute-and-flip, over integers or floats like the utilities."""
    release, _ = _noisy_max("max_divergence", epsilon)
    return {"kind": "selection", "release": release, "epsilon": epsilon}


def noisy_max_zcdp(*, epsilon: float = 1.0) -> dict[str, Any]:
    """`make_noisy_max`, claiming ρ-zCDP for a ρ of at most ε²/8, over integers or floats like the utilities."""
    release, rho = _noisy_max("zero_concentrated_divergence", epsilon**2 / 8)
    return {"kind": "selection", "release": release, "claim": {"kind": "zcdp", "rho": rho}}


def _aggregate(kind: str, epsilon: float, bounds: tuple[float, float]) -> dict[str, Any]:
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

    def release(records: Any, trials: int, rng: np.random.Generator) -> Any:  # noqa: ARG001 - cannot be seeded
        values = np.asarray(records, dtype=float).tolist()
        answer = measurement(len(values))
        return np.array([answer(values) for _ in range(trials)])

    return {"kind": kind, "release": release, "epsilon": epsilon, "bounds": bounds, "relation": "substitute"}


def sum(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:  # noqa: A001
    """`then_sum` of floats with Laplace noise, for the sensitivity that its map declares."""
    return _aggregate("sum", epsilon, bounds)


def mean(*, epsilon: float = 1.0, bounds: tuple[float, float] = (0.0, 1.0)) -> dict[str, Any]:
    """`then_mean` of floats with Laplace noise, for the sensitivity that its map declares."""
    return _aggregate("mean", epsilon, bounds)


_LAWS = {"make_laplace": "Laplace", "make_geometric": "Laplace", "make_gaussian": "Gaussian"}


def _invoked(measurement: Any, arg: Any) -> dict[str, Any] | None:
    """The noise of a measurement, and what it is added to: after the transformation, where one is chained before."""
    made = getattr(measurement, "__opendp_dict__", {})
    given = made.get("__kwargs__", {})
    if made.get("__function__") == "make_chain_mt":
        return _invoked(given["measurement1"], given["transformation0"](arg))
    law = _LAWS.get(made.get("__function__", ""))
    if law is None:
        return None
    carrier = str(measurement.input_domain.carrier_type)
    if not any(name in carrier for name in ("f32", "f64")):
        law = f"discrete {law}"
    return {"law": law, "value": arg, "scale": given["scale"], "shape": (len(arg),) if isinstance(arg, list) else None}


SAMPLERS = {"opendp.core:measurement_invoke": _invoked}
