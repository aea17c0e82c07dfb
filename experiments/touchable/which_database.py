"""Rounds of a game: which of two neighbouring databases did this output come from? One game for each of six lessons.

Each game draws from the laws of a naive mechanism, and its attack names the database that gives the output more often.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from ml_dtypes import bfloat16

from attacklab.draws.work import with_bits
from attacklab.laws import Law, Limits, enumerate_law, one_uniform, step_law
from attacklab.model.claims import PrivacyClaim
from mechanisms.exponential.naive import naive_exponential_low_precision, naive_exponential_stabilised
from mechanisms.published import two_sided_geometric

SEED = 2016
DRAWS = 1000
"""The number of rounds in which the attack's right guesses are counted."""

SHOWN = 60
"""The number of rounds that one can play."""

CLAIM = PrivacyClaim(1.0)

Draw: TypeAlias = tuple[str, float]
"""An output as text, and its likelihood ratio: its probability on the first database over that on the second."""

Draws: TypeAlias = Callable[[int, np.random.Generator], Draw]
"""A function that draws an output for the database 0 or 1."""


def collect() -> dict[str, Any]:
    """Return the rounds of every game: the database, the output, the database that the attack names, and the factor."""
    return {name: _game(draws()) for name, draws in GAMES.items()}


def weights_without_the_2() -> Draws:
    """Return the draws of the marital status of people aged 81, selected with weights e^(εu)."""
    statuses = ("Widowed", "Married-civ-spouse", "Divorced")
    law = partial(one_uniform, partial(naive_exponential_stabilised, epsilon=2.0))
    return _from_laws((step_law(law(utilities)) for utilities in ([9, 8, 3], [10, 7, 3])), statuses.__getitem__)


def prices_that_were_bid() -> Draws:
    """Return the draws of a shop's price: three bidders bid a cent, and one bids 4.99 or 5.00."""
    return _from_laws((step_law(one_uniform(_price, [0.01] * 3 + [bid])) for bid in (4.99, 5.0)), "{:.2f}".format)


def lost_weights() -> Draws:
    """Return the draws of an outcome by sums in bfloat16: the heavy outcome 0 or one of 500 light ones."""
    mechanism = partial(naive_exponential_low_precision, epsilon=1.0, dtype=bfloat16)
    pair = [-1.0] + [-11.0] * 500, [0.0] + [-12.0] * 500
    return _from_laws((step_law(one_uniform(mechanism, utilities)) for utilities in pair), str)


def noise_for_this_database() -> Draws:
    """Return the draws of a median with noise for the local sensitivity: 60 on the first database, 0 on the second."""

    def draw(database: int, rng: np.random.Generator) -> Draw:
        answer = 20 + rng.laplace(0, 60) if database == 0 else 20.0
        return f"{answer:.2f}".replace("-", "−"), 0.0 if answer == 20 else math.inf

    return draw


def counted_bits() -> Draws:
    """Return the draws of a count, 3 or 4, with two-sided geometric noise, and of the random bits that it took."""
    ratio, limits = Fraction(95, 256), Limits(unresolved=Fraction(1, 2**16))
    laws = (
        enumerate_law(with_bits, lambda bits, count=count: count + bits.call(two_sided_geometric, ratio), limits=limits)
        for count in (3, 4)
    )
    return _from_laws(laws, lambda seen: f"{seen[0]} · {seen[1]}".replace("-", "−"))


def mean_of_two_or_one() -> Draws:
    """Return the draws of the mean age of two people or of one; the sum of ages has noise of scale 100."""
    means, scales = (47.5, 31.0), (50.0, 100.0)

    def density(answer: float, database: int) -> float:
        return math.exp(-abs(answer - means[database]) / scales[database]) / (2 * scales[database])

    def draw(database: int, rng: np.random.Generator) -> Draw:
        answer = means[database] + rng.laplace(0, scales[database])
        return f"{answer:.1f}".replace("-", "−"), density(answer, 0) / density(answer, 1)

    return draw


GAMES: Mapping[str, Callable[[], Draws]] = {
    "weights_without_the_2": weights_without_the_2,
    "prices_that_were_bid": prices_that_were_bid,
    "lost_weights": lost_weights,
    "noise_for_this_database": noise_for_this_database,
    "counted_bits": counted_bits,
    "mean_of_two_or_one": mean_of_two_or_one,
}
"""The games in the order of the lessons; the claim of each is ε = 1."""


def _price(bids: list[float], trials: int, rng: np.random.Generator) -> Any:
    """Return prices selected among those that were bid, by their revenue."""
    prices = sorted(set(bids))
    revenues = [price * sum(bid >= price for bid in bids) for price in prices]
    chosen = naive_exponential_stabilised(revenues, trials, rng, epsilon=1.0, sensitivity=5.0)
    return np.array(prices)[np.asarray(chosen)]


def _from_laws(laws: Iterable[Law], shown: Callable[[Any], str]) -> Draws:
    first, second = laws
    outcomes = sorted({*first, *second})
    masses = np.array([[float(law.mass(outcome)) for outcome in outcomes] for law in (first, second)])
    masses /= masses.sum(axis=1, keepdims=True)  # of what an enumeration left open

    def draw(database: int, rng: np.random.Generator) -> Draw:
        number = int(rng.choice(len(outcomes), p=masses[database]))
        p, q = float(masses[0, number]), float(masses[1, number])
        return shown(outcomes[number]), p / q if q else math.inf

    return draw


def _game(draw: Draws) -> dict[str, Any]:
    rng = np.random.default_rng(SEED)
    rounds = list(_rounds(draw, rng))
    return {
        "ceiling": round(CLAIM.ceiling, 6),
        "draws": DRAWS,
        "right": sum(database == named for database, _, named, _ in rounds),
        "rounds": rounds[:SHOWN],
    }


def _rounds(draw: Draws, rng: np.random.Generator) -> Iterator[tuple[int, str, int, float]]:
    for database in map(int, rng.integers(2, size=DRAWS)):
        output, factor = draw(database, rng)
        is_certain = factor in (0, math.inf)
        yield database, output, int(factor < 1), 0.0 if is_certain else float(f"{max(factor, 1 / factor):.3g}")
