"""A public grid of doubles 2^k·{−2^53, …, 2^53}: the only outputs that an exact additive mechanism has.

Which doubles a mechanism can output must not depend on the data. On one fixed grid every sum and every product
with the step is exact, and the support is the same whatever the answer was. The grid is chosen before the data are
seen; nothing here fails on any data, so no error can tell one database from another.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from gmpy2 import mpq
from numpy.typing import NDArray

from mechanisms.parameters import exact_rational, positive_rational
from mechanisms.private_numbers import PrivateNumber, clamped, exact_number

LEAST_EXPONENT = -1022
GREATEST_EXPONENT = 970
GREATEST_NOISE_STEPS = 1 << 46


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
        """The number of steps that the grid reaches to either side of 0."""
        return 1 << 53

    def clamp(self, steps: int) -> int:
        """Bring a number of steps into the grid."""
        return min(max(steps, -self.limit), self.limit)

    def steps_to(self, answer: PrivateNumber) -> Fraction:
        """Return exactly how many steps an answer lies above 0.

        Answers beyond the grid, infinities included, count as its nearest end. NaN counts as 0: a query must not
        return it, but an error would tell the adversary that it did. Clamping is 1-Lipschitz, so it never adds to
        the sensitivity.

        Raises:
            TypeError: `answer` is not a number, by its type.
        """
        end = mpq(self.step) * self.limit
        steps = clamped(exact_number("answer", answer), -end, end, missing=mpq(0)) / mpq(self.step)
        return Fraction(int(steps.numerator), int(steps.denominator))

    def nearest(self, answer: PrivateNumber) -> int:
        """Round an answer to the nearest grid point, half a step upward.

        Half upward and not half to even: only the first commutes with shifts by a whole step,
        which `rounded_sensitivity` rests on.

        Returns:
            The number of steps from 0.
        """
        return math.floor(self.steps_to(answer) + Fraction(1, 2))

    def split(self, answers: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Round each of many answers to the nearest grid point, as `nearest` does, and say what rounding took away.

        The nearest whole number to y is ⌊(2y + 1)/2⌋ = ⌈⌊2y⌋/2⌉. 2y, the product with 2/2^k, is exact, or below 2^−1022
        and of its sign; where it is infinite it is clamped. Halves are exact, and so is y less a number that near.
        No whole number is −0: an answer below 0 would show as an output of −0, since −0 is the sum of zeros only if
        both are −0.

        Args:
            answers: shape (n,), any doubles; not written to.

        Returns:
            The numbers of steps, shape (n,), and the answers less these, in steps, shape (n,).
        """
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            shifts = answers * math.ldexp(2.0, -self.exponent)
            shifts[np.isnan(shifts)] = 0.0
            np.clip(shifts, -2.0 * self.limit, 2.0 * self.limit, out=shifts)
            wholes = np.floor(shifts)
            wholes *= 0.5
            np.ceil(wholes, out=wholes)
            wholes += 0.0
            shifts *= 0.5
            shifts -= wholes
        return wholes, shifts

    def rounded_sensitivity(self, sensitivity: float | Fraction) -> int:
        """Return how many steps apart the roundings of neighbouring answers can be: d = ⌈Δ/2^k⌉.

        With R(x) = ⌊x + ½⌋ and answers a ≤ b ≤ a + Δ/2^k ≤ a + d in steps, R(b) ≤ R(a + d) = R(a) + d, since R is
        monotone and commutes with integer shifts. Rounding half to even would break it: 0.5 and 1.5 are one step
        apart and would go to 0 and 2.

        Raises:
            ValueError: `sensitivity` is not finite and above 0.
        """
        return math.ceil(positive_rational("sensitivity", sensitivity) / self.step)

    def steps_of(self, name: str, point: float | Fraction) -> int:
        """Return how many steps a public point of the grid lies above 0.

        Args:
            name: what an error message calls it.
            point: a point of the grid.

        Raises:
            TypeError: `point` is not a number.
            ValueError: `point` is not a point of the grid.
        """
        steps = exact_rational(name, point) / self.step
        if steps.denominator != 1 or abs(steps) > self.limit:
            raise ValueError(
                f"{name} must be a multiple of the grid's step 2^{self.exponent}, "
                f"at most 2^53 steps from 0, not {point}"
            )
        return int(steps)

    def noise_steps(self, scale: Fraction) -> Fraction:
        """Check that noise of a scale, in steps, is one that the grid can show, and return the scale.

        Laplace noise of 2^46 steps leaves a grid of 2^53 steps either way with probability e^−128.

        Raises:
            ValueError: `scale` is more than 2^46 steps: a double cannot show so fine a grid beneath such noise.
        """
        if scale > GREATEST_NOISE_STEPS:
            raise ValueError(
                f"grid exponent {self.exponent} is too fine: the noise scale is about 2^{int(scale).bit_length() - 1} "
                f"steps, a double shows at most 2^{GREATEST_NOISE_STEPS.bit_length() - 1}; take a larger exponent"
            )
        return scale

    def value(self, steps: int) -> float:
        """Return the double at a number of steps from 0, or the nearest end of the grid."""
        return math.ldexp(self.clamp(steps), self.exponent)

    def values(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the doubles at numbers of steps from 0, elementwise; see `value`."""
        return np.clip(steps, -self.limit, self.limit).astype(np.float64) * math.ldexp(1.0, self.exponent)

    def write_values(
        self, whole: float | NDArray[np.float64], noise: NDArray[np.float64], outputs: NDArray[np.float64]
    ) -> None:
        """Write the doubles at `whole` + `noise` steps from 0; see `value`.

        Args:
            whole: an integer of the grid, or one for each noise; not −0, and then no output is.
            noise: shape (n,), integers of at most 2^53 in modulus.
            outputs: shape (n,); overwritten. Sums of at most 2^53 are exact, greater ones are rounded to no less
                than 2^53 and so clamped to the same end; the product with the step is exact.
        """
        np.add(noise, whole, out=outputs)
        np.clip(outputs, -float(self.limit), float(self.limit), out=outputs)
        outputs *= math.ldexp(1.0, self.exponent)
