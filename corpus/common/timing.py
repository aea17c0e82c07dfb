"""Times as ratios: two pieces of work in turns, so that whatever slows the machine down slows both."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import Any, TypeAlias

Work: TypeAlias = Callable[[], Any]


def seconds(work: Work) -> float:
    """Return how long one run of the work takes, in seconds."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turns(work: Work, baseline: Work, *, budget: float) -> dict[str, float]:
    """Time two pieces of work in turns.

    Args:
        work: the work to time.
        baseline: the work to compare it with.
        budget: about how many seconds to spend; each runs 3 to 201 times.

    Returns:
        The median times in seconds as `seconds` and `baseline_seconds`, and the median of work/baseline as `ratio`.
    """
    once = seconds(work) + seconds(baseline)
    rounds = max(3, min(201, int(budget / max(once, 1e-9))))
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        pairs = [(seconds(work), seconds(baseline)) for _ in range(rounds)]
    finally:
        if was_enabled:
            gc.enable()
    return {
        "seconds": median(mine for mine, _ in pairs),
        "baseline_seconds": median(theirs for _, theirs in pairs),
        "ratio": median(mine / theirs for mine, theirs in pairs),
    }
