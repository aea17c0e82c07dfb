"""Counted work: how many bits or calls a sampler takes for each outcome, counted while its law is sought."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from attacklab.laws.series import Series, SeriesArithmetic
from attacklab.laws.tape import Tape

Counted = Literal["bits", "calls"]


class Work:
    """The counted work of the runs for one law.

    Args:
        counted: what is counted, in called samplers too.
        arithmetic: multiplies and sums the masses by work, at the resolution wanted.
    """

    def __init__(self, counted: Counted, arithmetic: SeriesArithmetic) -> None:
        self._counted = counted
        self._arithmetic = arithmetic
        self._terms: dict[Hashable, dict[int, int]] = {}

    def add(self, outcome: Hashable, tape: Tape) -> None:
        """Add a run that ended in `outcome`."""
        done = self._arithmetic.one
        for law, branch in tape.called:
            done = self._arithmetic.times(done, law.work[branch])
        spent = tape.bits if self._counted == "bits" else tape.calls
        numerator, denominator = tape.coins.numerator, tape.coins.denominator
        terms = self._terms.setdefault(outcome, {})
        for power, coefficient in done.terms.items():
            terms[power + spent] = terms.get(power + spent, 0) + int(coefficient * numerator // denominator)

    def series(self, outcomes: list[Hashable]) -> tuple[Series, ...]:
        """The masses by work of each of the outcomes."""
        return tuple(Series.of(self._terms[outcome]) for outcome in outcomes)
