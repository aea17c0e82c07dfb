"""The time that a target may draw for: while scenarios are looked for, nothing is drawn for which there is none left.

A meter may be sent to another process to draw there; what it has seen comes back (`Meter.continue_from`).
"""

from __future__ import annotations

import contextlib
import copy
import math
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np

from attacklab.model.errors import OutOfTime
from attacklab.model.targets import Outputs

Draw: TypeAlias = Callable[[Any, int, np.random.Generator], Outputs]

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

    def draw(self, outputs: Draw, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
        """`outputs(input_, trials, rng)`.

        Raises:
            OutOfTime: there is no time for so many, while scenarios are looked for.
        """
        if self._kept is not None:
            self._require_time(self._kept, outputs, input_, trials, rng)
        return self._timed(outputs, input_, trials, rng)

    def _require_time(self, kept: float, outputs: Draw, input_: Any, trials: int, rng: np.random.Generator) -> None:
        if trials > 1 and self._rate_is_unknown:
            self._rehearse(outputs, input_, trials, rng)
        if not self._affords(trials, kept) and self._is_doubted and self._fastest < self.left:
            self._is_doubted = False
            self._timed(outputs, copy.deepcopy(input_), 1, copy.deepcopy(rng))
        if not self._affords(trials, kept):
            raise OutOfTime(
                f"there is no time left to look for what it tries: the target takes {self._fastest:.2g} s for an "
                "output; raise --trials (in Python trials=, or seconds=)"
            )

    def _affords(self, trials: int, kept: float) -> bool:
        needed = trials * self._fastest if math.isfinite(self._fastest) else 0.0
        return self.left > 0 and self.left - needed >= kept

    def _rehearse(self, outputs: Draw, input_: Any, trials: int, rng: np.random.Generator) -> None:
        """Find the rate from ever longer calls, so that what a call costs is not taken for what an output costs."""
        self._timed(
            outputs, copy.deepcopy(input_), 1, copy.deepcopy(rng)
        )  # what the first call costs is not seen again
        self._rate_is_unknown, size, before = False, 1, self._spent
        while size < trials and self._spent - before < self._seconds / REHEARSING_SHARE:
            self._timed(outputs, copy.deepcopy(input_), size, copy.deepcopy(rng))
            size *= 4

    def _timed(self, outputs: Draw, input_: Any, trials: int, rng: np.random.Generator) -> Outputs:
        started = time.perf_counter()
        try:
            return outputs(input_, trials, rng)
        finally:
            elapsed = time.perf_counter() - started
            self._spent += elapsed
            self._fastest = min(self._fastest, elapsed / max(1, trials))

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._seconds - self._spent)

    @property
    def output(self) -> float:
        """The seconds that an output takes; infinite as long as none was drawn."""
        return self._fastest

    def continue_from(self, elsewhere: Meter) -> None:
        """Take over what this meter has seen in another process."""
        vars(self).update(vars(elsewhere))

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
