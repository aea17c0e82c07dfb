"""Samplers in proportion to weights, as printed and as published, against their corrected forms, by exact laws.

The printed forms are those of Ilvento 2020, 'Implementing the Exponential Mechanism with Base-2 Differential Privacy',
section 3.3, Algorithms 2 to 4; proposition 3.6 and lemma 3.7 are measured beside them. The published form has the
comparisons and the precision of the implementation that came with the paper.
`mechanisms.exponential.base2.weighted_sampling` holds the corrected forms and says what was corrected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from gmpy2 import mpq
from scipy.stats import binom

from attacklab.laws import advantage, enumerate_law, smallest_delta
from attacklab.model.claims import PrivacyClaim
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Panel, Role, Series
from experiments.common.bounds import as_floats, middle
from experiments.common.curves import figure, line, marks, panel
from experiments.common.paragraphs import PARAGRAPHS
from mechanisms.exponential.base2.eta import BaseTwoEta
from mechanisms.exponential.base2.precision import worst_case_precision
from mechanisms.exponential.base2.weighted_sampling import (
    IntegerWeights,
    sample_by_bisection,
    sample_by_rejection,
    sample_by_rejection_rounds,
)
from mechanisms.randomness import REJECTED, RandomBits

QUESTION = "What do the samplers of the base-2 exponential mechanism draw as printed, as published and as corrected?"

Pair: TypeAlias = tuple[tuple[int, ...], tuple[int, ...]]

ETA = BaseTwoEta(1, 1)
"""2^−η = ½, so that a weight halves with each unit of cost and the mechanism's base-2 loss is 2."""
EPSILON = float(ETA.epsilon()[1])
EQUAL = (1, 1, 1)
PRINTED_BITS = 6
PRINTED_ROUNDS = 2
FULL_WEIGHTS = 63
GREATEST_COST = 9
SAME_LENGTH: Pair = ((4, 4, 4, 2, 1), (2, 2, 2, 2, 1))
"""Weights of neighbouring databases, in units of the least weight of their range."""
OTHER_LENGTH: Pair = ((4, 4, 4, 4, 4), (4, 2, 2, 2, 2))
MOST_ROUNDS, QUICK_ROUNDS = 10, 6
"""Laws double in length with each round."""
LEAST_ACCEPTED = (4, 4, 4, 4, 1)
"""Their total is one above a power of two, so that nearly half of all draws are rejected."""
DRAWS = 8
"""Tails are taken up to so many times the bits of one draw."""
ROUNDED_OTHERS = (1, 4, 16, 64, 256)
ETAS = (1.0, 0.5, 0.25)
FRACTIONS = tuple(i / 16 for i in range(16))


def collect(settings: Settings) -> Collected:
    """Find all laws; they are the same in every run but for how far the rounds go."""
    forms = {
        "algorithm_2_printed": enumerate_law(partial(printed_rejection, EQUAL, PRINTED_BITS)),
        "algorithm_2": enumerate_law(sample_by_rejection, IntegerWeights(EQUAL)),
        "algorithm_3_printed": enumerate_law(partial(printed_bisection, EQUAL)),
        "algorithm_3": enumerate_law(sample_by_bisection, IntegerWeights(EQUAL)),
        "algorithm_4_printed": enumerate_law(partial(printed_rejection_rounds, EQUAL, PRINTED_BITS, PRINTED_ROUNDS)),
        "algorithm_4": enumerate_law(partial(sample_by_rejection_rounds, rounds=PRINTED_ROUNDS), IntegerWeights(EQUAL)),
    }
    measured = {
        "equal_weights": {name: [str(law.mass(i)) for i in range(len(EQUAL))] for name, law in forms.items()},
        "published": _published(),
        "work": _work(settings.budget(MOST_ROUNDS, QUICK_ROUNDS)),
        "tails": {name: _tail(sampler) for name, sampler in TAILS.items()},
        "rounded": {str(eta): [rounding_change(eta, others) for others in ROUNDED_OTHERS] for eta in ETAS},
    }
    return Collected((), measured)


