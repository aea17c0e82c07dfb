"""Where an answer lies just below the place at which rounding moves it most, for the usual units of rounding.

If answers are rounded to multiples of a unit g, and neighbours move them by s = k·g + r with 0 ≤ r < g, then rounded
answers move by k·g or (k + 1)·g. They do the latter from an answer that is less than r below an edge between two
multiples: half of g for rounding to nearest, or a whole one for rounding up or down. Where r is 0 and k is odd,
rounding half to even moves 0.5·g and (k + 0.5)·g by (k + 1)·g apart.

Source: the argument is elementary, and ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

_USUAL = ("1", "10", "0.1", "100", "0.5", "0.01", "5", "0.05", "1000", "50", "0.001", "500", "10000", "100000")
UNITS = tuple(map(Fraction, _USUAL))  # numbers to multiples of which answers are often rounded

FINEST, COARSEST = Fraction(1, 8), 1 << 12
"""The units that are tried, in steps: finer ones move an answer little further, coarser ones round all answers alike.
"""


def answers_before_edges(step: Fraction) -> Iterator[Fraction]:
    """Answers greater than 0 which, when moved up by a step, cross one more edge of rounding than most others do.

    Args:
        step: how far neighbours move the answer, greater than 0.
    """
    for unit in UNITS:
        if FINEST * step <= unit <= COARSEST * step:
            whole, rest = divmod(step, unit)
            if rest:
                yield from (unit / 2 - rest / 2, unit - rest / 2)
            elif whole % 2:
                yield unit / 2
