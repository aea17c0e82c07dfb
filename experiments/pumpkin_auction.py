"""The pumpkin auction: a price from noise on the best price, and a price from the exponential mechanism.

Dwork and Roth 2014, section 3.4, example 3.5: pumpkins are plentiful, A, F and I bid 1.00 each and K bids 3.01; each
buys at any price up to the bid. The example lets the price 1.00 earn 3.00. K buys at 1.00 too, so it earns 4.00; the
rest of the example, and what it teaches, is not touched by that.

The revenue of a price is its utility. A bid that is added or taken away changes the revenue of a price by at most that
price, always in the same direction. Every number here is read off laws, not samples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any, TypeAlias

from gmpy2 import mpq

from attacklab.laws import Bounds, Law, exp_bounds, log_bounds, normalised
from attacklab.reporting.experiment import Collected, Settings
from attacklab.reporting.figures import Figure, Role, Series
from experiments.common.curves import figure, lines, panel
from experiments.common.paragraphs import PARAGRAPHS

QUESTION = "What does a private price earn, and what does it cost in ε: noise on the best price, or the best utility?"

EPSILON = 1
BIDS = {100: 3, 301: 1}
"""{bid: number of bidders}; bids are in cents, like all prices here."""
BIDDERS = sum(BIDS.values())
HIGHEST = 400
"""Bids and prices are from 1 to this many cents; the limit is public."""
SENSITIVITY = HIGHEST
"""One bidder moves the revenue of a price by at most the highest price."""
MOVE = HIGHEST - 1
"""One bidder moves the best price by at most this: a first bid can take it anywhere."""
LITTLE = 10
"""The scale, in cents, of noise that looks harmless."""
CROWDS = (1, 3, 10, 30, 100, 300, 1000, 3000)
SHOWN = 100
ADDED = (1, 100, 101, 301, 302, HIGHEST)
PRICES = range(1, HIGHEST + 1)

Bids: TypeAlias = Mapping[int, int]
Auction: TypeAlias = Callable[[Bids], Law]


def revenue(bids: Bids, price: int) -> int:
    """Return what a price earns, in cents: everybody who bids at least that much pays it."""
    return price * sum(bidders for bid, bidders in bids.items() if bid >= price)


def best_price(bids: Bids) -> int:
    """Return the lowest price that has the largest revenue."""
    return max(PRICES, key=lambda price: (revenue(bids, price), -price))


@cache
def _power(exponent: Fraction) -> Bounds:
    return exp_bounds(mpq(exponent))


def exponential(bids: Bids, factor: int) -> Law:
    """Return the law of the exponential mechanism over prices.

    Args:
        bids: {bid: number of bidders}.
        factor: 2 for weights exp(ε·u/(2Δu)), 1 for weights exp(ε·u/Δu), which monotone utilities may have.
    """
    utilities = {price: revenue(bids, price) for price in PRICES}
    best = max(utilities.values())
    return normalised({p: _power(Fraction(EPSILON * (u - best), factor * SENSITIVITY)) for p, u in utilities.items()})


def noisy_price(bids: Bids, scale: int) -> Law:
    """Return the law of the best price with discrete Laplace noise of a scale in cents, clamped to the possible prices.

    The noise n has probability (1 − q)/(1 + q)·q^|n| with q = e^(−1/scale), and a tail from k on q^k/(1 + q).
    """
    best = best_price(bids)

    def weight(price: int) -> Bounds:
        at_price = _power(Fraction(-abs(price - best), scale))
        if price in (PRICES[0], PRICES[-1]):
            return at_price
        beyond = _power(Fraction(-abs(price - best) - 1, scale))
        return Bounds(at_price.lower - beyond.upper, at_price.upper - beyond.lower)

    return normalised({price: weight(price) for price in PRICES})


MECHANISMS: dict[str, tuple[str, Role, Auction]] = {
    "little": (f"best price, noise of scale {LITTLE / 100:.2f}", Role.NAIVE, lambda bids: noisy_price(bids, LITTLE)),
    "laplace": (
        f"best price, noise of scale {MOVE / 100:.2f}/ε",
        Role.OTHER,
        lambda bids: noisy_price(bids, MOVE // EPSILON),
    ),
    "exponential": ("exponential mechanism", Role.EXACT, lambda bids: exponential(bids, 2)),
    "monotone": ("exponential mechanism, monotone", Role.IDEAL, lambda bids: exponential(bids, 1)),
}


def collect(settings: Settings) -> Collected:
    """Find every law, what it earns, and the ε that it needs beside its neighbours' laws."""
    crowds = CROWDS if settings.share == 1 else (CROWDS[0], SHOWN)
    laws = {(name, crowd): auction(crowd_of(crowd)) for name, (_, _, auction) in MECHANISMS.items() for crowd in crowds}
    measured = {
        "crowds": crowds,
        "revenue": [revenue(BIDS, price) for price in PRICES],
        "share": {name: [share(crowd_of(crowd), laws[name, crowd]) for crowd in crowds] for name in MECHANISMS},
        "guess": share(BIDS, Law({price: mpq(1, HIGHEST) for price in PRICES})),
        "epsilon": {name: [needed(name, crowd_of(n), laws[name, n]) for n in crowds] for name in MECHANISMS},
        "shown": SHOWN,
        "law": {name: [float(laws[name, SHOWN].mass(price)) for price in PRICES] for name in MECHANISMS},
    }
    return Collected((), measured)