def printed_rejection(weights: tuple[int, ...], precision: int, bits: RandomBits) -> int:
    """Algorithm 2 with s = Σ r_i·2^(g−i), g = ⌊log2 total⌋, of the bits that it draws, r_1, …: s < 2^g ≤ total."""
    drawn = bits.take(precision)
    top = 1 << (sum(weights).bit_length() - 1)
    return next(i for i, end in enumerate(accumulate(weights)) if drawn < mpq(end << precision, top))


def printed_bisection(weights: tuple[int, ...], bits: RandomBits) -> int:
    """Algorithm 3 with the cumulative weight 2^k − total for its dummy outcome ⊥, 2^k the next power of two."""
    total = sum(weights)
    length = (total - 1).bit_length()
    return bits.repeat(_printed_bisection, (*accumulate(weights), (1 << length) - total), length)


def _printed_bisection(ends: tuple[int, ...], length: int, bits: RandomBits) -> int | None:
    remaining, low, width = list(range(len(ends))), 0, 1 << length
    while len(remaining) > 1:
        width >>= 1
        low += bits.take(1) * width
        remaining = [i for i in remaining if ends[i] > low and (i == 0 or ends[i - 1] < low + width)]
    (index,) = remaining
    return index if index < len(ends) - 1 else REJECTED


def printed_rejection_rounds(
    weights: tuple[int, ...], precision: int, rounds: int, bits: RandomBits, *, first_power: int = 1
) -> int | None:
    """Algorithm 4 with the loop condition s ≥ total *and* fewer than k rounds; None if it ends with no draw in range.

    The index of the printed sum starts from `first_power` = 1; 0 is right.
    """
    top = 1 << (sum(weights).bit_length() - first_power)
    for _ in range(rounds):
        drawn = bits.take(precision)
        for index, end in enumerate(accumulate(weights)):
            if drawn < mpq(end << precision, top):
                return index
    return None


def published_sampler(costs: tuple[int, ...], precision: int, bits: RandomBits) -> int:
    """Weights 2^(−cost), a draw s on a grid of `precision` bits kept unless s > total, the first i with C_i ≥ s."""
    ends = list(accumulate(mpq(1, 1 << cost) for cost in costs))
    points_a_unit = mpq(1 << precision, 1 << int(ends[-1]).bit_length())
    return bits.repeat(_published_round, tuple(end * points_a_unit for end in ends), precision)


def _published_round(ends: tuple[mpq, ...], precision: int, bits: RandomBits) -> int | None:
    drawn = bits.take(precision)
    return next((index for index, end in enumerate(ends) if drawn <= end), REJECTED)


def _published() -> dict[str, Any]:
    """The light outcome's probability at every cost, and what neighbours make of it."""
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


def _work(most_rounds: int) -> dict[str, Any]:
    """The advantage of an adversary who sees the outcome and how many bits it took, by the least number of rounds."""
    rounds = list(range(1, most_rounds + 1))
    width = (sum(SAME_LENGTH[0]) - 1).bit_length()

    def corrected(k: int) -> Callable[..., int]:
        return partial(sample_by_rejection_rounds, rounds=k)

    def printed(k: int) -> Callable[..., int | None]:
        return lambda weights, bits: printed_rejection_rounds(weights.values, width, k, bits, first_power=0)

    return {
        "rounds": rounds,
        "output": _advantage(sample_by_rejection, SAME_LENGTH, work=False),
        "algorithm_2": _advantage(sample_by_rejection, SAME_LENGTH),
        "algorithm_3": _advantage(sample_by_bisection, SAME_LENGTH),
        "algorithm_4": [_advantage(corrected(k), SAME_LENGTH) for k in rounds],
        "algorithm_4_printed_loop": [_advantage(printed(k), SAME_LENGTH) for k in rounds],
        "other_length": [_advantage(corrected(k), OTHER_LENGTH) for k in rounds],
    }


def _advantage(sampler: Callable[..., Any], pair: Pair, *, work: bool = True) -> list[float]:
    """Bounds of the advantage between the two databases of the pair."""
    first, second = (enumerate_law(sampler, IntegerWeights(w), counted="bits" if work else None) for w in pair)
    return as_floats(advantage(first, second))


