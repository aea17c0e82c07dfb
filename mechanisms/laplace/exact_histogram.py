"""A noisy histogram: discrete Laplace noise on each count, all of it drawn alone.

One record is in one cell. So adding or removing it moves one count by 1, and noise of scale 1/ε on each count is
ε-DP; README.md, 'Histograms'.

Source: Dwork and Roth 2014, 'The Algorithmic Foundations of Differential Privacy', section 3.3, example 3.2.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from mechanisms.grid import Grid
from mechanisms.laplace.exact import discrete_laplace, discrete_scale
from mechanisms.laplace.exact_fast import discrete_laplace_many
from mechanisms.private_numbers import PrivateNumber
from mechanisms.randomness import RandomBits


def exact_histogram(
    counts: Iterable[PrivateNumber], bits: RandomBits, *, epsilon: float | Fraction, grid: Grid
) -> list[float]:
    """Add discrete Laplace noise of scale 1/ε to each count.

    Args:
        counts: how many records each cell has; each is rounded to the grid by itself.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        grid: the public grid of outputs.

    Returns:
        A point of the grid a cell; the list is ε-DP if neighbours differ by 1 in one count.

    Raises:
        TypeError: a count is not a number, by its type.
        ValueError: a public parameter is out of its range.
    """
    scale = discrete_scale(epsilon, 1, grid)
    return [grid.value(grid.nearest(count) + bits.call(discrete_laplace, scale)) for count in counts]


def exact_histogram_fast(
    counts: Iterable[PrivateNumber], trials: int, bits: RandomBits, *, epsilon: float | Fraction, grid: Grid
) -> NDArray[np.float64]:
    """Release a noisy histogram many times; the law is that of `exact_histogram`.

    Args:
        counts: as for `exact_histogram`, shape (cells,).
        trials: how many histograms to release.
        bits: the source of randomness.
        epsilon: privacy parameter, above 0; a float stands for its exact value.
        grid: the public grid of outputs.

    Returns:
        Array of shape (trials, cells).

    Raises:
        TypeError: a count is not a number, by its type.
        ValueError: a public parameter is out of its range.
    """
    scale = discrete_scale(epsilon, 1, grid)
    wholes = [grid.nearest(count) for count in counts]
    noise = discrete_laplace_many(scale, trials * len(wholes), bits)
    return grid.values(noise.reshape(trials, len(wholes)) + wholes)
