"""What textbooks say of the exponential mechanism in general: its price beside noisy scores, its reach, and infinite R.

- *Index or scores.* n noisy scores cost nε and the index of the largest costs ε, whatever n is. That holds for noise of
  scale Δu/ε if one record moves all scores in the same direction, as it does counts. For other scores that scale, which
  a textbook gives for all, costs up to 2ε.
- *Every ε-DP mechanism is an exponential one*, with the score ln Pr[M(x) = r]: its sensitivity is ε, the weights of
  twice that ε are the probabilities, and their sum is 1 on every database. So the theorem proves 2ε of it, and
  not ε.
- *Infinite R.* "The mechanism applies to finite and infinite R alike" holds if the weights have a sum. The score
  −ln(1 + |r − f|) for integers r has sensitivity ln 2, and at a claim of ε the weights (1 + |r − f|)^(−ε/(2·ln 2)):
  they have a sum only for ε > 2·ln 2.

Sources: Dwork and Roth 2014, claim 3.9 and section 3.4; Near and Abuah, 'Programming Differential Privacy', chapter 9.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import zeta

from attacklab.laws import Law, Limits, enumerate_law, largest_ratio, smallest_epsilon
from attacklab.reporting.experiment import Settings
from attacklab.reporting.figures import Figure, Panel, Role
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.laplace.exact import exact_randomized_response
from mechanisms.published import discrete_gaussian, discrete_laplace

EPSILON = 1
OUTCOMES = (2, 3, 4, 6, 8, 16, 32, 64)
LARGEST_GAP = 12
REACH = 80
"""Noise is more than this many scales from 0 with probability below e^−80."""
NEAR = 10
SIGMA = 3
LIGHTEST = Fraction(1, 1 << 20)
"""A score's sensitivity leaves out outcomes that are less probable: a law's unresolved part may weigh as much."""
EXPONENTIAL = {"laplace": "discrete Laplace", "response": "randomized response"}
RANGES = tuple(1 << power for power in range(4, 21))
EPSILONS = {"log_1": 1.0, "log_2": 2.0}
LABELS = {
    "linear": "score −|r − f|, ε = 1",
    "log_2": "score −ln(1 + |r − f|), ε = 2",
    "log_1": "score −ln(1 + |r − f|), ε = 1",
}


def measured_selections(settings: Settings) -> dict[str, Any]:
    """Return what follows from the laws. Runs differ only in how much of an infinite law they leave unresolved."""
    limits = Limits(unresolved=Fraction(1, 1 << settings.budget(40, 30)))
    score = enumerate_law(discrete_laplace, Fraction(1, EPSILON), limits=limits)
    response = exact_randomized_response(epsilon=EPSILON).release
    gaussian = enumerate_law(discrete_gaussian, Fraction(SIGMA**2), limits=limits)
    one = smallest_epsilon(score, score.map(_next))[0]
    return {
        "outcomes": OUTCOMES,
        "scores": [outcomes * one for outcomes in OUTCOMES],
        "index": {name: [index_epsilon(n, down) for n in OUTCOMES] for name, down in (("counts", 0), ("any", 1))},
        "exponential": {
            "laplace": as_exponential(score, score.map(_next)),
            "response": as_exponential(*(enumerate_law(response, truth, limits=limits) for truth in (True, False))),
            "gaussian": as_exponential(gaussian, gaussian.map(_next)),
        },
        "ranges": RANGES,
        "near": {name: [near(weights, size) for size in RANGES] for name, weights in WEIGHTS.items()},
    }


def _next(outcome: Any) -> int:
    return int(outcome) + 1


def index_law(utilities: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the law of the index of the largest noisy score (first one of a tie); the noise is discrete Laplace.

    Index i wins with the noisy score s if all scores before it are below s, and all behind it are at most s.
    """
    scores = np.arange(utilities.min() - REACH, utilities.max() + REACH + 1)
    apart = scores - utilities[:, None]
    mass = math.tanh(EPSILON / 2) * np.exp(-EPSILON * np.abs(apart))
    tail = np.exp(-EPSILON * np.abs(apart)) / (1 + math.exp(-EPSILON))  # P[N ≥ d] for d ≥ 0, P[N ≤ d] for d ≤ 0
    at_most = np.where(apart <= 0, tail, 1 - tail * math.exp(-EPSILON))
    below = at_most - mass
    products = [np.prod(below[:i], axis=0) * np.prod(at_most[i + 1 :], axis=0) for i in range(len(utilities))]
    law: NDArray[np.float64] = (mass * np.asarray(products)).sum(axis=1)
    return law


def index_epsilon(outcomes: int, down: int) -> float:
    """Return the index's largest privacy loss, over pairs that move the last score by −`down` and the others by 1."""
    losses = []
    for gap in range(-LARGEST_GAP, LARGEST_GAP + 1):
        first = np.full(outcomes, gap)
        first[-1] = 0
        second = first + 1
        second[-1] = -down
        losses.append(np.abs(np.log(index_law(first) / index_law(second))).max())
    return float(max(losses))


