"""Floating-point noise by script."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


class ScriptedLaplace(np.random.Generator):
    """A numpy generator whose Laplace noise is the given values, one array a call, and which records the scales."""

    def __init__(self, *noise: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._noise = list(noise)
        self.scales: list[float] = []

    def laplace(  # type: ignore[override] # as the naive mechanisms call it
        self, loc: float, scale: float, size: int
    ) -> NDArray[np.float64]:
        self.scales.append(scale)
        return np.full(size, loc + self._noise.pop(0))


def noise_scales(release: Callable[..., object], records: NDArray[np.float64], draws: int) -> list[float]:
    """The scales of the noise that a naive mechanism draws."""
    rng = ScriptedLaplace(*[0.0] * draws)
    release(records, 1, rng)
    return rng.scales