def share(bids: Bids, law: Law) -> float:
    """Return the expected revenue of a price drawn from the law, as a share of the best revenue."""
    earned = sum(revenue(bids, price) * mass for price, mass in law.masses.items())
    return float(earned / revenue(bids, best_price(bids)))


def neighbours(bids: Bids) -> Iterator[Bids]:
    """Yield the bids with one bid of `ADDED` added, and with one of the bids removed."""
    for bid in ADDED:
        yield {**bids, bid: bids.get(bid, 0) + 1}
    for bid, bidders in bids.items():
        yield {**bids, bid: bidders - 1}


def needed(name: str, bids: Bids, law: Law) -> float:
    """Return a lower bound on the ε that the mechanism needs on these bids, where it has this law, and neighbours."""
    _, _, auction = MECHANISMS[name]
    return max(most_loss(law, auction(neighbour)) for neighbour in neighbours(bids))


def most_loss(p: Law, q: Law) -> float:
    """Return a lower bound on the largest |ln P(price)/Q(price)| of all prices."""
    ratio = max(max(p[r].lower / q[r].upper, q[r].lower / p[r].upper) for r in PRICES)
    return max(0.0, log_bounds(Bounds(ratio, ratio))[0])


def crowd_of(size: int) -> Bids:
    """Return the bids of a crowd with `size` copies of each of the four bidders."""
    return {bid: bidders * size for bid, bidders in BIDS.items()}


def figures(data: dict[str, Any]) -> list[Figure]:
    """Draw the revenue of prices, the laws of private prices, what these earn, and the ε that they need."""
    measured = data["measured"]
    dollars = [price / 100 for price in PRICES]
    bidders = [BIDDERS * crowd for crowd in measured["crowds"]]

    def series(values: str, x: Sequence[float]) -> list[Series]:
        return lines(x, [(label, role, measured[values][name]) for name, (label, role, _) in MECHANISMS.items()])

    earned = lines(dollars, [("revenue", Role.OTHER, [r / 100 for r in measured["revenue"]])])
    needed_ = [*series("epsilon", bidders), *lines(bidders, [("claimed", Role.CEILING, [EPSILON] * len(bidders))])]
    laws = f"Laws of the price for {BIDDERS * measured['shown']} bidders"
    share_label, cost_label = "expected share of the best revenue", "ε that the laws of neighbours need"
    panels = [
        panel("What a price earns from A, F, I and K", "price", "revenue", earned),
        panel(laws, "price", "probability", series("law", dollars), y_scale="log"),
        panel("What the private price earns", "bidders", share_label, series("share", bidders), x_scale="log"),
        panel("What it costs", "bidders", cost_label, needed_, x_scale="log", y_scale="symlog"),
    ]
    caption = f"Posted prices of a pumpkin auction at ε = {EPSILON:g}, by exact laws."
    return [figure("pumpkin_auction", caption, panels)]


def explain(data: dict[str, Any]) -> str:
    """Say what the prices earn, and which ε they need."""
    measured = data["measured"]
    at = measured["crowds"].index(measured["shown"])
    earns = {name: shares[at] for name, shares in measured["share"].items()}
    epsilon = {name: max(losses) for name, losses in measured["epsilon"].items()}
    earned = {price: measured["revenue"][price - 1] / 100 for price in (100, 101, 301)}
    return PARAGRAPHS["pumpkin_auction"].format(
        earned=earned,
        earns=earns,
        measured=measured,
        little=LITTLE / 100,
        little_epsilon=epsilon["little"],
        move=MOVE / 100,
        epsilon=EPSILON,
        laplace_epsilon=epsilon["laplace"],
        bidders=BIDDERS * measured["shown"],
        exponential_epsilon=epsilon["exponential"],
        monotone_epsilon=epsilon["monotone"],
    )
