"""Where an answer lies just below the place at which rounding moves it most, for the usual units of rounding.

If answers are rounded to multiples of a unit g, and neighbours move them by s = k·g + r with 0 ≤ r < g, then rounded
answers move by k·g or (k + 1)·g. They do the latter from an answer that is less than r below an edge between two
multiples: half of g for rounding to nearest, or a whole one for rounding up or down. Where r is 0, rounding half to
even moves 0.5·g and 1.5·g two units apart.

Source: the argument is elementary, and ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

UNITS = tuple(map(Fraction, ("1", "10", "0.1", "100", "0.5", "0.01", "5", "0.05", "1000", "0.001")))
"""Numbers to multiples of which answers are often rounded."""

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
            rest = step % unit
            for edge in (unit / 2, unit) if rest else (unit / 2,):
                yield edge - rest / 2
