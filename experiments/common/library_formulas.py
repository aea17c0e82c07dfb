"""The formulas of real DP libraries, as a program that speaks the protocol of `attacklab calibrate --exec`.

Run by its path in an environment that holds the library, `python library_formulas.py LIBRARY`: it imports nothing of
the lab, only what the library brings. Whatever a library raises is a refusal.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

Formula = Callable[..., Any]


def diffprivlib() -> dict[str, Formula]:
    """diffprivlib: the analytic Gaussian mechanism and the budget accountant."""
    mechanisms = importlib.import_module("diffprivlib.mechanisms")
    accountant = importlib.import_module("diffprivlib.accountant").BudgetAccountant

    def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> Any:
        return mechanisms.GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=sensitivity)._scale

    def budget_total(parts: list[float]) -> Any:
        return accountant().total([(part, 0) for part in parts])[0]

    def budget_share(total: float, releases: int) -> Any:
        return accountant(epsilon=total, delta=0).remaining(releases)[0]

    def budget_remaining(total: float, parts: list[float]) -> Any:
        spending = accountant(epsilon=total, delta=0)
        for part in parts:
            spending.spend(part, 0)
        return spending.remaining()[0]

    def composed_delta(delta: float, releases: int) -> Any:
        return accountant().total([(0.1, delta)] * releases)[1]

    def composed_epsilon(epsilon: float, releases: int, delta: float) -> Any:
        return accountant(delta=0.5).total([(epsilon, 0)] * releases, slack=delta)[0]

    return {
        "gaussian_sigma": gaussian_sigma,
        "budget_total": budget_total,
        "budget_share": budget_share,
        "budget_remaining": budget_remaining,
        "composed_delta": composed_delta,
        "composed_epsilon": composed_epsilon,
    }


def opendp() -> dict[str, Formula]:
    """OpenDP: privacy maps of measurements, compositions and conversions."""
    dp = importlib.import_module("opendp.prelude")
    dp.enable_features("contrib", "honest-but-curious")
    numbers = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    integers = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    counts = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))

    def claiming(measure: Any, budget: float) -> Any:
        """A measurement that claims a budget whatever it is asked."""
        return dp.m.make_user_measurement(*integers, measure, lambda value: value, lambda _: budget, TO=int)

    def profile(rho: float) -> Any:
        return dp.c.make_zCDP_to_approxDP(claiming(dp.zero_concentrated_divergence(), rho)).map(1)

    def gaussian_delta(epsilon: float, sigma: float, sensitivity: float) -> Any:
        return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*numbers, sigma)).map(sensitivity).delta(epsilon)

    def gaussian_epsilon(delta: float, sigma: float, sensitivity: float) -> Any:
        return dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*numbers, sigma)).map(sensitivity).epsilon(delta)

    def gaussian_composed_epsilon(delta: float, sigma: float, sensitivity: float, releases: int) -> Any:
        if releases > 1000:
            raise ValueError("so many measurements take too long")
        together = dp.c.make_composition([dp.m.make_gaussian(*numbers, sigma)] * releases)
        return dp.c.make_zCDP_to_approxDP(together).map(sensitivity).epsilon(delta)

    def laplace_threshold_delta(scale: float, threshold: int, keys: int) -> Any:
        metric = dp.l01inf_distance(dp.absolute_distance(T=int))
        return dp.m.make_laplace_threshold(counts, metric, scale, threshold).map((keys, keys, 1))[1]

    def gaussian_threshold_delta(scale: float, threshold: int, keys: int) -> Any:
        metric = dp.l02inf_distance(dp.absolute_distance(T=int))
        return dp.m.make_gaussian_threshold(counts, metric, scale, threshold).map((keys, keys, 1))[1]

    return {
        "laplace_epsilon": lambda scale, sensitivity: dp.m.make_laplace(*numbers, scale).map(sensitivity),
        "gaussian_rho": lambda sigma, sensitivity: dp.m.make_gaussian(*numbers, sigma).map(sensitivity),
        "gaussian_delta": gaussian_delta,
        "gaussian_epsilon": gaussian_epsilon,
        "gaussian_composed_epsilon": gaussian_composed_epsilon,
        "zcdp_delta": lambda rho, epsilon: profile(rho).delta(epsilon),
        "zcdp_epsilon": lambda rho, delta: profile(rho).epsilon(delta),
        "laplace_threshold_delta": laplace_threshold_delta,
        "gaussian_threshold_delta": gaussian_threshold_delta,
        "budget_total": lambda parts: dp.c.make_composition(
            [claiming(dp.max_divergence(), part) for part in parts]
        ).map(1),
    }


def tumult() -> dict[str, Formula]:
    """Tumult Core: privacy functions in exact numbers, and budgets that are spent."""
    exact = importlib.import_module("tmlt.core.utils.exact_number").ExactNumber
    noise = importlib.import_module("tmlt.core.measurements.noise_mechanisms")
    domains = importlib.import_module("tmlt.core.domains.numpy_domains")
    measures = importlib.import_module("tmlt.core.measures")

    def down(number: float) -> Any:
        return exact.from_float(number, round_up=False)

    def laplace_epsilon(scale: float, sensitivity: float) -> Any:
        measurement = noise.AddLaplaceNoise(input_domain=domains.NumpyFloatDomain(), scale=down(scale))
        return measurement.privacy_function(down(sensitivity)).to_float(round_up=True)

    def gaussian_rho(sigma: float, sensitivity: float) -> Any:
        measurement = noise.AddGaussianNoise(input_domain=domains.NumpyFloatDomain(), sigma_squared=down(sigma) ** 2)
        return measurement.privacy_function(down(sensitivity)).to_float(round_up=True)

    def budget_remaining(total: float, parts: list[float]) -> Any:
        budget = measures.PureDPBudget(down(total))
        for part in parts:
            budget = budget.subtract(down(part))
        return budget.epsilon.to_float(round_up=False)

    return {"laplace_epsilon": laplace_epsilon, "gaussian_rho": gaussian_rho, "budget_remaining": budget_remaining}


def dp_accounting() -> dict[str, Formula]:
    """Google's dp-accounting, which several libraries account with: its Rényi accountant."""
    library = importlib.import_module("dp_accounting")
    accountants = importlib.import_module("dp_accounting.rdp")

    def accountant(sigma: float, sensitivity: float, releases: int) -> Any:
        return accountants.RdpAccountant().compose(library.GaussianDpEvent(sigma / sensitivity), releases)

    return {
        "gaussian_epsilon": lambda delta, sigma, sensitivity: accountant(sigma, sensitivity, 1).get_epsilon(delta),
        "gaussian_composed_epsilon": lambda delta, sigma, sensitivity, releases: accountant(
            sigma, sensitivity, releases
        ).get_epsilon(delta),
        "gaussian_delta": lambda epsilon, sigma, sensitivity: accountant(sigma, sensitivity, 1).get_delta(epsilon),
    }


