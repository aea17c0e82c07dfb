"""Mitigations that a paper considers for the exponential mechanism in floating point, each as a naive twin that leaks.

- *Watch the inexact flag* and fail if an addition was not exact: the failure is an output, of some databases only.
- *Clamp the utilities* to a range whose weights all count in a sum of doubles: no outcome is lost any more, but a
  probability is a multiple of 2^−53, and the ε that is needed exceeds the claim.
- *Only vetted utilities*, put together by sums and multiples whose sensitivity is known: adding −2980 takes weights
  to where they underflow, and adding 2^54 rounds utilities that differ by 1 to doubles that differ by 4.
- *Retry with twice the precision* until nothing is inexact: the number of retries is work that depends on the data.

The repair is the same for all: integers, whose number of bits a public range gives (`exact_exponential`).

Source: Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy', sections 2 and 3.2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import gmpy2
import numpy as np
from gmpy2 import mpfr
from numpy.typing import NDArray

from attacklab.laws import Law, advantage, one_uniform, smallest_epsilon, step_law
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.exponential.exact import exact_exponential
from mechanisms.exponential.naive import naive_exponential, naive_exponential_stabilised

Utilities: TypeAlias = tuple[float, ...]

BASE_2 = 2 * math.log(2)
"""The ε of weights 2^u."""
FIRST_PRECISION = 8
EPSILON = 1.0
STEP = 0.25
LOWEST = -72.0
"""The lowest utility whose weight is above 2^−53 at ε = 1, where the best utility is 0."""


def watched(utilities: Utilities, uniforms: NDArray[np.float64]) -> list[int | None]:
    """Return an index for each uniform, selected in proportion to 2^u; None if an addition of weights was inexact."""
    total, ends = 0.0, []
    for weight in (2.0**utility for utility in utilities):
        exact = Fraction(total) + Fraction(weight)
        total += weight
        if Fraction(total) != exact:
            return [None] * len(uniforms)
        ends.append(total)
    return [int(index) for index in np.searchsorted(ends, uniforms * total, side="right")]


def retries(utilities: Utilities) -> int:
    """Return how often the precision is doubled until the running sum of weights 2^u is exact, in MPFR."""
    for tried in itertools.count():
        with gmpy2.context(precision=FIRST_PRECISION << tried) as arithmetic:
            total = mpfr(0)
            for utility in utilities:
                total = arithmetic.add(total, arithmetic.exp2(mpfr(utility)))
            if not arithmetic.inexact:
                return tried
    raise AssertionError


def _watched_law(utilities: Utilities) -> Law:
    return step_law(partial(watched, utilities))


def _retried_law(utilities: Utilities) -> Law:
    """Return the law of pairs (outcome, number of retries); the law of the outcome alone is right."""
    weights, tried = [Fraction(2) ** int(utility) for utility in utilities], retries(utilities)
    return Law({(index, tried): weight / sum(weights) for index, weight in enumerate(weights)})


def _law_after_adding(offset: float, mechanism: Callable[..., Any], epsilon: float, utilities: Utilities) -> Law:
    """Return the law of a mechanism after a constant is added to all utilities, which keeps their sensitivity."""
    return step_law(one_uniform(mechanism, [utility + offset for utility in utilities], epsilon=epsilon))


CASES: Mapping[str, tuple[str, float, tuple[Utilities, Utilities], Callable[[Utilities], Law]]] = {
    "flag": ("inexact flag\nwatched", BASE_2, ((0, -52), (0, -53)), _watched_law),
    "retry": ("precision\nretried", BASE_2, ((0, -7), (0, -8)), _retried_law),
    "underflow": (
        "vetted:\nu − 2980",
        EPSILON / 2,
        ((0, -1), (-1, 0)),
        partial(_law_after_adding, -2980.0, naive_exponential, EPSILON / 2),
    ),
    "coarse": (
        "vetted:\nu + 2^54",
        EPSILON,
        ((2, 3), (3, 2)),
        partial(_law_after_adding, 2.0**54, naive_exponential_stabilised, EPSILON),
    ),
}
"""For each mitigation: its label, the claimed ε, the utilities of two neighbours, and the naive mechanism's law."""