TAILS: dict[str, Callable[..., int]] = {"rejection": sample_by_rejection, "bisection": sample_by_bisection}


def _tail(sampler: Callable[..., int]) -> list[float]:
    """The probability of more bits than one draw has, than two have, and so on, for the weights accepted least."""
    law = enumerate_law(sampler, IntegerWeights(LEAST_ACCEPTED), counted="bits")
    width = _width(LEAST_ACCEPTED)
    return [float(law.probability(partial(_takes_more, width * draws)).upper) for draws in range(DRAWS + 1)]


def _takes_more(most: int, seen: tuple[int, int]) -> bool:
    _, bits = seen
    return bits > most


def _width(weights: tuple[int, ...]) -> int:
    """The bits p of one draw: those of the next power of two."""
    return (sum(weights) - 1).bit_length()


def rounding_change(eta: float, others: int) -> float:
    """The largest quotient of an outcome's probabilities with costs rounded at random and with costs as they are.

    Weights are 2^(−η·cost). The outcome has one cost and all others have another, both in [0, 1), on a grid. Of these
    the number that is rounded up is binomial.
    """
    step, up = 2.0**-eta, np.arange(others + 1)
    changes = [0.0]
    for theirs in FRACTIONS:
        rounded_others = others - up + up * step
        shares = binom.pmf(up, others, theirs)
        for own in FRACTIONS:
            rounded = sum(
                chance * float(np.sum(shares * weight / (weight + rounded_others)))
                for chance, weight in ((1 - own, 1.0), (own, step))
            )
            changes.append(abs(math.log(rounded * (1 + others * step ** (theirs - own)))))
    return math.exp(max(changes))


def figures(data: dict[str, Any]) -> list[Figure]:
    """The laws of three equal weights, the light outcome's probability, and what the work tells."""
    return [
        figure(
            "printed_samplers",
            "Sampling in proportion to weights: exact laws of the printed, published and corrected forms.",
            [_equal_weights_panel(data["measured"]["equal_weights"]), _published_panel(data["measured"]["published"])],
        ),
        figure(
            "printed_samplers_bits",
            "How many random bits a draw takes, and what rounding costs at random does to probabilities.",
            [_tail_panel(data["measured"]["tails"]), _rounding_panel(data["measured"]["rounded"])],
        ),
        figure(
            "printed_samplers_work",
            "Exact advantage of an adversary who sees the outcome and how many bits it took.",
            [_work_panel(data["measured"]["work"])],
        ),
    ]


def _equal_weights_panel(laws: dict[str, list[str]]) -> Panel:
    def series(name: str, label: str, role: Role) -> Series:
        masses = [float(Fraction(mass)) for mass in laws[name]]
        return marks(label, role, list(range(len(masses))), masses)

    drawn = [
        series("algorithm_2_printed", "Algorithms 2 and 4 as printed", Role.NAIVE),
        series("algorithm_3_printed", "Algorithm 3 as printed", Role.NAIVE),
        series("algorithm_2", "corrected, all three", Role.EXACT),
        line("ideal mechanism", Role.IDEAL, [0, len(EQUAL) - 1], [1 / len(EQUAL)] * 2),
    ]
    return panel("Weights 1, 1, 1", "outcome", "probability", drawn, x_names=["first", "second", "third"])


def _published_panel(published: dict[str, Any]) -> Panel:
    def series(name: str, label: str, role: Role) -> Series:
        return line(label, role, published["costs"], [float(Fraction(m)) for m in published[name]])

    drawn = [
        series("light", "as published", Role.NAIVE),
        series("light_corrected", "corrected, equal to the ideal mechanism", Role.EXACT),
    ]
    return panel(
        f"{FULL_WEIGHTS} outcomes of weight 1, one of weight 2^−u",
        "cost u of the light outcome",
        "probability of the light outcome",
        drawn,
        y_scale="symlog",
    )