FORMULAS: Mapping[str, Callable[[], dict[str, Formula]]] = {
    "diffprivlib": diffprivlib,
    "opendp": opendp,
    "tumult": tumult,
    "dp_accounting": dp_accounting,
}

ASKED: Mapping[str, tuple[str, ...]] = {
    "diffprivlib": (
        "gaussian_sigma",
        "budget_total",
        "budget_share",
        "budget_remaining",
        "composed_delta",
        "composed_epsilon",
    ),
    "opendp": (
        "laplace_epsilon",
        "gaussian_rho",
        "gaussian_delta",
        "gaussian_epsilon",
        "gaussian_composed_epsilon",
        "zcdp_delta",
        "zcdp_epsilon",
        "laplace_threshold_delta",
        "gaussian_threshold_delta",
        "budget_total",
    ),
    "tumult": ("laplace_epsilon", "gaussian_rho", "budget_remaining"),
    "dp_accounting": ("gaussian_epsilon", "gaussian_composed_epsilon", "gaussian_delta"),
}
"""What each is asked for; the lab reads it without importing a library."""


def main() -> None:
    """Answer requests until the input ends; what a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    formulas = FORMULAS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        arguments = {name: _decoded(value) for name, value in request["arguments"].items()}
        try:
            answer = {"value": float(formulas[request["quantity"]](**arguments)).hex()}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {str(error)[:200]}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [float.fromhex(number) for number in value]
    return float.fromhex(value) if isinstance(value, str) else value


if __name__ == "__main__":
    main()
