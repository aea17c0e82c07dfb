"""The trees of samplers that choose among three outcomes with fair coins: which coins lead where, and the laws."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

from attacklab.laws import Limits, enumerate_law
from experiments.common.printed_forms import printed_rejection
from mechanisms.exponential.base2.weighted_sampling import IntegerWeights, sample_by_bisection
from mechanisms.randomness import RandomBits

DEPTH = 6
"""The depth of a tree: the largest number of coins."""

OUTCOMES = 3
PRINTED_PRECISION = 2
WEIGHTS = ((1, 1, 1), (2, 1, 1), (3, 2, 1), (4, 2, 1))

Sampler = Callable[[RandomBits], int]


class NoMoreCoins(Exception):
    """The given coins are used up before the sampler has an outcome."""


class Coins(RandomBits):
    """A few given coins as random bits; `restarts` has the numbers of coins after which a rejection loop restarted."""

    def __init__(self, coins: str) -> None:
        self._coins = coins
        self.taken = 0
        self.restarts: list[int] = []

    def take(self, count: int) -> int:
        """Return the next coins as an integer; raise NoMoreCoins if they are used up."""
        self.taken += count
        if self.taken > len(self._coins):
            raise NoMoreCoins
        return int(self._coins[self.taken - count : self.taken] or "0", 2)

    def repeat(self, sampler: Callable[..., Any], *arguments: object) -> Any:
        """Run a sampler until its outcome is not None, and return that; see `RandomBits.repeat`."""
        while (outcome := sampler(*arguments, self)) is None:
            self.restarts.append(self.taken)
        return outcome


def collect() -> dict[str, Any]:
    """Return each sampler's leaves and restarts within the depth, and its exact law."""
    samplers: list[tuple[tuple[int, ...], bool, Sampler]] = [
        (weights, False, partial(sample_by_bisection, IntegerWeights(weights))) for weights in WEIGHTS
    ]
    samplers.insert(1, ((1, 1, 1), True, partial(printed_rejection, (1, 1, 1), PRINTED_PRECISION)))
    return {"depth": DEPTH, "samplers": [_sampler(*sampler) for sampler in samplers]}


def _sampler(weights: tuple[int, ...], printed: bool, sampler: Sampler) -> dict[str, Any]:
    leaves: dict[str, int] = {}
    restarts: set[str] = set()
    for tossed in product("01", repeat=DEPTH):
        coins = Coins("".join(tossed))
        try:
            outcome = sampler(coins)
        except NoMoreCoins:
            pass
        else:
            leaves["".join(tossed)[: coins.taken]] = int(outcome)
        restarts |= {"".join(tossed)[:count] for count in coins.restarts if count <= DEPTH}
    law = enumerate_law(sampler, limits=Limits(unresolved=Fraction(0)))
    return {
        "weights": weights,
        "printed": printed,
        "leaves": leaves,
        "restarts": sorted(restarts),
        "law": [str(Fraction(law.mass(outcome))) for outcome in range(OUTCOMES)],
    }