def _work_panel(work: dict[str, Any]) -> Panel:
    rounds = work["rounds"]

    def by_rounds(name: str, label: str, role: Role) -> Series:
        return line(label, role, rounds, [middle(bounds) for bounds in work[name]])

    def constant(name: str, label: str, role: Role) -> Series:
        return line(label, role, [rounds[0], rounds[-1]], [middle(work[name])] * 2)

    series = [
        by_rounds("algorithm_4_printed_loop", "Algorithm 4, loop as printed", Role.NAIVE),
        by_rounds("algorithm_4", "Algorithm 4 (k = 1: Algorithm 2)", Role.EXACT),
        by_rounds("other_length", "Algorithm 4, totals of unlike lengths", Role.EXACT),
        constant("algorithm_3", "Algorithm 3", Role.OTHER),
        constant("output", "the outcome alone", Role.IDEAL),
        line(
            "ceiling of the claim, ε = 2·ln 2",
            Role.CEILING,
            [rounds[0], rounds[-1]],
            [PrivacyClaim(EPSILON).ceiling] * 2,
        ),
    ]
    return panel(
        "What the number of bits adds to the outcome", "least number of rounds k", "distinguishing advantage", series
    )


def _tail_panel(tails: dict[str, list[float]]) -> Panel:
    draws = list(range(DRAWS + 1))
    series = [
        line("rejection (Algorithm 2)", Role.EXACT, draws, tails["rejection"]),
        line("bisection (Algorithm 3)", Role.OTHER, draws, tails["bisection"]),
        line("bound of the lemma", Role.CEILING, draws, [2.0**-c for c in draws]),
    ]
    return panel(
        f"Weights {', '.join(map(str, LEAST_ACCEPTED))}: draws of p = {_width(LEAST_ACCEPTED)} bits",
        "c",
        "probability of more than c·p bits",
        series,
        y_scale="log",
    )


def _rounding_panel(rounded: dict[str, list[float]]) -> Panel:
    series = [
        line(f"η = {float(eta):g}", role, ROUNDED_OTHERS, [100 * (change - 1) for change in changes])
        for (eta, changes), role in zip(rounded.items(), (Role.NAIVE, Role.OTHER, Role.EXACT), strict=True)
    ]
    return panel(
        "Costs rounded to integers at random",
        "number of other outcomes",
        "largest change of a probability, percent",
        series,
        x_scale="log",
        y_scale="log",
    )


def explain(data: dict[str, Any]) -> str:
    """Say what is drawn wrongly, and what the work tells."""
    measured = data["measured"]
    laws, published, work = measured["equal_weights"], measured["published"], measured["work"]
    tapes = 1 << PRINTED_BITS
    return PARAGRAPHS["printed_samplers"].format(
        printed_2=", ".join(str(Fraction(mass) * tapes) for mass in laws["algorithm_2_printed"]),
        tapes=tapes,
        bits=PRINTED_BITS,
        printed_3=", ".join(laws["algorithm_3_printed"]),
        full=FULL_WEIGHTS,
        cost=published["costs"][-2],
        greatest=published["costs"][-1],
        light=published["light"][-2],
        ideal=published["light_corrected"][-2],
        breach=published["light"][-1],
        delta=middle(published["breach"]),
        same_totals=_totals(SAME_LENGTH),
        other_totals=_totals(OTHER_LENGTH),
        own=middle(work["output"]),
        rejection=middle(work["algorithm_2"]),
        bisection=middle(work["algorithm_3"]),
        rounds=work["rounds"][-1],
        hidden=middle(work["algorithm_4"][-1]),
        printed_loop=middle(work["algorithm_4_printed_loop"][-1]),
        lengths=middle(work["other_length"][-1]),
        weights=", ".join(map(str, LEAST_ACCEPTED)),
        width=_width(LEAST_ACCEPTED),
        draws=DRAWS,
        tails={name: tail[-1] for name, tail in measured["tails"].items()},
        bound=2.0**-DRAWS,
        changes={name: 100 * (max(changes) - 1) for name, changes in measured["rounded"].items()},
        etas=ETAS,
    )


def _totals(pair: Pair) -> str:
    return " and ".join(str(sum(weights)) for weights in pair)
