"""Whether two classes can be told apart by their times, from trials that take turns.

In each turn both classes are timed once, and a coin says which goes first. Were the time to tell nothing of the class,
the coin could fall the other way and every time would stay where it is. So, given all times, each turn is a fair coin:
of the turns that a bet is decided in, the number that it wins is binomial with probability 1/2. That is exact whatever
the clock does: drift, lag, interrupts, times that depend on earlier ones.

The bet is chosen on every other turn and judged on those between. It says which class takes longer, by comparing the
two times of the turn, or both with a percentile of all times, which a tail of slow calls does not hide. Turns come in
groups (by the output that both classes gave, for example), and which class takes longer is learned for each of them.

A small p-value says that the time depends on the class; it says nothing about ε. After a large one, `shift_told_apart`
says how large a constant difference these turns would have shown, directions that had to be learned included.

Sources: Reparaz, Balasch and Verbauwhede 2017, 'Dude, is my code constant time?', section II, for classes that are
measured in random order, and percentiles. They compare means by Welch's test, which takes times to be independent; here
they are compared within a turn by the sign test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from attacklab.auditing.statistics.inference import clopper_pearson
from attacklab.auditing.statistics.power import POWER
from attacklab.model.findings import Estimate

PERCENTILES = tuple(1 - 0.5 ** (step / 4) for step in range(1, 41))
"""The percentiles that times are compared with, up to 0.999 and closer together towards the top."""

CONFIDENCE = 0.95
"""How often so many turns tell the classes apart, and the confidence of the bounds on their number."""

MOST_TURNS = 10**12
"""Beyond so many, nobody tells the classes apart."""

REPLAYS = 100
"""How often turns are replayed with a shift added."""

TOLD_APART = 97
"""In so many of the replays, or more, the classes are told apart where a shift is large enough."""

GROWTH = 1.5
"""By what a shift grows that was not large enough."""


@dataclass(frozen=True, slots=True)
class Bet:
    """How to say which class of a turn took longer.

    Attributes:
        threshold: the time that both are compared with; None where they are compared with each other.
        slower: for each group, 1 where the first class takes longer, −1 where the second does.
    """

    threshold: float | None
    slower: dict[str, int]

    def votes(
        self, first: NDArray[np.float64], second: NDArray[np.float64], groups: Sequence[str | None]
    ) -> NDArray[np.float64]:
        """1 for each turn in which the bet names the classes rightly, −1 where wrongly, 0 where it says nothing."""
        signs = np.array([0 if group is None else self.slower.get(group, 0) for group in groups], dtype=np.float64)
        return signs * _longer(first, second, self.threshold)


@dataclass(frozen=True, slots=True)
class TimingTest:
    """What the test found on the turns that judge.

    Attributes:
        bet: what was bet; None where the turns to choose on showed no difference at all.
        right: the turns in which it named the classes rightly.
        wrong: the turns in which it named them wrongly; in all others it said nothing.
        turns: how many judged it.
    """

    bet: Bet | None
    right: int
    wrong: int
    turns: int

    @property
    def p_value(self) -> float:
        """The probability of so many right ones or more, were the time to tell nothing."""
        return float(scipy.stats.binom.sf(self.right - 1, self.right + self.wrong, 0.5))

    @property
    def advantage(self) -> float:
        """How much more often the bet is right than wrong, over all turns."""
        return (self.right - self.wrong) / self.turns if self.turns else 0.0

    @property
    def turns_needed(self) -> Estimate:
        """How many turns tell the classes apart in 95 % of cases, by a majority of bets; bounds of 95 % confidence.

        A turn is one time of each class, in an order that the adversary does not know.
        """
        decided = self.right + self.wrong
        if not decided:
            return Estimate(math.inf, 1.0, math.inf)
        share, speaks = (
            [part / whole, *(float(bound) for bound in clopper_pearson(part, whole, (1 - CONFIDENCE) / 2))]
            for part, whole in ((self.right, decided), (decided, self.turns))
        )
        estimate, at_most, at_least = (_majority(*rates) for rates in zip(share, speaks, strict=True))
        return Estimate(estimate, at_least, at_most)


def timing_test(first: ArrayLike, second: ArrayLike, groups: Sequence[str | None] | None = None) -> TimingTest:
    """Compare the times of two classes.

    Args:
        first: times of one class, one a turn, in any unit.
        second: times of the other class in the same turns.
        groups: what else is known of each turn, whichever class went first; None for a turn that no bet is made on.

    Raises:
        ValueError: the classes differ in their number of times.
    """
    left, right = (np.asarray(times, dtype=np.float64) for times in (first, second))
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(f"each turn needs a time of both classes, not {left.shape} and {right.shape} times")
    groups = [""] * left.size if groups is None else groups
    bet = _chosen(left[::2], right[::2], groups[::2])
    left, right = left[1::2], right[1::2]
    if bet is None:
        return TimingTest(None, 0, 0, left.size)
    votes = bet.votes(left, right, groups[1::2])
    return TimingTest(bet, int((votes > 0).sum()), int((votes < 0).sum()), left.size)


def smallest_shift(first: ArrayLike, second: ArrayLike, turns: int, alpha: float) -> float:
    """The smallest constant difference of times that so many turns show with probability 95 %, its direction known.

    Args:
        first: times of one class in turns with the same class: how far times differ by themselves.
        second: those that took turns with them.
        turns: how many turns judge.
        alpha: the p-value that is small enough.

    Returns:
        A difference in the same unit; infinite if no difference is large enough.
    """
    right = int(scipy.stats.binom.isf(alpha, turns, 0.5)) + 1
    if right > turns:
        return math.inf
    share = scipy.special.betaincinv(right, turns - right + 1, POWER)
    apart = np.subtract(first, second, dtype=np.float64)
    return float(np.quantile(np.concatenate([apart, -apart]), share, method="higher"))


def shift_told_apart(
    first: ArrayLike,
    second: ArrayLike,
    groups: Sequence[str | None] | None,
    *,
    alpha: float,
    step: float,
    rng: np.random.Generator,
) -> float:
    """A constant difference of times that `timing_test` would have found in turns in which it found none.

    The turns are replayed in another order, with other coins, and with one class longer in each of them.

    Args:
        first: times of one class.
        second: those of the other in the same turns.
        groups: as for `timing_test`.
        alpha: the p-value that is small enough.
        step: the smallest difference between two times, in the same unit; the shifts tried are multiples of it.
        rng: draws orders and coins.

    Returns:
        The first of growing shifts that is found in at least 97 of 100 replays; infinite if no shift is.
    """
    left, right = (np.asarray(times, dtype=np.float64) for times in (first, second))
    names = np.array([""] * left.size if groups is None else groups, dtype=object)
    compared = np.array([name is not None for name in names], dtype=bool)
    spread = float(np.ptp(np.concatenate([left, right])))
    known = smallest_shift(left[compared], right[compared], turns=int(compared.sum()) // 2, alpha=alpha)
    shift = min(known, spread + step)
    while True:
        shift = step * max(1, math.ceil(shift / step))
        if _is_told_apart(left, right, names, shift, alpha, rng):
            return shift
        if shift > spread:
            return math.inf
        shift *= GROWTH


def _is_told_apart(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    names: NDArray[np.object_],
    shift: float,
    alpha: float,
    rng: np.random.Generator,
) -> bool:
    """Whether a shift of one class is found in enough replays."""
    missed = 0
    for _ in range(REPLAYS):
        is_swapped, order = rng.random(first.size) < 0.5, rng.permutation(first.size)
        one = np.where(is_swapped, second, first)[order]
        other = np.where(is_swapped, first, second)[order]
        missed += timing_test(one + shift, other, names[order].tolist()).p_value > alpha
        if missed > REPLAYS - TOLD_APART:
            return False
    return True


def _longer(first: NDArray[np.float64], second: NDArray[np.float64], threshold: float | None) -> NDArray[np.float64]:
    """1 for each turn in which the first class took longer, −1 where the second did, 0 where neither."""
    if threshold is None:
        return np.sign(first - second)
    return np.subtract(first > threshold, second > threshold, dtype=np.float64)


def _chosen(first: NDArray[np.float64], second: NDArray[np.float64], groups: Sequence[str | None]) -> Bet | None:
    """The bet that is the most significant on these turns."""
    kept = np.array([group is not None for group in groups], dtype=bool)
    if not kept.any():
        return None
    first, second = first[kept], second[kept]
    numbers: dict[str, int] = {}
    places = [numbers.setdefault(group, len(numbers)) for group in groups if group is not None]
    bets: list[tuple[float, float | None, NDArray[np.float64]]] = []
    for threshold in (None, *np.unique(np.quantile(np.concatenate([first, second]), PERCENTILES))):
        longer = _longer(first, second, threshold)
        balance = np.bincount(places, longer).astype(np.float64)
        decided = np.abs(longer).sum()
        if balance.any():
            bets.append((float(np.abs(balance).sum() / math.sqrt(decided)), threshold, balance))
    if not bets:
        return None
    _, best, balance = max(bets, key=lambda bet: bet[0])
    return Bet(
        None if best is None else float(best), dict(zip(numbers, np.sign(balance).astype(int).tolist(), strict=True))
    )


def _majority(share: float, speaks: float) -> float:
    """How many turns a majority needs to be right in 95 % of cases.

    Args:
        share: the probability that a bet that says something is right.
        speaks: the probability that it says something.
    """
    low, high = -1, MOST_TURNS  # 2k + 1 decided turns are too few at k = low, and enough at k = high
    if share <= 0.5 or scipy.stats.binom.sf(high, 2 * high + 1, share) < CONFIDENCE:
        return math.inf
    while high - low > 1:
        middle = (low + high) // 2
        enough = scipy.stats.binom.sf(middle, 2 * middle + 1, share) >= CONFIDENCE
        low, high = (low, middle) if enough else (middle, high)
    return float(math.ceil((2 * high + 1) / speaks))
