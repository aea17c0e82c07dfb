"""The time that a target may draw for: while scenarios are looked for, nothing is drawn beyond it."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator

from attacklab.auditing.drawing import Drawn, Draws, Request
from attacklab.model.errors import OutOfTime

REHEARSING_SHARE = 50
"""A target is rehearsed until that takes the seconds that there are for it, divided by this."""


class Meter:
    """Takes the time that outputs take to draw.

    Args:
        seconds: how long they may take.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._spent, self._fastest, self._rate_is_unknown = 0.0, math.inf, True
        self._kept: float | None = None
        self._is_doubted = True
        """Whether the rate is measured again before it first leaves no time: both outputs it is from may be held up."""

    def draw(self, draws: Draws, request: Request) -> Drawn:
        """`draws(request)`.

        Raises:
            OutOfTime: there is no time for so many, while scenarios are looked for.
        """
        if self._kept is not None:
            self._require_time(self._kept, draws, request)
        return self._timed(draws, request)

    def _require_time(self, kept: float, draws: Draws, request: Request) -> None:
        trials = request.trials
        if trials > 1 and self._rate_is_unknown:
            self._rehearse(draws, request)
        if not self._affords(trials, kept) and self._is_doubted and self._fastest < self.left:
            self._is_doubted = False
            self._timed(draws, request._replace(trials=1))
        if not self._affords(trials, kept):
            raise OutOfTime(
                f"there is no time left to look for what it tries: the target takes {self._fastest:.2g} s for an "
                "output; raise --trials (in Python trials=, or seconds=)"
            )

    def _affords(self, trials: int, kept: float) -> bool:
        needed = trials * self._fastest if math.isfinite(self._fastest) else 0.0
        return self.left > 0 and self.left - needed >= kept

    def _rehearse(self, draws: Draws, request: Request) -> None:
        """Find the rate from ever longer calls, so that what a call costs is not taken for what an output costs."""
        self._timed(draws, request._replace(trials=1))  # what the first call costs is not seen again
        self._rate_is_unknown, size, before = False, 1, self._spent
        while size < request.trials and self._spent - before < self._seconds / REHEARSING_SHARE:
            self._timed(draws, request._replace(trials=size))
            size *= 4

    def _timed(self, draws: Draws, request: Request) -> Drawn:
        started = time.perf_counter()
        try:
            return draws(request)
        finally:
            elapsed = time.perf_counter() - started
            self._spent += elapsed
            self._fastest = min(self._fastest, elapsed / max(1, request.trials))

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._seconds - self._spent)

    @property
    def output(self) -> float:
        """The seconds that an output takes; infinite as long as none was drawn."""
        return self._fastest

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
