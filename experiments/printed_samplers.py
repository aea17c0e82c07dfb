"""Samplers in proportion to weights, as printed and as published, against their corrected forms, by exact laws.

The printed forms are those of Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy',
section 3.3, Algorithms 2 to 4; proposition 3.6 is measured beside them. The published form has the comparisons and the
precision of the implementation that came with the paper. `mechanisms.exponential.base2.weighted_sampling` holds the
corrected forms and says what was corrected.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binom

from attacklab.laws import enumerate_law, smallest_delta
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, lines, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from experiments.common.printed_forms import printed_bisection, printed_rejection, published_sampler
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import worst_case_precision
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, sample_by_bisection, sample_by_rejection

QUESTION = "What do the samplers of the base-2 exponential mechanism draw as printed, as published and as corrected?"

ETA = BaseTwoEta(1, 1)
"""2^−η = ½, so that a weight halves with each unit of cost and the mechanism's base-2 loss is 2."""
EPSILON = float(ETA.epsilon()[1])
EQUAL = (1, 1, 1)
PRINTED_BITS = 6
FULL_WEIGHTS = 63
GREATEST_COST = 9
NEIGHBOURS = ((4, 4, 4, 2, 1), (2, 2, 2, 2, 1))
"""Weights on neighbouring databases, in units of the least weight of their range; both are drawn by 4 bits."""
ROUNDS = tuple(range(1, 11))
MOST_DRAWS = 200
"""The probability that no draw is in range up to this many is below 2^−160."""
ROUNDED_OTHERS = (1, 4, 16, 64, 256)
ETAS = (1.0, 0.5, 0.25)
FRACTIONS = tuple(i / 16 for i in range(16))
FAR = 40
"""How much higher the cost of the outcome with the largest change is: its weight is negligible in the sum."""


def collect(_settings: Settings) -> Collected:
    """Find all laws; they are the same in every run."""
    forms = {
        "algorithm_2_printed": enumerate_law(partial(printed_rejection, EQUAL, PRINTED_BITS)),
        "algorithm_2": enumerate_law(sample_by_rejection, IntegerWeights(EQUAL)),
        "algorithm_3_printed": enumerate_law(partial(printed_bisection, EQUAL)),
        "algorithm_3": enumerate_law(sample_by_bisection, IntegerWeights(EQUAL)),
    }
    measured = {
        "equal_weights": {name: [str(law.mass(i)) for i in range(len(EQUAL))] for name, law in forms.items()},
        "published": _published(),
        "output": advantage_with_rounds(MOST_DRAWS),
        "rounds": [advantage_with_rounds(k) for k in ROUNDS],
        "rounds_printed": [advantage_with_rounds(k, stops_early=True) for k in ROUNDS],
        "rounded": {str(eta): [rounding_change(eta, others) for others in ROUNDED_OTHERS] for eta in ETAS},
    }
    return Collected((), measured)


def _published() -> dict[str, Any]:
    """Return the light outcome's probability at every cost, published and corrected, and the δ on two neighbours."""
    # The search tries costs below the greatest one, and so misses the finest bit by one.
    precision = worst_case_precision(ETA, GREATEST_COST - 1, FULL_WEIGHTS + 1)
    costs = list(range(1, GREATEST_COST + 1))
    published = [enumerate_law(partial(published_sampler, (0,) * FULL_WEIGHTS + (cost,), precision)) for cost in costs]
    corrected = [
        enumerate_law(sample_by_bisection, IntegerWeights((1 << cost,) * FULL_WEIGHTS + (1,))) for cost in costs
    ]
    return {
        "precision": precision,
        "costs": costs,
        "light": [str(law.mass(FULL_WEIGHTS)) for law in published],
        "light_corrected": [str(law.mass(FULL_WEIGHTS)) for law in corrected],
        "first": [str(law.mass(0)) for law in published],
        "first_corrected": [str(law.mass(0)) for law in corrected],
        "breach": as_floats(smallest_delta(published[-2], published[-1], EPSILON)),
        "breach_corrected": as_floats(smallest_delta(corrected[-2], corrected[-1], EPSILON)),
    }


def advantage_with_rounds(least: int, *, stops_early: bool = False) -> float:
    """Return the advantage on `NEIGHBOURS` of an adversary who sees Algorithm 4's outcome and its number of draws.

    It draws at least `least` times, and until a draw is in range. As printed (`stops_early`), its loop stops at the
    first draw in range, and it has no outcome if none of `least` draws is in range.
    """
    laws: list[dict[Any, float]] = []
    for weights in NEIGHBOURS:
        rejected = 1 - sum(weights) / 16
        law: dict[Any, float] = {None: rejected**least} if stops_early else {}
        for first in range(1, least + 1 if stops_early else MOST_DRAWS + least):
            for outcome, weight in enumerate(weights):
                seen = (outcome, first if stops_early else max(first, least))
                law[seen] = law.get(seen, 0.0) + rejected ** (first - 1) * weight / 16
        laws.append(law)
    p, q = laws
    return sum(abs(p.get(seen, 0.0) - q.get(seen, 0.0)) for seen in {*p, *q}) / 2


