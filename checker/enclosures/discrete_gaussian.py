"""Enclosures of the tails of the discrete Gaussian law, added up in integers."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from checker.enclosures.elementary import Enclosure
from checker.enclosures.normal import decay


class DiscreteGaussian:
    """The law of n with probability in proportion to g(n) = e^(−n²/2σ²).

    With r_t = g(t + 1)/g(t) = e^(−(2t+1)/2σ²), the sum of all g(k) for k ≥ t is g(t)·h_t, and h_t = 1 + r_t·h_{t+1}.
    The ratios fall, so 1 ≤ h_t ≤ 1/(1 − r_t). h_t and r_t are kept as multiples of 2^−work, rounded down and up.

    Args:
        variance: σ².
        last: the largest threshold that is asked for.
        bits: tails of thresholds in [1 − last, last] are about 2^−bits of the tail wide.
    """

    def __init__(self, variance: Fraction, last: int, bits: int) -> None:
        self.last, self._variance, self._bits = last, variance, bits
        end = isqrt(last * last + (2 * variance * bits).__ceil__()) + 2  # g(end)/g(last) < e^−bits
        work = bits + 3 * end.bit_length() + 16
        unit = 1 << work
        (low, high), (step_low, step_high) = (
            ((one * unit).__floor__(), (two * unit).__ceil__())
            for one, two in (decay(1 / (2 * variance), work), decay(1 / variance, work))
        )
        ratios = []  # r_0, r_1, …
        for _ in range(end + 1):
            ratios.append((low, high))
            low, high = low * step_low >> work, (high * step_high >> work) + 1
        factor_low, factor_high = unit, (unit << work) // (unit - ratios[end][1]) + 1
        factors = []
        for low, high in reversed(ratios[:end]):
            factor_low, factor_high = unit + (low * factor_low >> work), unit + (high * factor_high >> work) + 1
            factors.append((Fraction(factor_low, unit), Fraction(factor_high, unit)))
        self._factors = factors[::-1]  # h_0, h_1, …
        low_sum, high_sum = self._sum(1)
        self._whole = 1 + 2 * low_sum, 1 + 2 * high_sum

    def tail(self, threshold: int) -> Enclosure:
        """Enclose P[X ≥ threshold], for a threshold in [1 − last, last]."""
        if threshold < 1:
            low, high = self.tail(1 - threshold)
            return 1 - high, 1 - low
        if threshold > self.last:
            raise ValueError(f"tails were added up for thresholds up to {self.last}, not {threshold}")
        low, high = self._sum(threshold)
        return low / self._whole[1], high / self._whole[0]

    def _sum(self, threshold: int) -> Enclosure:
        low, high = decay(threshold**2 / (2 * self._variance), self._bits + 16)
        factor_low, factor_high = self._factors[threshold]
        return low * factor_low, high * factor_high
