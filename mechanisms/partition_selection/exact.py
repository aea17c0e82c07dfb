"""Histograms by threshold, exactly: discrete Laplace noise on each count, and an integer threshold that keeps δ."""

from __future__ import annotations

from mechanisms.core.laws import DiscreteLaplace
from mechanisms.core.numbers import Number, positive
from mechanisms.core.threshold import KeysAbove, least_threshold


def exact_partition_selection(*, epsilon: Number, delta: Number) -> KeysAbove:
    """Return the mechanism that names the keys whose noisy counts reach the least threshold that keeps δ: (ε, δ)-DP."""
    law = DiscreteLaplace(1 / positive("epsilon", epsilon))
    return KeysAbove(law, least_threshold(law, delta))