def rounding_change(eta: float, others: int) -> float:
    """Return the largest quotient of an outcome's probabilities with costs rounded at random and not rounded.

    Weights are 2^(−η·cost). The outcome's cost is far above the others', which have one cost; the fractions of both lie
    on a grid. Of the others the number that is rounded up is binomial.
    """
    step, up = 2.0**-eta, np.arange(others + 1)
    changes = [0.0]
    for theirs in FRACTIONS:
        shares = binom.pmf(up, others, theirs)
        for own in FRACTIONS:
            rounded = sum(
                chance * float(np.sum(shares * weight / (weight + others - up + up * step)))
                for chance, weight in ((1 - own, step**FAR), (own, step ** (FAR + 1)))
            )
            changes.append(abs(math.log(rounded * (1 + others * step ** (theirs - own - FAR)))))
    return math.exp(max(changes))


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the laws of three equal weights, the light outcome's probability, and what draws tell and rounding costs."""
    measured = data["measured"]
    drawn = [_equal_weights_panel(measured["equal_weights"]), _published_panel(measured["published"])]
    return [
        figure("printed_samplers", "Exact laws of the printed, published and corrected forms.", drawn),
        figure(
            "printed_samplers_rounds",
            "What the number of draws tells, and what rounding costs at random does to probabilities.",
            [_rounds_panel(measured), _rounding_panel(measured["rounded"])],
        ),
    ]


def _equal_weights_panel(laws: dict[str, list[str]]) -> Panel:
    def series(name: str, label: str, role: Role) -> Series:
        return marks(label, role, range(len(EQUAL)), [float(Fraction(mass)) for mass in laws[name]])

    drawn = [
        series("algorithm_2_printed", "Algorithms 2 and 4 as printed", Role.NAIVE),
        series("algorithm_3_printed", "Algorithm 3 as printed", Role.NAIVE),
        series("algorithm_2", "corrected, all three", Role.EXACT),
        line("ideal mechanism", Role.IDEAL, [0, len(EQUAL) - 1], [1 / len(EQUAL)] * 2),
    ]
    return panel("Weights 1, 1, 1", "outcome", "probability", drawn, x_names=["first", "second", "third"])


def _published_panel(published: dict[str, Any]) -> Panel:
    rows = (("as published", Role.NAIVE, "light"), ("corrected, as ideal", Role.EXACT, "light_corrected"))
    shown = [(label, role, [float(Fraction(mass)) for mass in published[name]]) for label, role, name in rows]
    title = f"{FULL_WEIGHTS} outcomes of weight 1, one of weight 2^−u"
    drawn = lines(published["costs"], shown)
    return panel(title, "cost u of the light outcome", "probability of the light outcome", drawn, y_scale="symlog")


def _rounds_panel(measured: dict[str, Any]) -> Panel:
    rows = [
        ("Algorithm 4, loop as printed", Role.NAIVE, measured["rounds_printed"]),
        ("Algorithm 4 (k = 1: Algorithm 2)", Role.EXACT, measured["rounds"]),
        ("the outcome alone", Role.IDEAL, [measured["output"]] * len(ROUNDS)),
        ("ceiling of the claim, ε = 2·ln 2", Role.CEILING, [PrivacyClaim(EPSILON).ceiling] * len(ROUNDS)),
    ]
    title = "What the number of draws adds to the outcome"
    return panel(title, "least number of draws k", "distinguishing advantage", lines(ROUNDS, rows))


def _rounding_panel(rounded: dict[str, list[float]]) -> Panel:
    roles = (Role.NAIVE, Role.OTHER, Role.EXACT)
    rows = [
        (f"η = {float(eta):g}", role, [100 * (change - 1) for change in changes])
        for (eta, changes), role in zip(rounded.items(), roles, strict=True)
    ]
    title, y_label = "Costs rounded to integers at random", "largest change of a probability, percent"
    return panel(title, "number of other outcomes", y_label, lines(ROUNDED_OTHERS, rows), x_scale="log", y_scale="log")


def explain(data: dict[str, Any]) -> str:
    """Say what is drawn wrongly, and what the draws tell."""
    measured = data["measured"]
    return PARAGRAPHS["printed_samplers"].format(
        measured=measured,
        printed_2=", ".join(str(Fraction(mass) * 64) for mass in measured["equal_weights"]["algorithm_2_printed"]),
        printed_3=", ".join(measured["equal_weights"]["algorithm_3_printed"]),
        full=FULL_WEIGHTS,
        published=measured["published"],
        delta=middle(measured["published"]["breach"]),
        rounds=ROUNDS[-1],
        changes={name: 100 * (max(changes) - 1) for name, changes in measured["rounded"].items()},
    )
