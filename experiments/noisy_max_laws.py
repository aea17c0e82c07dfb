"""Dwork and Roth 2014, Theorem 3.13, against exact laws (see mechanisms.noisy_max.exact).

The theorem says that report noisy max with one-sided exponential noise has the law of the exponential mechanism. In
fact it has the law of permute-and-flip (Ding et al. 2021); Gumbel noise gives the exponential mechanism. What textbooks
say of selections in general is in `experiments.common.selection_laws`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from gmpy2 import mpq

from attacklab.laws import Bounds, Limits, enumerate_law, exp_bounds
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role
from experiments.common import selection_laws
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.core.term import Mechanism
from mechanisms.exponential.exact import exact_exponential
from mechanisms.noisy_max.exact import exact_exponential_noisy_max, exact_laplace_noisy_max

QUESTION = "Which noise makes report noisy max the exponential mechanism: Gumbel, exponential or Laplace?"

EPSILON = 2
"""With ε = 2 and Δu = 1, the unit 2Δu/ε is 1, so the gap t of two utilities is their difference."""
GREATEST_GAP = 6
MECHANISMS: dict[str, Mechanism] = {
    "gumbel": exact_exponential(epsilon=EPSILON),
    "exponential": exact_exponential_noisy_max(epsilon=EPSILON),
    "laplace": exact_laplace_noisy_max(epsilon=EPSILON),
}
LABELS = {
    "gumbel": "Gumbel noise",
    "exponential": "one-sided exponential noise",
    "laplace": "Laplace noise, discrete in steps of Δu",
}
FORMULAS = {
    "gumbel": "1/(1 + e^t), the exponential mechanism",
    "exponential": "½·e^−t, permute-and-flip",
    "laplace": "discrete Laplace noise, by its series",
    "continuous": "¼·(2 + t)·e^−t, continuous Laplace noise",
}


def collect(settings: Settings) -> Collected:
    """Find the probability of the worse outcome at every gap, and the formulas' values there."""
    step = Fraction(1, settings.budget(4, 1))
    precisions = {"gumbel": settings.budget(60, 24), "exponential": settings.budget(60, 24)}
    precisions["laplace"] = settings.budget(20, 8)  # the runs of two noises by inversion take seconds a gap
    limits = {name: Limits(unresolved=Fraction(1, 1 << bits)) for name, bits in precisions.items()}
    gaps = [step * i for i in range(int(GREATEST_GAP / step) + 1)]
    laws = {name: [worse(mechanism, gap, limits[name]) for gap in gaps] for name, mechanism in MECHANISMS.items()}
    ideal = {name: [formula(name, gap) for gap in gaps] for name in FORMULAS}
    measured = {
        "gaps": [float(gap) for gap in gaps],
        "worse": {name: list(map(as_floats, values)) for name, values in laws.items()},
        "formula": {name: list(map(as_floats, values)) for name, values in ideal.items()},
        "distance": {name: distances(laws[name], ideal[name]) for name in MECHANISMS},
        "theorem_3_13": distances(laws["exponential"], ideal["gumbel"]),
        "continuous": distances(laws["laplace"], ideal["continuous"]),
        "in_general": selection_laws.measured_selections(settings),
    }
    return Collected((), measured)


def distances(laws: Sequence[Bounds], ideal: Sequence[Bounds]) -> list[Any]:
    """Return how far two lists of probabilities lie apart, each distance as the floats of its bounds."""
    return [as_floats(distance(p, q)) for p, q in zip(laws, ideal, strict=True)]


def worse(mechanism: Mechanism, gap: Fraction, limits: Limits) -> Bounds:
    """Enclose the probability that the worse of two outcomes is selected, if its utility is `gap` below the other's."""
    return enumerate_law(mechanism.release, (float(gap), 0.0), limits=limits)[1]


def formula(name: str, gap: Fraction) -> Bounds:
    """Enclose the closed form `name` of the probability in `worse`, by an enclosure of e^−t or of e^−1."""
    least, most = exp_bounds(-mpq(gap))
    match name:
        case "gumbel":
            return Bounds(least / (1 + least), most / (1 + most))
        case "exponential":
            return Bounds(least / 2, most / 2)
        case "continuous":
            return Bounds((2 + mpq(gap)) / 4 * least, (2 + mpq(gap)) / 4 * most)
        case _:
            lower, upper = (discrete_laplace_worse(q, gap) for q in exp_bounds(-1))
            return Bounds(lower, upper)


