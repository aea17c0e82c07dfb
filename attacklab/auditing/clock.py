"""The seconds that an audit may take, and how many trials they leave time for: real targets give 2 to 5 million outputs
a second.

How long an output takes, and how long a call besides, is seen from the calls that draw outputs to look at. That says
how many trials of an attack its share of the seconds leaves time for, in steps (1, 2, 5, 10, 20, …), so that small
differences in speed change nothing. Given those numbers, findings depend on the seed alone, unless the time is up
before they are drawn: that is looked at between batches.

Finding scenarios takes outputs as well. It may take half of what is left of the seconds; an attack that needs more is
inconclusive, and says so.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator

from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.model.errors import OutOfTime

STEPS: tuple[int, ...] = tuple(factor * 10**power for power in range(7) for factor in (1, 2, 5))
"""The numbers of trials that there may be time for."""

MEASURED = 1_000
"""The first outputs are drawn in ever longer calls, up to this many, so that what a call costs is told from what an
output costs."""

MEASURING_SHARE = 50
"""Until that takes the seconds that there are, divided by this."""


class Clock:
    """Takes the time that outputs take to draw.

    Args:
        seconds: how long they may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent, self.output, self._shortest = 0.0, math.inf, math.inf
        self._kept: float | None = None
        self._is_doubted = True
        """Whether the rate is measured again before it first leaves no time: both outputs it is from may be held up."""

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._seconds - self._spent)

    def cost(self, outputs: int, calls: int = 0) -> float:
        """The seconds that so many outputs take in so many calls; none as long as no output was drawn."""
        if not math.isfinite(self.output):
            return 0.0
        return outputs * self.output + calls * max(0.0, self._shortest - self.output)

    def draw(self, draws: Draws, request: Request) -> Drawn:
        """`draws(request)`.

        Raises:
            OutOfTime: scenarios are looked for, and the time that is left is too short for these outputs.
        """
        if self._kept is not None:
            self._require_time(self._kept, draws, request)
        return self._timed(draws, request)

    @contextlib.contextmanager
    def charging(self) -> Iterator[None]:
        """While outputs are drawn and judged, maybe in other processes: all of the time counts."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._spent += time.perf_counter() - started

    @contextlib.contextmanager
    def looking(self) -> Iterator[None]:
        """While scenarios are looked for: half of the seconds that are left now are kept."""
        self._kept = self.left / 2
        try:
            yield
        finally:
            self._kept = None

    def _require_time(self, kept: float, draws: Draws, request: Request) -> None:
        if not math.isfinite(self.output):
            self._measure(draws, request)
        if not self._affords(request.trials, kept) and self._is_doubted and self.output < self.left:
            self._is_doubted = False
            self._timed(draws, request._replace(trials=1))
        if not self._affords(request.trials, kept):
            raise OutOfTime(
                f"there is no time left to look for scenarios: the target takes {self.output:.2g} s for an "
                "output; raise --trials (in Python trials=, or seconds=)"
            )

    def _affords(self, trials: int, kept: float) -> bool:
        return self.left > 0 and self.left - self.cost(trials) >= kept

    def _measure(self, draws: Draws, request: Request) -> None:
        self._timed(draws, request._replace(trials=1))  # what the first call costs is not seen again
        size, before = 1, self._spent
        while size <= MEASURED and self._spent - before < self._seconds / MEASURING_SHARE:
            self._timed(draws, request._replace(trials=size))
            size *= 4

    def _timed(self, draws: Draws, request: Request) -> Drawn:
        started = time.perf_counter()
        try:
            return draws(request)
        finally:
            elapsed = time.perf_counter() - started
            self._spent += elapsed
            self._shortest = min(self._shortest, elapsed)
            self.output = min(self.output, elapsed / max(1, request.trials))
