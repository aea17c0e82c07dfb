"""Dwork and Roth 2014, theorem 3.11 and corollary 3.12, held against exact laws.

The theorem: with OPT the largest utility and R_OPT the outcomes that have it, the exponential mechanism selects an
outcome of utility at most OPT − (2Δu/ε)(ln(|R|/|R_OPT|) + t) with probability at most e^−t. The corollary leaves
R_OPT out. Example 3.6 applies it to two outcomes whose counts lie c apart.

A depth is how far an outcome's utility lies below the best one in units of 2Δu/ε, so that its weight is e^−depth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from attacklab.laws import Bounds, Limits, enumerate_law, exp_bounds
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments.common.adult import marital_counts
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.core.term import Mechanism
from mechanisms.exponential.exact import exact_exponential
from mechanisms.noisy_max.exact import exact_exponential_noisy_max

QUESTION = "How tight are the textbook's bounds on the error of the exponential mechanism, and where?"

MARGINS = tuple(Fraction(i, 2) for i in range(25))
"""The t of the theorem."""
COUNTS = tuple(range(13))
"""The c of the example, at ε = 1 and Δu = 1."""
EPSILON = 1
SELECTION = exact_exponential(epsilon=EPSILON)
NOISY = exact_exponential_noisy_max(epsilon=EPSILON, monotone=True)
PEOPLE_A_POINT = 1000
BEST = 10
"""So many outcomes share the largest utility where several do."""
OUTCOMES = 1000


Weights: TypeAlias = Sequence[tuple[Bounds, int, bool]]
"""Bounds on a weight, how many outcomes have it, and whether these are as bad as the bound speaks of."""


def at_the_edge(outcomes: int, best: int, divisor: int) -> Callable[[Fraction], Weights]:
    """One kind of bad outcome, exactly (2Δu/ε)(ln(outcomes/divisor) + t) below the best; by t."""

    def weights(margin: Fraction) -> Weights:
        bad = Bounds(*(bound * divisor / outcomes for bound in exp_bounds(-margin)))
        return [(exp_bounds(0), best, False), (bad, outcomes - best, True)]

    return weights


def at_depths(depths: Sequence[Fraction]) -> Callable[[Fraction], Weights]:
    """Outcomes at given depths, of which the theorem counts the deep ones as bad; by t."""
    ratio = Fraction(len(depths), depths.count(Fraction(0)))
    return lambda margin: [(exp_bounds(-depth), 1, exp_bounds(depth - margin).lower >= ratio) for depth in depths]


def adult() -> list[Fraction]:
    """How far the marital statuses lie below the most common one; a point for a thousand people."""
    counts = marital_counts().values()
    return [Fraction(EPSILON * (max(counts) - count), 2 * PEOPLE_A_POINT) for count in counts]


CASES: dict[str, tuple[str, Role, Callable[[Fraction], Weights]]] = {
    "cliff": (f"one best of {OUTCOMES}, the others at the edge", Role.EXACT, at_the_edge(OUTCOMES, 1, 1)),
    "pair": ("two outcomes, one at the edge", Role.EXACT, at_the_edge(2, 1, 1)),
    "steps": (
        f"{OUTCOMES} utilities 0, −1, −2, …",
        Role.EXACT,
        at_depths([Fraction(EPSILON * step, 2) for step in range(OUTCOMES)]),
    ),
    "adult": ("marital statuses of the Adult table", Role.EXACT, at_depths(adult())),
    "theorem": (f"{BEST} best of {OUTCOMES}, theorem 3.11", Role.OTHER, at_the_edge(OUTCOMES, BEST, BEST)),
    "corollary": (f"{BEST} best of {OUTCOMES}, corollary 3.12", Role.NAIVE, at_the_edge(OUTCOMES, BEST, 1)),
}


def collect(settings: Settings) -> Collected:
    """Find what the bounds speak of, by exact laws."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(60, 40)))
    margins, counts = MARGINS[:: settings.budget(1, 8)], COUNTS[:: settings.budget(1, 5)]
    measured = {
        "margins": [float(margin) for margin in margins],
        "probability": {name: [as_floats(tail(make(t))) for t in margins] for name, (_, _, make) in CASES.items()},
        "counts": counts,
        "example": [as_floats(worse(SELECTION, count, limits)) for count in counts],
        "noisy": [as_floats(worse(NOISY, count, limits)) for count in counts],
    }
    return Collected((), measured)


