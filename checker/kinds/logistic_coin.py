"""A coin V < 1/(1 + e^−γ) for a uniform V whose first word is known: decided rightly, for every word."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from checker.core.certificate import Refused
from checker.core.tape import Way, explore, plain
from checker.enclosures.elementary import Enclosure, exp
from checker.kinds.lending import used
from checker.kinds.near_thresholds import require_endless
from checker.kinds.open_words import WORD, Further, NoBits, OpenWord

_FURTHER_BITS = 24


def require_coin(decide_logistic: Callable[..., Any], gamma: Fraction) -> int:
    """Check that `decide_logistic(gamma, leading, 64, bits)` says whether V < 1/(1 + e^−gamma), for every word of V.

    All words but a few are decided as they are, and rightly so; from those few on, further bits are tried.

    Returns:
        The number of runs.
    """
    below, above = logistic(gamma, 3 * WORD)
    runs, left_open = require_enclosure(used(decide_logistic, "enclose_logistic"), gamma), []

    def run(way: Way) -> tuple[OpenWord, Any]:
        word = OpenWord(way, 1 << WORD)
        try:
            return word, decide_logistic(gamma, word, WORD, NoBits())
        except Further:
            return word, None

    for _, (word, answer) in explore(run, _FURTHER_BITS):
        runs += 1
        if answer is None:
            left_open.append(range(word.low, word.high))
        elif not (word.high <= below * 2**WORD if answer is True else answer is False and word.low >= above * 2**WORD):
            raise Refused(f"coins from {word.low} to {word.high} are decided, which they are not")
    if sum(map(len, left_open)) > 4:
        raise Refused("more coins are left open than need be")
    for leading in (word for words in left_open for word in words):
        for _ in explore(lambda way, leading=leading: _run_coin(way, decide_logistic, gamma, leading), _FURTHER_BITS):  # type: ignore[misc]
            runs += 1
    for known in (0, WORD):
        require_endless(
            lambda leading, length, bits: decide_logistic(gamma, leading, length, bits),
            lambda precision: logistic(gamma, precision),
            known,
            (True, False),
        )
    return runs


def require_enclosure(enclose_logistic: Callable[..., Any], gamma: Fraction) -> int:
    """Check that 1/(1 + e^−gamma) is enclosed at many precisions, and ever more narrowly (lemma `mpfr`)."""
    precisions = (WORD, 100, 2 * WORD, 3 * WORD, 4 * WORD, 5 * WORD, 1000)
    for precision in precisions:
        below, above = map(plain, enclose_logistic(gamma, precision))
        low, high = logistic(gamma, precision + 100)
        if not below <= low <= high <= above or above - below > Fraction(4, 1 << precision):
            raise Refused(f"1/(1 + e^−{gamma}) is enclosed by {below} and {above}")
    return len(precisions)


class _Bits:
    """Further bits of a coin, all of them in turn; what is decided already must not ask for one."""

    def __init__(self, way: Way, leading: int, ends: Enclosure) -> None:
        self.way, self.leading, self.length, self.ends = way, leading, WORD, ends

    def take(self, count: int) -> int:
        """Return one bit."""
        below, above = self.ends
        size = 1 << self.length
        if count != 1 or self.leading + 1 <= below * size or self.leading >= above * size:
            raise Refused("a coin that is decided takes another bit, or one takes many")
        bit = self.way.choose(2)
        self.leading, self.length = self.leading << 1 | bit, self.length + 1
        return bit


def _run_coin(way: Way, decide_logistic: Callable[..., Any], gamma: Fraction, leading: int) -> None:
    bits = _Bits(way, leading, logistic(gamma, 3 * WORD))
    answer = decide_logistic(gamma, leading, WORD, bits)
    below, above = (end * (1 << bits.length) for end in bits.ends)
    if not (bits.leading + 1 <= below if answer is True else answer is False and bits.leading >= above):
        raise Refused(f"a coin is decided to be {answer} by {bits.length} bits, which it is not")


def logistic(gamma: Fraction, bits: int) -> Enclosure:
    """Enclose 1/(1 + e^−gamma)."""
    low, high = exp(-gamma, bits) if gamma <= bits else (Fraction(0), Fraction(1, 1 << bits))  # e^−x < 2^−x
    return 1 / (1 + high), 1 / (1 + low)
