"""Sample and aggregate with chunks that are cut by the records' *positions*.

One record less shifts every chunk behind it, so one person changes many answers. And fewer chunks may be cut
than the noise is scaled to.

Source: Near and Abuah, 'Programming Differential Privacy', section 8.5; the framework is that of Nissim, Raskhodnikova
and Smith 2007.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mechanisms.core.numbers import count, positive


def naive_sample_aggregate(
    records: NDArray[np.float64],
    trials: int,
    rng: np.random.Generator,
    *,
    chunks: int,
    lower: float,
    upper: float,
    epsilon: float,
    statistic: Callable[[NDArray[np.float64]], float] = np.mean,
) -> NDArray[np.float64]:
    """Sample and aggregate: the mean of a statistic over chunks that are cut by the records' *positions*.

    Args:
        records: the records in their order, shape (n,).
        trials: how many independent answers.
        rng: the source of randomness.
        chunks: the number k of chunks asked for, to which the noise is scaled; ceil(n / ceil(n / k)) are cut.
        lower: the least value of a chunk's answer; smaller ones are clipped.
        upper: the largest value of a chunk's answer.
        epsilon: the claimed privacy loss.
        statistic: what is computed from each chunk.

    Returns:
        The answers, shape (trials,).

    Raises:
        ValueError: `chunks` or `epsilon` is not positive, `lower` is not less than `upper`, or there is no record.
    """
    positive("chunks", chunks)
    positive("epsilon", epsilon)
    if not lower < upper:
        raise ValueError(f"lower must be less than upper, not {lower!r} against {upper!r}")
    chunk_size = math.ceil(len(records) / chunks)
    answers = [statistic(records[start : start + chunk_size]) for start in range(0, len(records), chunk_size)]
    mean = float(np.mean(np.clip(answers, lower, upper)))
    return mean + rng.laplace(0.0, (upper - lower) / chunks / epsilon, count("trials", trials, least=0))