def tail(weights: Weights) -> Bounds:
    """The probability that a bad outcome is selected in proportion to the weights."""
    bad, good = (
        [sum(bounds[end] * outcomes for bounds, outcomes, is_bad in weights if is_bad is side) for end in (0, 1)]
        for side in (True, False)
    )
    return Bounds(bad[0] / (bad[0] + good[1]), bad[1] / (bad[1] + good[0]))


def worse(mechanism: Mechanism, count: int, limits: Limits) -> Bounds:
    """The probability that the count 0 is taken for larger than the other one."""
    return enumerate_law(mechanism.release, (count, 0), limits=limits)[1]


def figures(data: dict[str, Any]) -> list[Figure]:
    """The probability of a bad outcome beside the bound, as a share of it, and the example."""
    measured = data["measured"]
    margins, counts = measured["margins"], measured["counts"]
    probabilities = {name: [middle(bounds) for bounds in all_] for name, all_ in measured["probability"].items()}
    shown = {name: [(t, p) for t, p in zip(margins, probabilities[name], strict=True) if p > 0] for name in CASES}

    def series(y: Callable[[float, float], float]) -> list[Series]:
        return [
            line(label, role, [t for t, _ in shown[name]], [y(t, p) for t, p in shown[name]])
            for name, (label, role, _) in CASES.items()
        ]

    bound = line("bound, e^−t", Role.CEILING, margins, [math.exp(-t) for t in margins])
    panels = [
        panel("Theorem 3.11", "t", "probability of so bad an outcome", [*series(lambda _, p: p), bound], y_scale="log"),
        panel(
            "How tight it is",
            "t",
            "share of the bound that is reached",
            [*series(lambda t, p: p * math.exp(t)), line("bound", Role.CEILING, margins, [1.0] * len(margins))],
        ),
        panel(
            f"Example 3.6: two counts, ε = {EPSILON:g}",
            "difference of the counts, c",
            "probability of the wrong answer",
            [
                line("exponential mechanism", Role.EXACT, counts, [middle(bounds) for bounds in measured["example"]]),
                line(
                    "one-sided exponential noise, monotone",
                    Role.OTHER,
                    counts,
                    [middle(bounds) for bounds in measured["noisy"]],
                ),
                line("corollary 3.12, 2·exp(−cε/2)", Role.CEILING, counts, [corollary(count) for count in counts]),
            ],
            y_scale="log",
        ),
    ]
    caption = "Bounds on the error of the exponential mechanism, beside exact laws."
    return [figure("accuracy_of_selection", caption, panels)]


def corollary(count: int) -> float:
    """What corollary 3.12 allows the exponential mechanism to err with, for two counts."""
    return 2 * math.exp(-count * EPSILON / 2)


def explain(data: dict[str, Any]) -> str:
    """Where the bounds are reached, and where not."""
    measured = data["measured"]
    last = measured["margins"][-1]
    share = {
        name: [middle(bounds) * math.exp(t) for t, bounds in zip(measured["margins"], curve, strict=True)]
        for name, curve in measured["probability"].items()
    }
    at = len(measured["counts"]) // 2
    return PARAGRAPHS["accuracy_of_selection"].format(
        outcomes=OUTCOMES,
        cliff=share["cliff"][-1],
        margin=last,
        cliff_limit=1 - 1 / OUTCOMES,
        steps=max(share["steps"]),
        adult=max(share["adult"]),
        best=BEST,
        corollary=1 / share["corollary"][-1],
        theorem=1 / share["theorem"][-1],
        count=measured["counts"][at],
        epsilon=EPSILON,
        example_bound=corollary(measured["counts"][at]),
        example=middle(measured["example"][at]),
        vacuous=max(count for count in COUNTS if corollary(count) > 1),
        noisy=middle(measured["noisy"][at]),
    )
