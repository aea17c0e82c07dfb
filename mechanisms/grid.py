"""A public grid of doubles 2^k·{−2^53, …, 2^53}: the only outputs that an exact additive mechanism has.

Which doubles a mechanism can output must not depend on the data. On one fixed grid every sum and every product
with the step is exact, and the support is the same whatever the answer was. The grid is chosen before the data are
seen; everything here is total on the data side, so that no error can tell one database from another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from mechanisms.parameters import exact_rational, positive_rational

LEAST_EXPONENT = -1022
GREATEST_EXPONENT = 970


@dataclass(frozen=True)
class Grid:
    """The multiples of 2^`exponent` of up to 2^53 steps, each of them a normal double (or 0).

    Args:
        exponent: k, an integer from −1022 (below, one step is subnormal and hardware may flush it to 0)
            to 970 (above, 2^53 steps overflow).

    Raises:
        ValueError: `exponent` is outside that range.
    """

    exponent: int

    def __post_init__(self) -> None:
        if not isinstance(self.exponent, int) or not LEAST_EXPONENT <= self.exponent <= GREATEST_EXPONENT:
            raise ValueError(
                f"grid exponent must be an integer in [{LEAST_EXPONENT}, {GREATEST_EXPONENT}], not {self.exponent}"
            )

    @property
    def step(self) -> Fraction:
        """2^k, the distance of neighbouring grid points."""
        return Fraction(2) ** self.exponent

    @property
    def limit(self) -> int:
        """How many steps the grid reaches to either side of 0."""
        return 1 << 53

    def clamp(self, steps: int) -> int:
        """Bring a number of steps into the grid."""
        return min(max(steps, -self.limit), self.limit)

    def steps_to(self, answer: float | Fraction) -> Fraction:
        """Say exactly how many steps an answer lies above 0.

        Answers beyond the grid, infinities included, count as its nearest end. NaN counts as 0: a query must not
        return it, but an error would tell the adversary that it did. Clamping is 1-Lipschitz, so it never adds to
        the sensitivity.

        Raises:
            TypeError: `answer` is not a number.
        """
        if isinstance(answer, float) and not math.isfinite(answer):
            return Fraction(0 if math.isnan(answer) else math.copysign(self.limit, answer))
        steps = exact_rational("answer", answer) / self.step
        return min(max(steps, Fraction(-self.limit)), Fraction(self.limit))

    def nearest(self, answer: float | Fraction) -> int:
        """Round an answer to the nearest grid point, half a step upward.

        Half upward and not half to even: only the first commutes with shifts by a whole step,
        which `rounded_sensitivity` rests on.

        Returns:
            The number of steps from 0.
        """
        return math.floor(self.steps_to(answer) + Fraction(1, 2))

    def rounded_sensitivity(self, sensitivity: float | Fraction) -> int:
        """Say how many steps apart the roundings of neighbouring answers can be: d = ⌈Δ/2^k⌉.

        With R(x) = ⌊x + ½⌋ and answers a ≤ b ≤ a + Δ/2^k ≤ a + d in steps, R(b) ≤ R(a + d) = R(a) + d, since R is
        monotone and commutes with integer shifts. Rounding half to even would break it: 0.5 and 1.5 are one step
        apart and would go to 0 and 2.

        Raises:
            ValueError: `sensitivity` is not finite and above 0.
        """
        return math.ceil(positive_rational("sensitivity", sensitivity) / self.step)

    def value(self, steps: int) -> float:
        """Return the double that lies so many steps from 0, or the nearest end of the grid."""
        return math.ldexp(self.clamp(steps), self.exponent)