def as_exponential(p: Law, q: Law) -> dict[str, float]:
    """Return the ε of two neighbouring laws, the sensitivity of the score ln P, and the ε by the theorem for it.

    The score's sensitivity on this pair is the largest |ln P(o) − ln Q(o)|, over outcomes that are not too light. The
    weights e^(ε′·u/(2Δu)) are the probabilities for ε′ = 2Δu.
    """
    sensitivity = max(
        abs(math.log(p.mass(outcome) / q.mass(outcome)))
        for outcome in p
        if min(p.mass(outcome), q.mass(outcome)) >= LIGHTEST
    )
    ratio = max(largest_ratio(p, q).lower, largest_ratio(q, p).lower)
    return {"epsilon": math.log(ratio), "sensitivity": sensitivity, "theorem": 2 * sensitivity}


def _linear(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.exp(-EPSILON * distances / 2)


def _logarithmic(epsilon: float, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    return (1 + distances) ** (-epsilon / (2 * math.log(2)))


WEIGHTS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "linear": _linear,
    **{name: partial(_logarithmic, epsilon) for name, epsilon in EPSILONS.items()},
}


def near(weights: Callable[[NDArray[np.float64]], NDArray[np.float64]], size: int) -> float:
    """Return the probability of an outcome within `NEAR` of f, where the integers up to `size` from f are outcomes."""
    at = weights(np.arange(size + 1.0))
    sums = np.cumsum(np.append(at[0], 2 * at[1:]))
    return float(sums[NEAR] / sums[-1])


def limit_near() -> dict[str, float]:
    """Return the limits of `near`: by the geometric series, by ζ, and 0 where the weights have no sum."""
    q, power = math.exp(-EPSILON / 2), EPSILONS["log_2"] / (2 * math.log(2))
    within = 1 + 2 * sum((1 + distance) ** -power for distance in range(1, NEAR + 1))
    return {"linear": 1 - 2 * q ** (NEAR + 1) / (1 + q), "log_2": within / (2 * float(zeta(power)) - 1), "log_1": 0.0}


def figure_of_selections(measured: dict[str, Any]) -> Figure:
    """Draw the price of an index, mechanisms as exponential ones, and growing sets of outcomes."""
    caption = "The exponential mechanism and noisy scores: what each costs, what each can be, and where a law ends."
    panels = [_price_panel(measured), _exponential_panel(measured), _range_panel(measured)]
    return figure("noisy_max_laws_in_general", caption, panels)


def _price_panel(measured: dict[str, Any]) -> Panel:
    outcomes = measured["outcomes"]
    series = [
        line("all noisy scores, nε", Role.OTHER, outcomes, measured["scores"]),
        line("index, any scores", Role.NAIVE, outcomes, measured["index"]["any"]),
        line("index, counts", Role.EXACT, outcomes, measured["index"]["counts"]),
        line("claimed for the index, ε", Role.CEILING, outcomes, [EPSILON] * len(outcomes)),
    ]
    return panel(
        "Laplace noise of scale Δu/ε on n scores, ε = 1",
        "number of outcomes n",
        "needed ε",
        series,
        x_scale="log",
        y_scale="log",
    )


def _exponential_panel(measured: dict[str, Any]) -> Panel:
    rows = [measured["exponential"][name] for name in EXPONENTIAL]
    places = range(len(rows))
    series = [
        marks("its ε, by exact laws", Role.EXACT, places, [row["epsilon"] for row in rows]),
        marks("by the theorem, score ln Pr[M(x) = r]", Role.OTHER, places, [row["theorem"] for row in rows]),
    ]
    return panel("Mechanisms as exponential mechanisms", "", "ε", series, x_names=list(EXPONENTIAL.values()))


def _range_panel(measured: dict[str, Any]) -> Panel:
    ranges = measured["ranges"]
    roles = {"linear": Role.EXACT, "log_2": Role.OTHER, "log_1": Role.NAIVE}
    limits = limit_near()
    series = [
        *(line(LABELS[name], roles[name], ranges, measured["near"][name]) for name in LABELS),
        *(
            line("limit on all integers", Role.IDEAL, [ranges[0], ranges[-1]], [limits[name]] * 2)
            for name in ("linear", "log_2")
        ),
    ]
    return panel(
        "Integers from f − N to f + N as outcomes",
        "N",
        f"probability of an outcome within {NEAR} of f",
        series,
        x_scale="log",
    )


def explain_selections(measured: dict[str, Any]) -> str:
    """Say which of the textbooks' statements hold."""
    limits = limit_near()
    return PARAGRAPHS["selection_laws"].format(
        epsilon=EPSILON,
        most=OUTCOMES[-1],
        scores=measured["scores"][-1],
        counts=max(measured["index"]["counts"]),
        any=max(measured["index"]["any"]),
        response=measured["exponential"]["response"],
        gaussian=measured["exponential"]["gaussian"]["sensitivity"],
        least=2 * math.log(2),
        near=NEAR,
        limits=limits,
        first=measured["near"]["log_1"][0],
        last=measured["near"]["log_1"][-1],
        first_range=RANGES[0],
        last_range=RANGES[-1],
    )
