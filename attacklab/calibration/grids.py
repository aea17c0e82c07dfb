"""The arguments that formulas are asked for: adversarial, deterministic, the same for all formulas of a quantity.

Extremes (ε of 1e-300 and 700, δ down to 1e-300), both sides of ε = 1, where the classical σ stops being valid, ordinary
values, and their neighbouring doubles, at which a formula rounds in all directions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

EPSILONS = (
    1e-300,
    1e-10,
    0.01,
    0.1,
    0.5,
    math.nextafter(1.0, 0.0),
    1.0,
    math.nextafter(1.0, 2.0),
    2.0,
    10.0,
    100.0,
    700.0,
)
DELTAS = (1e-300, 1e-100, 1e-20, 1e-10, 1e-6, 1e-2)
SCALES = (1e-3, 0.1, 1 / 3, 1.0, 3.0, 10.0, 1e10)
DISCRETE_SCALES = (0.1, 0.5, 1.0, 2.0, 10 / 3, 10.0, 40.0)
RELEASES = (1, 2, 3, 7, 10, 100, 1000)
TOTALS = (1e-300, 0.1, 0.3, 1.0, 3.0, 10.0)
THIRDS = 1 / 3


def neighbourhood(number: float, steps: int = 1) -> tuple[float, ...]:
    """A double, and so many of its neighbours on either side."""
    below = above = number
    found = [number]
    for _ in range(steps):
        below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
        found += [below, above]
    return tuple(sorted(found))


def gaussian_sigma() -> tuple[dict[str, Any], ...]:
    """All ε with all δ, and neighbouring doubles of both at (1, 1e-6) and of Δ = 0.1."""
    rows = list(itertools.product(EPSILONS, DELTAS, (1.0,)))
    rows += itertools.product((1.0,), neighbourhood(1e-6, 2), (1.0, *neighbourhood(0.1)))
    return _named("epsilon delta sensitivity", rows)


def gaussian_delta() -> tuple[dict[str, Any], ...]:
    """All ε with noise from far too little to very much, and neighbouring doubles of σ = 1/3."""
    rows = list(itertools.product(EPSILONS, (0.05, 0.5, 1.0, 5.0, 1e10), (1.0,)))
    rows += itertools.product((0.5, 3.0), neighbourhood(1 / 3, 2), (1.0, 0.1))
    rows += [(1e-300, 1e300, 1.0)]
    return _named("epsilon sigma sensitivity", rows)


def gaussian_epsilon() -> tuple[dict[str, Any], ...]:
    """All δ with noise from little to very much."""
    rows = list(itertools.product(DELTAS, (0.05, 0.5, 1.0, *neighbourhood(5.0), 1e10), (1.0,)))
    return _named("delta sigma sensitivity", rows)


def gaussian_composed_epsilon() -> tuple[dict[str, Any], ...]:
    """Up to a million releases, among them the ones of which many are asked in training."""
    rows = itertools.product((1e-20, 1e-6, 1e-5), (0.8, 10.0, 300.0), (1.0,), (1, 2, 7, 1000, 1_000_000))
    return _named("delta sigma sensitivity releases", rows)


def gaussian_rho() -> tuple[dict[str, Any], ...]:
    """Scales and sensitivities whose squares and quotients round."""
    rows = itertools.product((1e-100, 0.1, *neighbourhood(1.0), 3.0, 7.0, 1e100), (1.0, 0.1, *neighbourhood(1 / 3)))
    return _named("sigma sensitivity", rows)


def laplace_epsilon() -> tuple[dict[str, Any], ...]:
    """Scales and sensitivities whose quotients round either way."""
    return _named("scale sensitivity", itertools.product((*SCALES, *neighbourhood(0.7)), (1.0, 0.1, 3.0, 10.0)))


def laplace_scale() -> tuple[dict[str, Any], ...]:
    """All ε with sensitivities whose quotients round either way."""
    return _named("epsilon sensitivity", itertools.product(EPSILONS, (1.0, 0.1, 3.0, 10.0)))


def zcdp_delta() -> tuple[dict[str, Any], ...]:
    """ρ as censuses and training use them; ε that give ordinary and tiny δ; neighbours where rounding decides."""
    rows: list[tuple[float, ...]] = [
        (rho, factor * math.sqrt(rho) + rho)
        for rho in (1e-10, 1e-3, 0.005, 0.1, 0.5, 1.0, 2.63, 10.0)
        for factor in (0.5, 3.0, 9.0, 14.0, 20.0, 40.0)
    ]
    rows += itertools.product(neighbourhood(0.005, 2), neighbourhood(1.0, 2))
    rows += [(1e-300, 1e-300), (0.5, 700.0), (1e-300, 1.0)]
    return _named("rho epsilon", rows)


def zcdp_epsilon() -> tuple[dict[str, Any], ...]:
    """ρ as censuses and training use them, with δ from ordinary to tiny."""
    return _named("rho delta", itertools.product((1e-3, 0.1, 1.0, 2.63), (1e-100, *neighbourhood(1e-20), 1e-6)))


def continuous_tail() -> tuple[dict[str, Any], ...]:
    """Tails of 0, of few and of many scales, and neighbouring doubles."""
    rows = [(scale, part * scale) for scale in SCALES for part in (0.0, 0.5, 1.0, 5.0, 20.0, 37.0, 300.0)]
    rows += itertools.product(neighbourhood(10 / 3), neighbourhood(40.0))
    return _named("scale tail", rows)


def discrete_laplace_tail() -> tuple[dict[str, Any], ...]:
    """Integer tails from 0 to where probabilities underflow."""
    rows: Iterable[tuple[float, int]] = itertools.product(
        (*DISCRETE_SCALES, *neighbourhood(0.7), 1e10), (0, 1, 2, 5, 28, 100, 1000)
    )
    return _named("scale tail", rows)


def discrete_gaussian_tail() -> tuple[dict[str, Any], ...]:
    """Integer tails from 0 to where probabilities underflow."""
    return _named("scale tail", itertools.product((*DISCRETE_SCALES, *neighbourhood(0.7)), (0, 1, 2, 5, 28, 100)))


def laplace_threshold_delta() -> tuple[dict[str, Any], ...]:
    """Thresholds at which the mass at the threshold is much and little of δ, for one key and for several."""
    return _named("scale threshold keys", itertools.product(DISCRETE_SCALES, (2, 3, 5, 29, 101, 1001), (1, 2, 10)))


def gaussian_threshold_delta() -> tuple[dict[str, Any], ...]:
    """Thresholds at which the mass at the threshold is much and little of δ, for one key and for several."""
    return _named("scale threshold keys", itertools.product(DISCRETE_SCALES, (2, 3, 5, 29, 101), (1, 10)))


def laplace_threshold() -> tuple[dict[str, Any], ...]:
    """Claims from ordinary to tiny δ, for one key and for several."""
    return _named("scale delta keys", itertools.product(DISCRETE_SCALES, DELTAS, (1, 10)))


def gaussian_threshold() -> tuple[dict[str, Any], ...]:
    """Claims from ordinary to tiny δ, for one key and for several."""
    return _named("scale delta keys", itertools.product((0.5, 1.0, 10 / 3), (1e-300, 1e-20, 1e-6, 1e-2), (1, 10)))


def budget_total() -> tuple[dict[str, Any], ...]:
    """Equal and unequal parts whose sum in floats lies below the exact one, and parts that it loses altogether."""
    parts = [(part,) * releases for part in (0.1, 0.7, 1e-300, THIRDS) for releases in RELEASES]
    parts += [
        (0.1, 0.2),
        (0.1, 0.2, 0.3),
        (1.0, *(1e-16,) * 10),
        (1e-16,) * 10 + (1.0,),
        (1e16, 1.0, 1.0),
        (5e-324, 1.0),
    ]
    parts += [tuple(1 / n for n in range(1, 100)), tuple(neighbourhood(0.1, 5))]
    return _named("parts", [(row,) for row in parts])


def budget_share() -> tuple[dict[str, Any], ...]:
    """Totals that m does not divide."""
    return _named("total releases", itertools.product(TOTALS, RELEASES))


def budget_remaining() -> tuple[dict[str, Any], ...]:
    """Parts that use a total up, nearly, or that are too small to be seen beside it."""
    rows: list[tuple[float, tuple[float, ...]]] = [
        (total, (total / releases,) * spent)
        for total in (0.3, 1.0, 3.0)
        for releases in (3, 7, 10, 49, 100)
        for spent in (1, releases - 1, releases)
    ]
    rows += [(1.0, (1e-17,) * count) for count in (1, 10, 1000)]
    return _named("total parts", rows)


def composed_delta() -> tuple[dict[str, Any], ...]:
    """δ down to the least double, and up to where m·δ is far from exact."""
    return _named(
        "delta releases", itertools.product((5e-324, 1e-300, 1e-20, 1e-10, 1e-6, *neighbourhood(0.1)), RELEASES)
    )


def composed_epsilon() -> tuple[dict[str, Any], ...]:
    """Few and many releases, at δ from 0 on."""
    return _named(
        "epsilon releases delta", itertools.product((1e-3, 0.1, 1.0, 10.0), (1, 2, 10, 100), (0.0, 1e-20, 1e-6, 1e-2))
    )


def _named(names: str, rows: Iterable[tuple[Any, ...]]) -> tuple[dict[str, Any], ...]:
    return tuple(dict(zip(names.split(), row, strict=True)) for row in dict.fromkeys(rows))