def measured_mitigations(settings: Settings) -> dict[str, Any]:
    """Return what exact laws show of each naive twin on its pair, and of the clamped twin on many pairs."""
    measured: dict[str, Any] = {"cases": {name: _case(*case[1:]) for name, case in CASES.items()}}
    lows = np.arange(-2.0, LOWEST, -STEP * settings.budget(1, 16))
    needed = [_clamped_epsilon(float(low)) for low in lows]
    return measured | {"lows": lows.tolist(), "needed": np.maximum.accumulate(needed).tolist()}


def _case(epsilon: float, pair: tuple[Utilities, Utilities], law: Callable[[Utilities], Law]) -> dict[str, Any]:
    """Return the naive mechanism's advantage, the ε it needs (None if no ε suffices), and the exact one's advantage."""
    laws = [law(utilities) for utilities in pair]
    exact = [exact_exponential(epsilon=epsilon).law(utilities) for utilities in pair]
    needed = smallest_epsilon(*laws)[0]
    return {
        "epsilon": epsilon,
        "advantage": float(advantage(*laws).lower),
        "needed": needed if math.isfinite(needed) else None,
        "exact": sum(max(0.0, float(p.upper - q.lower)) for p, q in zip(*exact, strict=True)),
    }


def _clamped_epsilon(low: float) -> float:
    """Return the ε that the stabilised naive mechanism, which claims ε = 1, needs on a pair of utilities in [low, 0].

    The heavy outcome and the light one both move by 1; all utilities stay within the range.
    """
    pair = ((-1.0, low + 1), (0.0, low))
    laws = [step_law(one_uniform(naive_exponential_stabilised, utilities, epsilon=EPSILON)) for utilities in pair]
    return smallest_epsilon(*laws)[0]


def figure_of_mitigations(measured: dict[str, Any]) -> Figure:
    """Draw the advantages over each twin, and the ε that is needed after clamping."""
    caption = "Mitigations of the exponential mechanism in doubles: what each naive twin still tells, by exact laws."
    return figure(
        "truncated_addition_mitigations", caption, [_advantage_panel(measured["cases"]), _clamp_panel(measured)]
    )


def _advantage_panel(cases: dict[str, Any]) -> Panel:
    places, rows = range(len(cases)), cases.values()
    series = [
        marks("naive", Role.NAIVE, places, [row["advantage"] for row in rows]),
        marks("exact, on the same pair", Role.EXACT, places, [row["exact"] for row in rows]),
        marks("ceiling of the claim", Role.OTHER, places, [PrivacyClaim(row["epsilon"]).ceiling for row in rows]),
    ]
    names = [CASES[name][0] for name in cases]
    return panel("A pair for each mitigation", "", "distinguishing advantage", series, x_names=names)


def _clamp_panel(measured: dict[str, Any]) -> Panel:
    above = [(-low, needed - EPSILON) for low, needed in _above_the_claim(measured)]
    series = [line("naive, clamped", Role.NAIVE, [width for width, _ in above], [excess for _, excess in above])]
    return panel(
        "Utilities clamped to [−w, 0]: all weights count",
        "width w of the range",
        "needed ε above the claim of 1, largest up to w",
        series,
        y_scale="log",
    )


def _above_the_claim(measured: dict[str, Any]) -> list[tuple[float, float]]:
    """Return (lower end, needed ε) for each range that needs more than the claimed ε."""
    return [pair for pair in zip(measured["lows"], measured["needed"], strict=True) if pair[1] > EPSILON]


def explain_mitigations(measured: dict[str, Any]) -> str:
    """Say what each twin gives away."""
    above = _above_the_claim(measured)
    return PARAGRAPHS["mitigations"].format(
        cases=measured["cases"],
        base_2=PrivacyClaim(BASE_2).ceiling,
        first=FIRST_PRECISION,
        from_width=-above[0][0],
        excess=above[0][1] - EPSILON,
        width=-above[-1][0],
        needed=above[-1][1],
        ceiling=PrivacyClaim(EPSILON).ceiling,
    )
