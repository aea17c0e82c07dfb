"""The Gaussian mechanism: its exact δ at an ε, and its least noise scale.

Source: Balle and Wang 2018, 'Improving the Gaussian Mechanism for Differential Privacy', theorem 8: the mechanism with
sensitivity Δ and standard deviation σ is (ε, δ)-DP if and only if Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) ≤ δ. The
composition of m of them has the same privacy loss as one with σ/√m (Dong, Roth and Su 2022, corollary 3.3).
"""

from __future__ import annotations

from attacklab.calibration.refinement import crossing, is_kept
from attacklab.model.claims.gaussian import gaussian_delta
from attacklab.model.intervals import Interval


def delta(epsilon: float, sigma: float, sensitivity: float) -> Interval:
    """Enclose the least δ at which the Gaussian mechanism is (ε, δ)-DP, with the precision that is set."""
    return gaussian_delta(epsilon, Interval.of(sensitivity) / sigma)


def sigma(epsilon: float, delta: float, sensitivity: float) -> Interval:
    """Enclose the least σ at which the Gaussian mechanism is (ε, δ)-DP."""
    return crossing(lambda scale: gaussian_delta(epsilon, Interval.of(sensitivity) / scale), delta)


def epsilon(delta: float, sigma: float, sensitivity: float, releases: int = 1) -> Interval:
    """Enclose the least ε at which this many releases of the Gaussian mechanism are (ε, δ)-DP together."""
    signal = Interval.of(releases).sqrt() * sensitivity / sigma
    if is_kept(lambda: gaussian_delta(0, signal), delta):
        return Interval.of(0)
    return crossing(lambda loss: gaussian_delta(loss, signal), delta)
