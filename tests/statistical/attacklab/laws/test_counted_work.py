"""The joint law of outputs and work is that of samples."""

from __future__ import annotations

import math
from fractions import Fraction

from attacklab.laws import enumerate_law
from attacklab.model.random_bits import SeededBits
from mechanisms.coins import bernoulli_exp


class CountingSeeded(SeededBits):
    drawn = 0

    def take(self, count: int) -> int:
        self.drawn += count
        return super().take(count)


def test_work_seen_in_samples_agrees_with_the_joint_law() -> None:
    """By Hoeffding's bound on the mean of the bits drawn below 64, a false alarm has probability at most 10^−10."""
    joint = enumerate_law(bernoulli_exp, Fraction(3, 2), counted="bits")
    mean = sum(float(mass) * min(work, 64) for (_, work), mass in joint.masses.items())
    total, count, bits = 0, 20_000, CountingSeeded(7)
    for _ in range(count):
        before = bits.drawn
        bernoulli_exp(Fraction(3, 2), bits)
        total += min(bits.drawn - before, 64)
    assert abs(total / count - mean) <= 64 * math.sqrt(math.log(2e10) / (2 * count))