def discrete_laplace_worse(q: Any, gap: Fraction) -> Any:
    """Return the probability in `worse` for noise of law (1 − q)/(1 + q)·q^|n|, ties broken by a coin; it grows with q.

    The difference D of two such noises has P[D = d] = ((1 − q)/(1 + q))²·q^d·(d + k), k = (1 + q²)/(1 − q²), for d ≥ 0,
    and the worse outcome wins with probability P[D > g] + ½·P[D = g] at an integer gap g. Other gaps are rounded at
    random to the integers beside them.
    """
    whole, fraction = divmod(mpq(gap), 1)
    k = (1 + q**2) / (1 - q**2)

    def at(g: Any) -> Any:
        return ((1 - q) / (1 + q)) ** 2 * q**g * (q * (g + 1 + k) / (1 - q) + (q / (1 - q)) ** 2 + (g + k) / 2)

    return (1 - fraction) * at(int(whole)) + fraction * at(int(whole) + 1)


def distance(p: Bounds, q: Bounds) -> Bounds:
    """Return bounds on |p − q|."""
    below, above = p.lower - q.upper, p.upper - q.lower
    return Bounds(max(below, -above, mpq(0)), max(above, -below))


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the worse outcome's probability against the gap, its distance from formulas, and selections in general."""
    measured = data["measured"]
    gaps = measured["gaps"]
    apart = gaps[1:]  # at gap 0 the exponential noise and the exponential mechanism agree
    laws = [marks(label, Role.EXACT, gaps, _middles(measured["worse"][name])) for name, label in LABELS.items()]
    formulas = [line(label, Role.IDEAL, gaps, _middles(measured["formula"][name])) for name, label in FORMULAS.items()]
    distances = [
        line(
            f"{LABELS[name]}, from its formula",
            Role.EXACT,
            apart,
            [upper for _, upper in measured["distance"][name][1:]],
        )
        for name in LABELS
    ]
    theorem = line(
        "exponential noise, from the exponential mechanism",
        Role.NAIVE,
        apart,
        [upper for _, upper in measured["theorem_3_13"][1:]],
    )
    panels = [
        panel(
            "Exact laws (marks) and closed forms (lines)",
            "gap t of the two utilities, in units of 2Δu/ε",
            "probability of the worse outcome",
            [*laws, *formulas],
            y_scale="log",
        ),
        panel(
            "Distance of law and closed form, certified upper bound",
            "gap t of the two utilities, in units of 2Δu/ε",
            "difference of the probabilities",
            [*distances, theorem],
            y_scale="log",
        ),
    ]
    caption = "Report noisy max between two outcomes, by its noise."
    return [figure("noisy_max_laws", caption, panels), selection_laws.figure_of_selections(measured["in_general"])]


def _middles(bounds: Sequence[list[float]]) -> list[float]:
    return [middle(interval) for interval in bounds]


def explain(data: dict[str, Any]) -> str:
    """Say what the laws are at t = 1, and what becomes of the theorem."""
    measured = data["measured"]
    at = measured["gaps"].index(1.0)
    farthest = max(range(len(measured["gaps"])), key=lambda i: measured["theorem_3_13"][i][0])
    paragraph = PARAGRAPHS["noisy_max_laws"].format(
        gap=measured["gaps"][at],
        **{name: middle(measured["worse"][name][at]) for name in MECHANISMS},
        gaps=len(measured["gaps"]),
        greatest=measured["gaps"][-1],
        gumbel_error=_greatest(measured["distance"]["gumbel"]),
        exponential_error=_greatest(measured["distance"]["exponential"]),
        theorem=math.floor(1000 * measured["theorem_3_13"][farthest][0]) / 1000,
        farthest=measured["gaps"][farthest],
        laplace_error=_greatest(measured["distance"]["laplace"]),
        discrete=_greatest(measured["continuous"]),
    )
    return f"{paragraph}\n{selection_laws.explain_selections(measured['in_general'])}"


def _greatest(distances: Sequence[list[float]]) -> float:
    return max(upper for _, upper in distances)
