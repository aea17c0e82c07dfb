"""The arguments at which formulas are checked: adversarial, deterministic, the same for all formulas of a quantity.

Extremes (ε of 1e-300 and 700, δ down to 1e-300), both sides of ε = 1, where the classical σ stops being valid, ordinary
values, and their neighbouring doubles, at which a formula rounds in all directions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from itertools import product
from typing import Any

DELTAS = (1e-300, 1e-100, 1e-20, 1e-10, 1e-6, 1e-2)
SCALES = (1e-3, 0.1, 1 / 3, 1.0, 3.0, 10.0, 1e10)
DISCRETE_SCALES = (0.1, 0.5, 1.0, 2.0, 10 / 3, 10.0, 40.0)
RELEASES = (1, 2, 3, 7, 10, 100, 1000)
THIRD = 1 / 3


def neighbourhood(number: float, steps: int = 1) -> tuple[float, ...]:
    """Return a double, with `steps` neighbouring doubles on either side."""
    numbers = [number]
    for _ in range(steps):
        numbers = [math.nextafter(numbers[0], -math.inf), *numbers, math.nextafter(numbers[-1], math.inf)]
    return tuple(numbers)


EPSILONS = (1e-300, 1e-10, 0.01, 0.1, 0.5, *neighbourhood(1.0), 2.0, 10.0, 100.0, 700.0)


def _named(names: str, *families: Iterable[tuple[Any, ...]]) -> tuple[dict[str, Any], ...]:
    rows = dict.fromkeys(itertools.chain(*families))
    return tuple(dict(zip(names.split(), row, strict=True)) for row in rows)


_UNEQUAL_PARTS = (
    (0.1, 0.2),
    (0.1, 0.2, 0.3),
    (1.0, *(1e-16,) * 10),
    (1e-16,) * 10 + (1.0,),
    (1e16, 1.0, 1.0),
    (5e-324, 1.0),
    tuple(1 / n for n in range(1, 100)),
    neighbourhood(0.1, 5),
)

GRIDS: dict[str, tuple[dict[str, Any], ...]] = {
    "gaussian_sigma": _named(
        "epsilon delta sensitivity",
        product(EPSILONS, DELTAS, (1.0,)),
        product((1.0,), neighbourhood(1e-6, 2), (1.0, *neighbourhood(0.1))),
    ),
    "gaussian_delta": _named(
        "epsilon sigma sensitivity",
        product(EPSILONS, (0.05, 0.5, 1.0, 5.0, 1e10), (1.0,)),
        product((0.5, 3.0), neighbourhood(THIRD, 2), (1.0, 0.1)),
        [(1e-300, 1e300, 1.0)],
    ),
    "gaussian_epsilon": _named(
        "delta sigma sensitivity", product(DELTAS, (0.05, 0.5, 1.0, *neighbourhood(5.0), 1e10), (1.0,))
    ),
    # Up to a million releases, among them the ones of which many are asked in training.
    "gaussian_composed_epsilon": _named(
        "delta sigma sensitivity releases",
        product((1e-20, 1e-6, 1e-5), (0.8, 10.0, 300.0), (1.0,), (1, 2, 7, 1000, 1_000_000)),
    ),
    "laplace_epsilon": _named("scale sensitivity", product((*SCALES, *neighbourhood(0.7)), (1.0, 0.1, 3.0, 10.0))),
    "laplace_scale": _named("epsilon sensitivity", product(EPSILONS, (1.0, 0.1, 3.0, 10.0))),
    # ρ as censuses and training use them; ε that give ordinary and tiny δ; neighbours where rounding decides.
    "zcdp_delta": _named(
        "rho epsilon",
        [
            (rho, factor * math.sqrt(rho) + rho)
            for rho in (1e-10, 1e-3, 0.005, 0.1, 0.5, 1.0, 2.63, 10.0)
            for factor in (0.5, 3.0, 9.0, 14.0, 20.0, 40.0)
        ],
        product(neighbourhood(0.005, 2), neighbourhood(1.0, 2)),
        [(1e-300, 1e-300), (0.5, 700.0), (1e-300, 1.0)],
    ),
    "zcdp_epsilon": _named("rho delta", product((1e-3, 0.1, 1.0, 2.63), (1e-100, *neighbourhood(1e-20), 1e-6))),
    "rdp_epsilon": _named(
        "alpha rdp delta",
        [
            (alpha, alpha * rho, delta)
            for alpha in (1.01, 1.5, 2.0, 8.0, 64.0, 1024.0)
            for rho in (1e-4, 0.02, 2.0)
            for delta in (1e-30, 1e-6, 1e-2)
        ],
    ),
    # Rates next to 0 and 1 and of 1 itself, few and many steps, a tiny δ.
    "sampled_gaussian_epsilon": _named(
        "sigma rate steps delta",
        [(1.0, 0.01, steps, 1e-5) for steps in (1, 2, 10, 1000)],
        [(4.0, 0.1, 100, 1e-5), (3.0, 0.999, 10, 1e-5), (5.0, 1.0, 100, 1e-5), (10.0, 0.5, 1000, 1e-12)],
        [(0.7, 0.5, 2, 1e-2), (2.0, 0.2, 10, 1e-30), (1.1, 1e-3, 500, 1e-8), (1.0, 1.0, 1, 1e-5), (0.5, 0.1, 1, 1e-5)],
    ),
    **dict.fromkeys(
        ("laplace_tail", "gaussian_tail"),
        _named(
            "scale tail",
            [(scale, part * scale) for scale in SCALES for part in (0.0, 0.5, 1.0, 5.0, 20.0, 37.0, 300.0)],
            product(neighbourhood(10 / 3), neighbourhood(40.0)),
        ),
    ),
    # Integer tails from 0 to where probabilities underflow.
    **dict.fromkeys(
        ("discrete_laplace_tail", "discrete_gaussian_tail"),
        _named("scale tail", product((*DISCRETE_SCALES, *neighbourhood(0.7)), (0, 1, 2, 5, 28, 100))),
    ),
    # Thresholds at which the mass at the threshold is much and little of δ, for one key and for several.
    **dict.fromkeys(
        ("laplace_threshold_delta", "gaussian_threshold_delta"),
        _named("scale threshold keys", product(DISCRETE_SCALES, (2, 3, 5, 29, 101), (1, 10))),
    ),
    "selection_delta": _named(
        "epsilon sigma threshold l0", product((0.1, 1.0), (3.0, 10.0), (2.5, 30.0, 100.0), (1, 5))
    ),
    **dict.fromkeys(
        ("threshold_laplace", "threshold_gaussian"),
        _named("epsilon delta l0", product((0.1, 1.0, 10.0), (1e-30, 1e-9, 1e-5), (1, 2, 5))),
    ),
    # Equal and unequal parts whose sum in floats lies below the exact one, and parts that it loses altogether.
    "budget_total": _named(
        "parts",
        [((part,) * releases,) for part in (0.1, 0.7, 1e-300, THIRD) for releases in RELEASES],
        [(parts,) for parts in _UNEQUAL_PARTS],
    ),
    "budget_share": _named("total releases", product((1e-300, 0.1, 0.3, 1.0, 3.0, 10.0), RELEASES)),
    # Parts that use a total up, nearly, or that are too small to be seen beside it.
    "budget_remaining": _named(
        "total parts",
        [
            (total, (total / releases,) * spent)
            for total in (0.3, 1.0, 3.0)
            for releases in (3, 7, 10, 49, 100)
            for spent in (1, releases - 1, releases)
        ],
        [(1.0, (1e-17,) * count) for count in (1, 10, 1000)],
    ),
    # δ down to the least double, and up to where m·δ is far from exact.
    "composed_delta": _named(
        "delta releases", product((5e-324, 1e-300, 1e-20, 1e-10, 1e-6, *neighbourhood(0.1)), RELEASES)
    ),
    "group_delta": _named(
        "epsilon delta size", product((1e-3, 0.1, 1.0, 5.0), (1e-30, 1e-9, 1e-5, 1e-2), (1, 2, 3, 10, 100))
    ),
    "composed_epsilon": _named(
        "epsilon releases delta", product((1e-3, 0.1, 1.0, 10.0), (1, 2, 10, 100), (0.0, 1e-20, 1e-6, 1e-2))
    ),
}
"""For each quantity, by its name, the sets of arguments at which its formulas are checked."""
